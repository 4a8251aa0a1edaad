"""Operators that TFLite computes as part of a layer: a bias that is added, and a clamp, become the layer's own.

A layer that is quantised later then has one result, whose range is what is left after the clamp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tflmgen.frontend.model_graph.integer_tensors import FLOAT, weight_places
from tflmgen.frontend.model_graph.model_rewrite import SubGraphRewrite
from tflmgen.frontend.model_graph.subgraphs import fused_activation
from tflmgen.frontend.onnx.codes_rewrite import CodesRewrite
from tflmgen.frontend.onnx.layout_graph import Codes
from tflmgen.frontend.tflite.model import ABSENT, FileOperator, Model
from tflmgen.ir import DType
from tflmgen.kernels import traits_of

_CLAMPED = frozenset(
    {
        *("CONV_2D", "DEPTHWISE_CONV_2D", "CONV_3D", "FULLY_CONNECTED"),
        *("AVERAGE_POOL_2D", "MAX_POOL_2D", "ADD", "SUB", "MUL"),
    }
)


def with_merged_layers(model: Model, codes: Sequence[Mapping[int, Codes]], buffer: Callable[[bytes], int]) -> Model:
    """The Model with biases and clamps of floats in their layers.

    codes   of the constants of each subgraph
    buffer  gives contents their number in the file
    """
    graphs = []
    for graph in model.subgraphs:
        rewrite = CodesRewrite(graph, codes[graph.index], buffer)
        merge_biases(rewrite)
        _merge_clamps(rewrite)
        graphs.append(rewrite.result())
    return replace(model, subgraphs=tuple(graphs))


def clamp_of(op: FileOperator) -> int:
    """The schema's number of the fused activation that an operator is by itself; 0: it is no such clamp."""
    clamp = traits_of(op.name).clamp
    return 0 if clamp is None else clamp.value


def _merge_clamps(graph: CodesRewrite) -> None:
    """Makes each clamp of floats that alone reads a layer's result the layer's activation."""
    uses = graph.uses()

    def merge(_: SubGraphRewrite, op: FileOperator) -> bool:
        layer = uses.sole_producer(op.inputs[0]) if (clamp := clamp_of(op)) else None
        if layer is None or any(graph.tensors[i].dtype is not DType.FLOAT32 for i in (*op.inputs, *op.outputs)):
            return False
        if layer.name not in _CLAMPED or fused_activation(layer):
            return False
        options = {**(layer.options or {}), "fused_activation_function": clamp}
        graph.replace(layer, replace(layer, outputs=op.outputs, options=options))
        return True

    graph.apply(merge)


def merge_biases(graph: CodesRewrite) -> None:
    """Makes each ADD of a constant per output channel the bias of the operator before it."""
    while _merge_bias(graph):
        pass


def _merge_bias(graph: CodesRewrite) -> bool:
    uses = graph.uses()
    for op in graph.operators:
        if traits_of(op.name).adds != 1 or fused_activation(op):
            continue
        for value, constant in (op.inputs, op.inputs[::-1]):
            before = uses.sole_producer(value)
            bias = None if before is None else _sum_with_bias(graph, before, op, constant)
            if before is not None and bias is not None:
                tensor, at = bias
                inputs = (*before.inputs[:at], *[ABSENT] * (at - len(before.inputs)), tensor)
                graph.replace(before, replace(before, inputs=inputs, outputs=op.outputs))
                graph.replace(op)
                return True
    return False


def _sum_with_bias(
    graph: CodesRewrite, before: FileOperator, op: FileOperator, constant: int
) -> tuple[int, int] | None:
    """The bias that a layer without activation has after the sum, and its place; None where they don't go together."""
    places = weight_places(before.name)
    shape = graph.tensors[op.outputs[0]].shape
    values = graph.values(constant)
    if places is None or values is None or values.dtype != np.float32 or not shape:
        return None
    if fused_activation(before) or values.shape[-1:] != shape[-1:]:
        return None
    if values.size != shape[-1] or graph.tensors[before.outputs[0]].shape != shape or constant in graph.codes:
        return None
    at, parameters = places.bias, graph.tensors[constant].parameters
    if len(before.inputs) > at and before.inputs[at] != ABSENT:
        old = graph.values(before.inputs[at])
        if old is None:
            return None
        values = values.reshape(-1) + old
        parameters = (*(graph.tensors[before.inputs[at]].parameters or ()), *(parameters or ()))
    bias = graph.constant_in_element(constant, values.reshape(-1).astype(np.float32), FLOAT)
    graph.tensors[bias] = replace(graph.tensors[bias], parameters=parameters)
    return bias, at
