"""SavedModels of TensorFlow 1 with reference variables, which TensorFlow 2 loads but neither freezes nor saves again.

Each signature is frozen in a session, and is a graph without variables from there on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework import op_def_registry

from tflmgen.tensorflow_worker.frozen_graph import function_of, with_shapes
from tflmgen.tensorflow_worker.loaded_source import SourceError

REFERENCES = frozenset({"VariableV2", "Variable"})
"""Operations whose value is a reference to a variable."""


@dataclass(frozen=True)
class FrozenSignature:
    """A signature as a graph without variables: tensors, "name:0", by the names of the ports."""

    graph_def: Any
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]

    def shapes(self) -> dict[str, Any]:
        """Shapes of the inputs by their names."""
        nodes = {node.name: node for node in self.graph_def.node}
        return {key: tf.TensorShape(nodes[name.split(":")[0]].attr["shape"].shape) for key, name in self.inputs.items()}

    def function(self, shapes: Mapping[str, tuple[int, ...]]) -> Any:
        """A ConcreteFunction for inputs of these shapes."""
        nodes = {self.inputs[key].split(":")[0]: shape for key, shape in shapes.items()}
        return function_of(with_shapes(self.graph_def, nodes), list(self.inputs.values()), list(self.outputs.values()))


def reference_tags(path: Path) -> Sequence[str] | None:
    """Tags of the SavedModel's first graph if that has reference variables; None for any other file."""
    message = saved_model_pb2.SavedModel()
    try:
        message.ParseFromString((path / "saved_model.pb").read_bytes())
    except (DecodeError, OSError):
        return None
    for meta in message.meta_graphs[:1]:
        if any(node.op in REFERENCES for node in meta.graph_def.node):
            return list(meta.meta_info_def.tags)
    return None


def frozen_signatures(path: Path, tags: Sequence[str]) -> Iterator[tuple[str, FrozenSignature]]:
    """All signatures with outputs, with their keys.

    Raises SourceError for one that changes variables.
    """
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        meta = v1.saved_model.load(session, tags, str(path))
        for key, signature in meta.signature_def.items():
            inputs, outputs = (
                {name: side[name].name for name in sorted(side)} for side in (signature.inputs, signature.outputs)
            )
            if key.startswith("__") or not outputs:
                continue
            nodes = [name.split(":")[0] for name in outputs.values()]
            read = v1.graph_util.extract_sub_graph(graph.as_graph_def(), nodes)
            changed = next((node.name for node in read.node if _changes_a_variable(node)), None)
            if changed is not None:
                rule = f"signature '{key}' changes a variable of TensorFlow 1 at '{changed}'"
                advice = "Make it with tf.compat.v1.enable_resource_variables(), or name another --signature"
                raise SourceError(rule, advice)
            graph_def = v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), nodes)
            known = {node.name for node in graph_def.node}
            for name in {name.split(":")[0] for name in inputs.values()} - known:
                graph_def.node.add().CopyFrom(graph.get_operation_by_name(name).node_def)
            yield key, FrozenSignature(graph_def, inputs, outputs)


def _changes_a_variable(node: Any) -> bool:
    """Whether an operation takes a reference and gives it on; those that only pass one are named "Ref...".

    Variables themselves take none.
    """
    op_def = op_def_registry.get(node.op)
    if op_def is None or node.op.startswith("Ref"):
        return False
    return any(port.is_ref for port in op_def.input_arg) and any(port.is_ref for port in op_def.output_arg)
