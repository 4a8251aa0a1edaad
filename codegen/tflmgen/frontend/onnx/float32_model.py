"""Models with floats of other widths as float32 ones: float16, bfloat16 and float64, which no kernel computes in."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

OTHER_FLOATS = {TensorProto.FLOAT16: "float16", TensorProto.BFLOAT16: "bfloat16", TensorProto.DOUBLE: "float64"}
"""ONNX's element types that are computed in float32 -> their names."""
TYPE_ATTRIBUTES = frozenset({"to", "dtype", "stash_type", "output_dtype", "softmax_precision"})
"""Attributes that name an element type by its number."""


def with_float32(model: onnx.ModelProto) -> tuple[onnx.ModelProto, tuple[str, ...]]:
    """The model with float32 in place of these types, and the names of those that its values have.

    A constant beyond float32 becomes the greatest float32: such numbers stand for infinity in masks.
    """
    names = {name for graph in _graphs(model.graph) for name in _types_of(graph)}
    if not names:
        return model, ()
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for graph in _graphs(changed.graph):
        for tensor in graph.initializer:
            _to_float32(tensor)
        for entry in (*graph.input, *graph.output, *graph.value_info):
            if entry.type.tensor_type.elem_type in OTHER_FLOATS:
                entry.type.tensor_type.elem_type = TensorProto.FLOAT
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    _to_float32(attribute.t)
                if attribute.name in TYPE_ATTRIBUTES and attribute.i in OTHER_FLOATS:
                    attribute.i = TensorProto.FLOAT
    return changed, tuple(sorted(names))


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """The graph, and those that are attributes of its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from _graphs(inner)


def _types_of(graph: onnx.GraphProto) -> Iterator[str]:
    """Names of the types that its inputs, outputs, constants and conversions have."""
    numbers = [entry.type.tensor_type.elem_type for entry in (*graph.input, *graph.output)]
    numbers += [tensor.data_type for tensor in graph.initializer]
    for node in graph.node:
        for attribute in node.attribute:
            numbers += [attribute.t.data_type] if attribute.HasField("t") else []
            numbers += [attribute.i] if attribute.name in TYPE_ATTRIBUTES else []
    yield from (OTHER_FLOATS[number] for number in numbers if number in OTHER_FLOATS)


def _to_float32(tensor: TensorProto) -> None:
    if tensor.data_type not in OTHER_FLOATS:
        return
    array = np.asarray(numpy_helper.to_array(tensor)).astype(np.float64)
    limit = np.finfo(np.float32).max
    narrow = np.where(np.isinf(array), array, np.clip(array, -limit, limit)).astype(np.float32)
    tensor.CopyFrom(numpy_helper.from_array(narrow, tensor.name))
