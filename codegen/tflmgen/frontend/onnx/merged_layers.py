"""Operators that TFLite computes as part of a layer: a bias that is added, and a clamp, become the layer's own.

A layer that is quantised later then has one result, whose range is what is left after the clamp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tflmgen.frontend.onnx.graph_rewrite import GraphRewrite
from tflmgen.frontend.onnx.laid_out import Codes
from tflmgen.frontend.tflite.model import ABSENT, Model, Operator
from tflmgen.ir import DType

CLAMPS: Mapping[str, int] = {"RELU": 1, "RELU_N1_TO_1": 2, "RELU6": 3}
"""Clamps -> the schema's number of the fused activation."""

_CLAMPED = frozenset(
    {
        *("CONV_2D", "DEPTHWISE_CONV_2D", "CONV_3D", "FULLY_CONNECTED"),
        *("AVERAGE_POOL_2D", "MAX_POOL_2D", "ADD", "SUB", "MUL"),
    }
)
_WITH_BIAS = {"CONV_2D": 2, "DEPTHWISE_CONV_2D": 2, "FULLY_CONNECTED": 2, "TRANSPOSE_CONV": 3}


def with_merged_layers(model: Model, codes: Sequence[Mapping[int, Codes]], buffer: Callable[[bytes], int]) -> Model:
    """The Model with biases and clamps of floats in their layers.

    codes   of the constants of each subgraph
    buffer  gives contents their number in the file
    """
    graphs = []
    for graph in model.subgraphs:
        rewriting = GraphRewrite(graph, codes[graph.index], buffer)
        while with_bias(rewriting):
            pass
        _merge_clamps(rewriting)
        graphs.append(rewriting.result())
    return replace(model, subgraphs=tuple(graphs))


def _merge_clamps(graph: GraphRewrite) -> None:
    """Makes each clamp of floats that alone reads a layer's result the layer's activation."""
    producers, readers = graph.producers(), graph.readers()
    merged: set[int] = set()
    for place, op in enumerate(graph.operators):
        if op.name not in CLAMPS or op.inputs[0] not in producers or readers[op.inputs[0]] != [place]:
            continue
        if any(graph.tensors[i].dtype is not DType.FLOAT32 for i in (*op.inputs, *op.outputs)):
            continue
        at = producers[op.inputs[0]]
        layer = graph.operators[at]
        if layer.name in _CLAMPED and not (layer.options or {}).get("fused_activation_function"):
            options = {**(layer.options or {}), "fused_activation_function": CLAMPS[op.name]}
            graph.operators[at] = replace(layer, outputs=op.outputs, options=options)
            merged.add(place)
    graph.operators = [op for place, op in enumerate(graph.operators) if place not in merged]


def with_bias(graph: GraphRewrite) -> bool:
    """Makes one ADD of a constant per output channel the bias of the operator before it; whether there was one."""
    producers, readers = graph.producers(), graph.readers()
    for place, op in enumerate(graph.operators):
        if op.name != "ADD" or (op.options or {}).get("fused_activation_function"):
            continue
        for value, constant in (op.inputs, op.inputs[::-1]):
            if value not in producers or readers[value] != [place]:
                continue
            before = graph.operators[producers[value]]
            bias = _sum_with_bias(graph, before, op, constant)
            if bias is not None:
                at = _WITH_BIAS[before.name]
                inputs = (*before.inputs[:at], *[ABSENT] * (at - len(before.inputs)), bias)
                graph.operators[producers[value]] = replace(before, inputs=inputs, outputs=op.outputs)
                del graph.operators[place]
                return True
    return False


def _sum_with_bias(graph: GraphRewrite, before: Operator, op: Operator, constant: int) -> int | None:
    """The bias that an operator without activation has after the sum; None where they don't go together."""
    shape = graph.tensors[op.outputs[0]].shape
    values = graph.values(constant)
    if before.name not in _WITH_BIAS or values is None or values.dtype != np.float32 or not shape:
        return None
    if (before.options or {}).get("fused_activation_function") or values.shape[-1:] != shape[-1:]:
        return None
    if values.size != shape[-1] or graph.tensors[before.outputs[0]].shape != shape or constant in graph.codes:
        return None
    at = _WITH_BIAS[before.name]
    if len(before.inputs) > at and before.inputs[at] != ABSENT:
        old = graph.values(before.inputs[at])
        if old is None:
            return None
        values = values.reshape(-1) + old
    return graph.constant(constant, values.reshape(-1).astype(np.float32), None)
