"""Cross-layer equalisation: channels of a tensor between two layers get ranges of one size.

After Nagel et al., "Data-free quantization through weight equalization and bias correction", 2019: a factor on an
output channel of one layer and its inverse on the next one's weights change nothing in real numbers, since the
activations between them are positively homogeneous. Weights have scales per channel here, so that only the values
between the layers, which have one scale, gain. The factor of a channel is that of least predicted noise of both layers,
and no channel grows beyond the largest one, so that a clamp between the layers stays where it does nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend import TensorKey
from tflmgen.frontend.model_graph import OperatorKey, SubGraphRewrite, TensorUses, constant_values, fused_activation
from tflmgen.frontend.tflite import FileOperator, Model, SubGraph
from tflmgen.ir import DType, contents
from tflmgen.quantize.element_types import weight_quantization
from tflmgen.quantize.integer_forms import bias_operand, weight_operands

Array = NDArray[Any]

_LAYERS = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"})
_BETWEEN = frozenset({"MAX_POOL_2D", "AVERAGE_POOL_2D", "PAD", "RELU", "RELU6", "RESHAPE"})
"""Operators between two layers that keep channels apart and let a positive factor through."""

_CLAMPS = frozenset({0, 1, 3})
"""TFLite's numbers of fused activations that do: none, RELU, and RELU6 below its upper end."""

_GREATEST_FACTOR = 64.0
"""Channels that are smaller still are noise, and their factors could overflow a bias."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two layers of a subgraph, of which the second one alone reads what the first one computes."""

    subgraph: int
    first: int
    second: int
    tensor: int


@dataclass(slots=True)
class ChannelWatcher:
    """Measures the channels of the tensors between layers: largest magnitude, and mean square."""

    tensors: frozenset[TensorKey]
    largest: dict[TensorKey, Array] = field(default_factory=dict)
    squares: dict[TensorKey, Array] = field(default_factory=dict)
    rows: dict[TensorKey, int] = field(default_factory=dict)

    def wants(self, tensor: TensorKey) -> bool:
        """Whether the tensor lies between two layers that are equalised."""
        return tensor in self.tensors

    def tensor(self, tensor: TensorKey, value: Array) -> None:
        """Adds a value, channels last, to the largest magnitudes and sums of squares of its channels."""
        rows = np.abs(value.reshape(-1, value.shape[-1]).astype(np.float64))
        zero = np.zeros(rows.shape[1])
        self.largest[tensor] = np.maximum(self.largest.get(tensor, zero), rows.max(axis=0, initial=0))
        self.squares[tensor] = self.squares.get(tensor, zero) + (rows**2).sum(axis=0)
        self.rows[tensor] = self.rows.get(tensor, 0) + len(rows)

    def mark(self, event: str, operator: OperatorKey) -> None:
        """Nothing: control flow plays no part here."""
        del event, operator


def find_pairs(model: Model) -> tuple[Pair, ...]:
    """Pairs of layers in all subgraphs, in order."""
    return tuple(pair for graph in model.subgraphs for pair in _pairs(graph))


def _pairs(graph: SubGraph) -> list[Pair]:
    uses, pairs = TensorUses.of(graph), []
    for op in graph.operators:
        if _is_layer(op, graph) and (second := _second(op, graph, uses)) is not None:
            pairs.append(Pair(graph.index, op.index, second.index, op.outputs[0]))
    return pairs


def _second(first: FileOperator, graph: SubGraph, uses: TensorUses) -> FileOperator | None:
    """The layer that alone reads a layer's output, perhaps behind operators that keep channels apart."""
    tensor = first.outputs[0]
    channels = graph.tensors[tensor].shape[-1]
    while (op := uses.sole_reader(tensor)) is not None:
        if _is_layer(op, graph):
            return op if op.inputs[0] == tensor and _fits(op, graph, channels) else None
        if op.name not in _BETWEEN or not op.outputs or fused_activation(op) not in _CLAMPS or op.inputs[0] != tensor:
            return None
        tensor = op.outputs[0]
        shape = graph.tensors[tensor].shape
        if not shape or (shape[-1] != channels and not (op.name == "RESHAPE" and shape[-1] % channels == 0)):
            return None
        if op.name == "PAD" and not _pads_no_channel(op, graph):
            return None
        if shape[-1] != channels:
            product = uses.sole_reader(tensor)
            if product is None or product.name != "FULLY_CONNECTED":
                return None
    return None


def _pads_no_channel(op: FileOperator, graph: SubGraph) -> bool:
    amounts = graph.tensors[op.inputs[1]]
    return amounts.data is not None and not constant_values(amounts)[-1].any()


