"""MAXIMUM and MINIMUM with the least or the greatest integer, which leave every value as it is.

A clip in real numbers, such as that of FAKE_QUANT, is one where the scale ends as it does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tflmgen.frontend import Model, Operator, SubGraph, without_unused
from tflmgen.ir import DType

_IDLE_ENDS = {"MAXIMUM": "min", "MINIMUM": "max"}
"""Operator -> the end of the integers that it has no effect with."""


def without_idle_clips(model: Model) -> Model:
    """The Model without clips that have no effect, and whose results are no outputs of their subgraph."""
    graphs = tuple(_without(graph) for graph in model.subgraphs)
    return model if graphs == model.subgraphs else without_unused(replace(model, subgraphs=graphs))


def _without(graph: SubGraph) -> SubGraph:
    clipped: dict[int, int] = {}
    operators = []
    for op in graph.operators:
        source = _unchanged(op, graph)
        if source is None:
            operators.append(replace(op, inputs=tuple(clipped.get(tensor, tensor) for tensor in op.inputs)))
        else:
            clipped[op.outputs[0]] = clipped.get(source, source)
    renumbered = tuple(replace(op, index=index) for index, op in enumerate(operators))
    return replace(graph, operators=renumbered) if clipped else graph


def _unchanged(op: Operator, graph: SubGraph) -> int | None:
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
