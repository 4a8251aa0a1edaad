"""Graphs that compute with complex64, of which TFLite has transforms, parts and magnitudes alone.

A complex tensor becomes a float32 one with a dimension more, of the real and the imaginary part. An operation that
moves or sums elements does so with both parts; the others are written with real numbers. Calls, branches and loops pass
the new tensors on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_shape_pb2

from tflmgen.tensorflow_worker.graph_functions import bodies_of, node_name, set_types

COMPLEX = tf.complex64.as_datatype_enum
LEAST_LENGTH = 4
"""Least length that TFLite transforms; others are powers of two."""
_PARTS = tensor_shape_pb2.TensorShapeProto.Dim(size=2)
KEPT = frozenset({"RFFT", "Real", "Imag", "ComplexAbs", "Identity", "Reshape", "Squeeze", "ExpandDims"})
"""Operations on complex numbers that a .tflite file may have."""


def computes_with_complex(graph_def: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> bool:
    """Whether complex tensors have to become pairs. Those that enter or leave the graph stay what they are."""
    if any(tensor.dtype == tf.complex64 for tensor in (*inputs, *outputs)):
        return False
    return any(_needs_pairs(nodes) for nodes in bodies_of(graph_def))


def _needs_pairs(nodes: Sequence[Any]) -> bool:
    """Whether an operation on complex numbers is none of TFLite's, or a transform of a length that TFLite has not."""
    constants = {node.name: node for node in nodes if node.op == "Const"}
    for node in nodes:
        if COMPLEX in types_in(node) and node.op not in KEPT:
            return True
        length = constants.get(node_name(node.input[1])) if node.op == "RFFT" else None
        if length is not None and not is_transformed(int(tf.make_ndarray(length.attr["value"].tensor)[0])):
            return True
    return False


def is_transformed(length: int) -> bool:
    """Whether TFLite transforms rows of this length."""
    return length >= LEAST_LENGTH and not length & (length - 1)


def types_in(node: Any) -> list[int]:
    """Element types among a node's attributes."""
    values = node.attr.values()
    return [value.type for value in values] + [type_ for value in values for type_ in value.list.type]


def retype(graph_def: Any, functions: Sequence[Any]) -> None:
    """Makes complex tensors pairs where nothing is computed: constants, arguments, calls, branches and loops.

    functions  of the graph's library those whose complex tensors become pairs
    """
    for function in functions:
        for i, arg in enumerate(function.signature.input_arg):
            if arg.type == COMPLEX and "_output_shapes" in function.arg_attr[i].attr:
                for shape in function.arg_attr[i].attr["_output_shapes"].list.shape:
                    shape.dim.extend([] if shape.unknown_rank else [_PARTS])
        for arg in (*function.signature.input_arg, *function.signature.output_arg):
            arg.type = tf.float32.as_datatype_enum if arg.type == COMPLEX else arg.type
    for nodes in (graph_def.node, *(function.node_def for function in functions)):
        for node in nodes:
            if node.op == "Const" and node.attr["dtype"].type == COMPLEX:
                pairs = as_pairs(tf.make_ndarray(node.attr["value"].tensor))
                node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(pairs))
            _retype_node(node)


def _retype_node(node: Any) -> None:
    for key, value in list(node.attr.items()):
        if value.type == COMPLEX:
            value.type = tf.float32.as_datatype_enum
        types = list(value.list.type)
        if COMPLEX in types:
            for i, shape in enumerate(node.attr["output_shapes"].list.shape if key in ("T", "Tout") else ()):
                if types[i] == COMPLEX and not shape.unknown_rank:
                    shape.dim.append(_PARTS)
            set_types(node, key, [tf.float32.as_datatype_enum if t == COMPLEX else t for t in types])


def as_pairs(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array of complex numbers with a dimension more, of their parts."""
    return np.stack([array.real, array.imag], -1).astype(np.float32)


def pair_shape(shape: Any, dtype: Any) -> Any:
    """Shape of a tensor of this type, once complex numbers are pairs."""
    return shape.concatenate([2]) if dtype == tf.complex64 and shape is not None else shape


def pair_type(dtype: Any) -> Any:
    """Type of a tensor of this type, once complex numbers are pairs."""
    return tf.float32 if dtype == tf.complex64 else dtype


def pair_value(value: Any) -> Any:
    """A constant operand, once complex numbers are pairs."""
    return as_pairs(value) if isinstance(value, np.ndarray) and value.dtype == np.complex64 else value
