"""Layers of integers that are named to train, and all that is behind them, as layers of floats.

Their weights and biases become what the integers stand for. What is before them stays as it is: its results are
dequantised once, where floats read them, and the gradient ends there.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Set
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.errors import ModelError, Problem
from tflmgen.frontend.tflite import FileTensor
from tflmgen.gradients.flow_graph import ABSENT, FlowGraph, FlowNode, location_of
from tflmgen.ir import DType, TensorType, contents, elements_of
from tflmgen.kernels import traits_of

_ACTIVATIONS = (DType.INT8, DType.UINT8, DType.INT16)
_CONSTANTS = (*_ACTIVATIONS, DType.INT4, DType.INT32, DType.INT64)
_CODES = frozenset({"QUANTIZE", "DEQUANTIZE"})
"""Operators between numbers and codes: of floats they change nothing."""


@dataclass(frozen=True, slots=True)
class LayerChoice:
    """The user's choice of layers: patterns of names (fnmatch), and how many from the end."""

    patterns: tuple[str, ...]
    last: int | None


def with_float_layers(graph: FlowGraph, choice: LayerChoice, model: str) -> None:
    """Makes layers of integers that the choice names layers of floats, and what reads them.

    Raises ModelError where a branch or loop of integers reads them.
    """
    layers = [node for node in graph.nodes if _weights(graph, node) is not None]
    named = set(layers[-choice.last :]) if choice.last else set[FlowNode]()
    named |= {node for node in layers if any(_matches(graph, node, pattern) for pattern in choice.patterns)}
    if any(
        graph.tensors[index].dtype is not DType.FLOAT32 for node in named for index in _quantised_operands(graph, node)
    ):
        _Floats(graph, model).convert(named)


def _weights(graph: FlowGraph, node: FlowNode) -> int | None:
    """The constant weights of a layer."""
    place = traits_of(node.name).roles.weights
    index = ABSENT if place is None or place >= len(node.inputs) else node.inputs[place]
    return index if index != ABSENT and graph.tensors[index].data is not None else None


def _matches(graph: FlowGraph, node: FlowNode, pattern: str) -> bool:
    roles = traits_of(node.name).roles
    places = [place for place in (roles.weights, roles.bias) if place is not None and place < len(node.inputs)]
    tensors = [*(node.inputs[place] for place in places if node.inputs[place] != ABSENT), *node.outputs]
    return any(fnmatch.fnmatchcase(graph.tensors[tensor].name, pattern) for tensor in tensors)


def _quantised_operands(graph: FlowGraph, node: FlowNode) -> list[int]:
    tensors = [graph.tensors[index] for index in node.inputs if index != ABSENT]
    return [tensor.index for tensor in tensors if tensor.quantization is not None and tensor.dtype in _CONSTANTS]


class _Floats:
    """A graph while a part of it becomes one of floats. values: tensor of codes -> the one of floats in its place."""

    def __init__(self, graph: FlowGraph, model: str) -> None:
        self._graph, self._model = graph, model
        self._values: dict[int, int] = {}
        self._results: set[int] = set()

    def convert(self, named: Set[FlowNode]) -> None:
        """Converts these nodes, and all that reads what they give."""
        graph = self._graph
        nodes, graph.nodes = graph.nodes, []
        for node in nodes:
            if node in named or not self._results.isdisjoint(node.inputs):
                self._node(node)
            else:
                graph.nodes.append(node)
        graph.outputs = [self._values.get(tensor, tensor) for tensor in graph.outputs]

    def _node(self, node: FlowNode) -> None:
        graph = self._graph
        if node.graphs and _quantised_operands(graph, node):
            where = location_of(self._model, graph, node)
            rule = "layers that train are read by a branch or loop of integers, which has no gradient"
            raise ModelError([Problem(where, rule, "Train only layers behind it: --last N")])
        inputs = [index if index == ABSENT else self._operand(index) for index in node.inputs]
        if node.name in _CODES:
            self._values[node.outputs[0]] = inputs[0]
            self._results.add(node.outputs[0])
            return
        node.inputs, node.outputs = inputs, [self._result(tensor) for tensor in node.outputs]
        graph.nodes.append(node)

    def _operand(self, index: int) -> int:
        """An operand in floats: one of codes is computed in floats, is a constant, or is dequantised."""
        tensor = self._graph.tensors[index]
        if index not in self._values and tensor.quantization is not None and tensor.quantization.scales:
            if tensor.data is not None and tensor.dtype in _CONSTANTS and tensor.blocks is None:
                self._values[index] = self._graph.copy_tensor(_dequantised(tensor))
            elif tensor.data is None and tensor.dtype in _ACTIVATIONS:
                self._values[index] = self._graph.compute("DEQUANTIZE", [index], tensor.shape)
        return self._values.get(index, index)

    def _result(self, index: int) -> int:
        self._results.add(index)
        tensor = self._graph.tensors[index]
        if tensor.quantization is None or tensor.dtype not in _ACTIVATIONS:
            return index
        self._values[index] = self._graph.value(tensor.name, tensor.shape)
        return self._values[index]


def _dequantised(tensor: FileTensor) -> FileTensor:
    """A constant of codes as one of the numbers that they stand for."""
    quantization, dtype = tensor.quantization, tensor.dtype
    assert quantization is not None
    assert dtype is not None
    codes = elements_of(TensorType(dtype, tensor.shape), tensor.data or b"").astype(np.float64)
    sizes = [-1 if axis == quantization.axis else 1 for axis in range(len(tensor.shape))]
    scales, zeros = (np.array(part, np.float64) for part in (quantization.scales, quantization.zero_points))
    if quantization.per_channel:
        scales, zeros = scales.reshape(sizes), zeros.reshape(sizes if zeros.size > 1 else ())
    data = contents((scales * (codes - zeros)).astype(np.float32), DType.FLOAT32)
    plain = FileTensor.added(0, tensor.name, DType.FLOAT32, tensor.shape, data)
    return replace(plain, parameters=tensor.parameters)
