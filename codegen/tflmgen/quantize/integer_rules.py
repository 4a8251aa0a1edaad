"""Rules by which integer operators go, or become others that TFLite Micro has kernels of."""

from __future__ import annotations

import numpy as np

from tflmgen.frontend.model_graph import SubGraphRewrite
from tflmgen.frontend.tflite import FileOperator, SubGraph
from tflmgen.ir import DType

_IDLE_ENDS = {"MAXIMUM": "min", "MINIMUM": "max"}
"""Operator -> the end of the integers that it has no effect with."""


def without_idle_clip(rewrite: SubGraphRewrite, op: FileOperator) -> bool:
    """A clip that has no effect, and whose result is no output of its subgraph, goes."""
    source = _unchanged(op, rewrite.graph)
    if source is not None:
        rewrite.use_instead(source, op.outputs[0])
    return source is not None


def _unchanged(op: FileOperator, graph: SubGraph) -> int | None:
    """The operand whose value the result of a clip is; None for other operators."""
    if op.name not in _IDLE_ENDS or op.outputs[0] in graph.outputs:
        return None
    result = graph.tensors[op.outputs[0]]
    if result.dtype not in (DType.INT8, DType.INT16):
        return None
    end = getattr(np.iinfo(result.dtype.label), _IDLE_ENDS[op.name])
    for source, bound in (op.inputs, op.inputs[::-1]):
        data = graph.tensors[bound].data
        value = graph.tensors[source]
        is_same = (value.dtype, value.quantization, value.shape) == (result.dtype, result.quantization, result.shape)
        if data is not None and value.data is None and is_same:
            return source if (np.frombuffer(data, result.dtype.label) == end).all() else None
    return None


_MAX_RANK = 4
"""Dimensions along which TFLite Micro's kernels of MUL and ADD broadcast."""


def choice_by_products(graph: SubGraphRewrite, op: FileOperator) -> bool:
    """SELECT and SELECT_V2 in int32 whose shapes are known, and broadcast as those of MUL do."""
    if not _is_choice(op, graph.graph):
        return False
    condition, result = op.inputs[0], op.outputs[0]
    shape = graph.tensors[condition].shape
    weight = graph.like(result, "weight", shape, DType.INT32)
    other = graph.like(result, "other_weight", shape, DType.INT32)
    graph.add("CAST", [condition], [weight])
    graph.add("SUB", [graph.constant("one", 1), weight], [other])
    products = []
    for operand, factor in zip(op.inputs[1:], (weight, other), strict=True):
        shape = np.broadcast_shapes(graph.tensors[operand].shape, graph.tensors[factor].shape)
        products.append(graph.like(result, "part", shape, DType.INT32))
        graph.add("MUL", [operand, factor], products[-1:])
    graph.add("ADD", products, op.outputs)
    return True


def _is_choice(op: FileOperator, graph: SubGraph) -> bool:
    if op.name not in ("SELECT", "SELECT_V2") or graph.tensors[op.outputs[0]].dtype is not DType.INT32:
        return False
    tensors = [graph.tensors[i] for i in (*op.inputs, *op.outputs)]
    if not all(dim > 0 for tensor in tensors for dim in tensor.shape_signature or tensor.shape):
        return False
    # The condition of SELECT may be a vector that chooses among rows.
    is_broadcast = op.name == "SELECT_V2" or tensors[0].shape in ((), tensors[1].shape)
    return is_broadcast and len(tensors[-1].shape) <= _MAX_RANK
