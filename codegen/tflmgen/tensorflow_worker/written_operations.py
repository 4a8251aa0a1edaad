"""Operations that TFLite lacks, written with those that it has, in the graph and in its functions.

    y = Op(x...)  ->  y = PartitionedCall(x...; f)      f: what the tables of written_*.py trace

What a table's function gets of an operand is its value where it is a constant of the same body, else its tensor, with
the shape that TensorFlow knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tflmgen.tensorflow_worker.complex_pairs import COMPLEX, pair_shape, pair_type, pair_value, retype, types_in
from tflmgen.tensorflow_worker.graph_functions import bodies_of, rename_functions, set_types
from tflmgen.tensorflow_worker.loaded_source import SourceError
from tflmgen.tensorflow_worker.node_constants import (
    SHAPES,
    GraphBody,
    attributes_of,
    count_of,
    grouped_operands,
    types_of,
)
from tflmgen.tensorflow_worker.written_bits import BITS
from tflmgen.tensorflow_worker.written_complex import COMPLEX_WRITTEN, row_transform
from tflmgen.tensorflow_worker.written_decompositions import DECOMPOSITIONS
from tflmgen.tensorflow_worker.written_elements import ELEMENTS
from tflmgen.tensorflow_worker.written_functions import FUNCTIONS
from tflmgen.tensorflow_worker.written_images import IMAGES
from tflmgen.tensorflow_worker.written_layers import LAYERS
from tflmgen.tensorflow_worker.written_matrices import MATRICES
from tflmgen.tensorflow_worker.written_moves import MOVES
from tflmgen.tensorflow_worker.written_random import RANDOM
from tflmgen.tensorflow_worker.written_rows import ROWS
from tflmgen.tensorflow_worker.written_segments import SEGMENTS
from tflmgen.tensorflow_worker.written_shapes import KeptError, UnwritableError, Write
from tflmgen.tensorflow_worker.written_slices import SLICES

WRITTEN: Mapping[str, Write] = {
    **BITS,
    **DECOMPOSITIONS,
    **ELEMENTS,
    **FUNCTIONS,
    **IMAGES,
    **LAYERS,
    **MATRICES,
    **MOVES,
    **RANDOM,
    **ROWS,
    **SEGMENTS,
    **SLICES,
    "RFFT": row_transform,
}


def has_written_operations(graph_def: Any) -> bool:
    """Whether an operation of the graph or its functions is one that is written with others."""
    return any(node.op in WRITTEN for nodes in bodies_of(graph_def) for node in nodes)


def write_operations(graph_def: Any, _: Sequence[str], has_pairs: bool = False) -> str:
    """Writes each operation of WRITTEN with others. Nodes have their shapes as the attribute "_output_shapes".

    has_pairs  complex numbers become pairs, all over the graph
    """
    done: Counter[str] = Counter()
    own = list(graph_def.library.function)
    for function in (None, *own):
        body = GraphBody(graph_def if function is None else function, function is not None)
        for node in body.nodes:
            is_complex = has_pairs and node.op in COMPLEX_WRITTEN and COMPLEX in types_in(node)
            if not is_complex and node.op not in WRITTEN:
                continue
            op_def = op_def_registry.get(node.op)
            ports = [f"{arg.name}:{i}" for arg in op_def.output_arg for i in range(count_of(arg, node))]
            if _write(graph_def.library, node, body, is_complex):
                done[op_def.name] += 1
                if function is not None:
                    rename_outputs(function, node.name, ports)
    if has_pairs:
        retype(graph_def, own)
    for nodes in bodies_of(graph_def):
        for node in nodes:
            node.attr.pop(SHAPES, None)
    return ", ".join(f"{count} {op}" for op, count in done.items()) + " written with others" if done else ""


def _write(library: Any, node: Any, body: GraphBody, is_complex: bool) -> bool:
    """Makes a node the call of a function that computes the same; False if it stays as it is."""
    op_def = op_def_registry.get(node.op)
    types = types_of(op_def.input_arg, node)
    operands = [body.operand(name) for name in node.input if not name.startswith("^")]
    attributes = attributes_of(node)
    if is_complex:
        attributes["is_pair"] = [types_of([arg], node)[:1] == [tf.complex64] for arg in op_def.input_arg]
        operands = [(pair_shape(s, t), pair_value(v)) for (s, v), t in zip(operands, types, strict=True)]
        types = [pair_type(dtype) for dtype in types]
    specs = [tf.TensorSpec(shape, dtype) for (shape, _), dtype in zip(operands, types, strict=True)]
    write = COMPLEX_WRITTEN[node.op] if is_complex else WRITTEN[node.op]
    constants: list[Any] = []

    def traced(*tensors: Any) -> Any:
        known = [tensor if value is None else value for tensor, (_, value) in zip(tensors, operands, strict=True)]
        grouped = grouped_operands(node, known)
        # Inlined, names begin with the node's, as those of its operands may: "slice/stack".
        with tf.name_scope("written"):
            results = tf.nest.flatten(write(attributes, *grouped))
        constants.extend(result for result in results if isinstance(result, np.ndarray | np.generic))
        return results

    try:
        function = tf.function(traced, autograph=False).get_concrete_function(*specs)
    except UnwritableError as error:
        raise SourceError(f"{node.op} '{node.name}': {error}", error.advice) from None
    except KeptError:
        return False
    results = [pair_type(t) if is_complex else t for t in types_of(op_def.output_arg, node)]
    if len(constants) == len(results):
        body.constants |= {(node.name, i): value for i, value in enumerate(constants)}
    call_function(library, node, function, types, results)
    return True


def call_function(library: Any, node: Any, function: Any, types: Sequence[Any], results: Sequence[Any]) -> None:
    """Makes a node the call of a ConcreteFunction, which the library gets with all that it calls."""
    added = function.graph.as_graph_def()
    added.library.function.append(function.function_def)
    # A loaded graph may have functions of the names that this process gives.
    rename_functions(added, f"_written_{len(library.function)}")
    library.MergeFrom(added.library)
    node.op = "PartitionedCall"
    for key in set(node.attr) - {SHAPES}:
        del node.attr[key]
    set_types(node, "Tin", [dtype.as_datatype_enum for dtype in types])
    set_types(node, "Tout", [dtype.as_datatype_enum for dtype in results])
    node.attr["f"].func.name = added.library.function[-1].signature.name


def rename_outputs(function: Any, name: str, ports: Sequence[str]) -> None:
    """Makes readers of a node's output by its argument's name read it by its number."""
    renamed = {f"{name}:{port}": f"{name}:output:{i}" for i, port in enumerate(ports)}
    for node in function.node_def:
        for i, operand in enumerate(node.input):
            node.input[i] = renamed.get(operand, operand)
    for result, tensor in function.ret.items():
        function.ret[result] = renamed.get(tensor, tensor)