def _is_layer(op: FileOperator, graph: SubGraph) -> bool:
    """Whether an operator has constant weights and bias of float32, and lets a factor per output channel through."""
    if op.name not in _LAYERS or (places := weight_operands(op, graph)) is None or fused_activation(op) not in _CLAMPS:
        return False
    constants = [graph.tensors[op.inputs[places.weights]]]
    bias = bias_operand(op)
    constants += [] if bias is None else [graph.tensors[op.inputs[bias]]]
    output = graph.tensors[op.outputs[0]].shape
    return bool(output) and all(
        t.data is not None and t.dtype is DType.FLOAT32 and np.isfinite(constant_values(t)).all() for t in constants
    )


def _fits(op: FileOperator, graph: SubGraph, channels: int) -> bool:
    """Whether a layer's weights are multiplied with whole sets of channels."""
    shape = graph.tensors[op.inputs[1]].shape
    if op.name == "FULLY_CONNECTED":
        return shape[-1] % channels == 0
    return shape[3] % channels == 0 if op.name == "DEPTHWISE_CONV_2D" else shape[3] == channels


def equalized(model: Model, pairs: Sequence[Pair], watcher: ChannelWatcher) -> Model:
    """The Model with equalised channels; itself if nothing changes by more than a tenth."""
    graphs = list(model.subgraphs)
    for pair in pairs:
        key = pair.subgraph, pair.tensor
        if key in watcher.largest:
            graph = graphs[pair.subgraph]
            squares = watcher.squares[key] / max(watcher.rows[key], 1)
            factors = _factors(graph, pair, watcher.largest[key], squares)
            if factors.max(initial=1.0) > 1.1:
                graphs[pair.subgraph] = _scaled(graph, pair, factors)
    return model if tuple(graphs) == model.subgraphs else replace(model, subgraphs=tuple(graphs))


def _factors(graph: SubGraph, pair: Pair, largest: Array, squares: Array) -> Array:
    """Factor per channel from 1 up.

    A factor f divides the noise power of the channel's rounding by f^2 and multiplies that of its weights by f^2, of
    which the least sum is at f^4 = ratio of the two. A depthwise layer's weights have a scale of their own.
    """
    step = largest.max(initial=0.0) / 255
    second = _at(graph, pair.second)
    weights = constant_values(graph.tensors[second.inputs[1]]).astype(np.float64)
    limit = np.clip(np.divide(255 * step, largest, out=np.ones_like(largest), where=largest > 0), 1, _GREATEST_FACTOR)
    if second.name == "DEPTHWISE_CONV_2D":
        return np.asarray(limit)
    rows = weights.reshape(len(weights), -1, len(largest))
    steps = np.array(weight_quantization(weights, 0).scales)
    of_values = step**2 * (rows**2).sum(axis=(0, 1))
    of_weights = squares * (steps**2).sum() * rows.shape[1]
    ratio = np.divide(of_values, of_weights, out=np.ones_like(of_values), where=of_weights > 0)
    return np.asarray(np.clip(ratio**0.25, 1, limit))


def _at(graph: SubGraph, index: int) -> FileOperator:
    return next(op for op in graph.operators if op.index == index)


def _scaled(graph: SubGraph, pair: Pair, factors: Array) -> SubGraph:
    """The subgraph with the first layer's outputs multiplied and the second one's weights divided by the factors."""
    rewrite = SubGraphRewrite(graph)
    first, second = _at(graph, pair.first), _at(graph, pair.second)
    weights = constant_values(graph.tensors[first.inputs[1]])
    along = factors if first.name == "DEPTHWISE_CONV_2D" else factors.reshape(-1, *[1] * (weights.ndim - 1))
    scaled = {first.index: {1: weights * along}}
    bias = bias_operand(first)
    if bias is not None:
        scaled[first.index][bias] = constant_values(graph.tensors[first.inputs[bias]]).reshape(-1) * factors
    weights = constant_values(graph.tensors[second.inputs[1]])
    repeats = weights.shape[-1] // len(factors)
    is_depthwise = second.name == "DEPTHWISE_CONV_2D"
    along = np.repeat(factors, repeats) if is_depthwise else np.tile(factors, repeats)
    scaled[second.index] = {1: weights / along}

    def with_constants(rewrite: SubGraphRewrite, op: FileOperator) -> bool:
        inputs = list(op.inputs)
        for place, values in scaled.get(op.index, {}).items():
            original = graph.tensors[op.inputs[place]]
            data = contents(values.reshape(original.shape), DType.FLOAT32)
            inputs[place] = rewrite.add_tensor(original, data=data, buffer=0)
        rewrite.operators.append(replace(op, inputs=tuple(inputs)))
        return True

    rewrite.apply(with_constants)
    return rewrite.result()
