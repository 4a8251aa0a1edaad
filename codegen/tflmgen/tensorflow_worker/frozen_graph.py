"""Frozen GraphDefs, of TensorFlow 1 or 2: binary or text files without variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
from google.protobuf import text_format
from google.protobuf.message import DecodeError

from tflmgen.tensorflow_worker.file_operations import TEXT_GRAPH_LIMIT, check_graph
from tflmgen.tensorflow_worker.graph_functions import full_name
from tflmgen.tensorflow_worker.loaded_source import SourceError
from tflmgen.user_files import MODEL_LIMIT, read_limited, read_text_limited

VARIABLES = frozenset({"VarHandleOp", "VariableV2", "Variable", "VarIsInitializedOp"})
FETCHLESS = frozenset({"NoOp", "Assert", "Const", "Placeholder", "TensorArrayCloseV3", "StopGradient"})
"""Operations that are no result even if nothing reads them."""
INNER = frozenset({"Switch", "Enter", "NextIteration", "LoopCond"})
"""Operations of control flow of version 1 that have no value outside of it."""


def load_frozen(
    path: Path, inputs: Sequence[str], outputs: Sequence[str], shapes: Mapping[str, tuple[int, ...]] | None = None
) -> tuple[Any, list[str], list[str]]:
    """A ConcreteFunction of the graph, and the names of its inputs and outputs: those given, else those found."""
    graph_def = read_graph(path)
    placeholders = [node.name for node in graph_def.node if node.op in ("Placeholder", "PlaceholderV2")]
    taken = [full_name(name) for name in inputs or placeholders]
    results = [full_name(name) for name in outputs or _unread(graph_def)]
    names = {node.name for node in graph_def.node}
    for option, asked in (("--inputs", taken), ("--outputs", results)):
        for name in asked:
            if name.split(":")[0] not in names:
                raise SourceError(f"{option}: it has no node '{name.split(':')[0]}'", _nearest(name, names))
    if not results:
        raise SourceError("no node of the graph is a result: each is read by another", "Name them: --outputs NAME")
    return function_of(with_shapes(graph_def, shapes or {}), taken, results), taken, results


def function_of(graph_def: Any, inputs: Sequence[str], outputs: Sequence[str]) -> Any:
    """A ConcreteFunction of the graph from tensors to tensors, "name:0"."""
    wrapped = tf.compat.v1.wrap_function(lambda: tf.graph_util.import_graph_def(graph_def, name=""), [])
    graph = wrapped.graph
    return wrapped.prune(
        [graph.as_graph_element(name) for name in inputs], [graph.as_graph_element(n) for n in outputs]
    )


def read_graph(path: Path) -> Any:
    """The GraphDef in a file. Raises SourceError if it is none, or has variables."""
    graph_def = tf.compat.v1.GraphDef()
    try:
        if path.suffix.lower() == ".pbtxt":
            text_format.Parse(read_text_limited(path, TEXT_GRAPH_LIMIT), graph_def)
        else:
            graph_def.ParseFromString(read_limited(path, MODEL_LIMIT))
    except (DecodeError, text_format.ParseError, ValueError) as error:
        raise SourceError(f"it is no GraphDef: {str(error).splitlines()[0]}") from None
    check_graph(graph_def)
    if not graph_def.node:
        raise SourceError("it is no GraphDef: it has no nodes")
    variable = next((node.name for node in graph_def.node if node.op in VARIABLES), None)
    if variable is not None:
        raise SourceError(
            f"the graph is not frozen: it has the variable '{variable}'",
            "Freeze it with tf.compat.v1.graph_util.convert_variables_to_constants, or give the SavedModel",
        )
    return graph_def


def with_shapes(graph_def: Any, shapes: Mapping[str, tuple[int, ...]]) -> Any:
    """The graph with these shapes of placeholders."""
    for node in graph_def.node:
        if node.name in shapes and node.op == "Placeholder":
            node.attr["shape"].shape.CopyFrom(tf.TensorShape(shapes[node.name]).as_proto())
            node.attr.pop("_output_shapes", None)
    return graph_def


def _unread(graph_def: Any) -> list[str]:
    """Nodes that no other reads, in the file's order, without those that have no value outside of a branch or loop."""
    nodes = {node.name: node for node in graph_def.node}
    read = {name.lstrip("^").split(":")[0] for node in graph_def.node for name in node.input}
    unread = [node for node in graph_def.node if node.name not in read and node.op not in FETCHLESS]
    return [node.name for node in unread if node.op not in INNER and not _is_pivot(node, nodes)]


def _is_pivot(node: Any, nodes: Mapping[str, Any]) -> bool:
    """Whether a node is a name of a side of a Switch."""
    return bool(node.op == "Identity" and nodes[node.input[0].split(":")[0]].op == "Switch")


def _nearest(name: str, names: set[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name.split(":")[0], sorted(names), 3, 0.5)
    return f"Near names: {', '.join(near)}" if near else ""
