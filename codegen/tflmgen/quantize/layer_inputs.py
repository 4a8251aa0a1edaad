"""Mean and covariance of what layers with constant weights multiply, measured on the float model.

A convolution multiplies its filter with the window under it: rows of the im2col matrix. Layers with equal weights count
as one, so that their weights stay equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tflmgen.frontend import TensorKey
from tflmgen.frontend.model_graph import OperatorKey, WeightOperands, constant_values
from tflmgen.frontend.tflite import FileOperator, FileTensor, Model, SubGraph
from tflmgen.kernels import traits_of
from tflmgen.quantize.integer_forms import bias_operand, weight_operands
from tflmgen.quantize.value_sources import origins, value_sources

Array = NDArray[Any]

MAX_PRODUCTS = 1024
"""Products per output above which no covariance is measured: 8 MB, and its inverse takes a second."""

_ROWS_AT_ONCE = 64
"""Rows of im2col taken from one run of a layer, evenly spaced; neighbouring windows overlap and say little more."""

_ROWS_PER_PRODUCT, _FEWEST_ROWS = 32, 4096
"""Rows after which a layer is known well enough, and least number of these; more lowered no error."""


@dataclass(slots=True, eq=False)
class MeasuredLayer:
    """Operators with the same constant weights.

    is_depthwise  whether each output depends on one channel of the input
    weights  real numbers [outputs, products]; a depthwise filter has one row per output channel, too
    groups   number of separate covariances: input channels of a depthwise layer, 1 for others
    has_bias whether each of the operators has a constant bias
    """

    is_depthwise: bool
    places: WeightOperands
    shape: tuple[int, ...]
    weights: Array
    groups: int
    operators: list[OperatorKey] = field(default_factory=list)
    has_bias: bool = True
    rows: int = 0
    sums: Array = field(default_factory=lambda: np.zeros(0))
    products: Array | None = None

    @property
    def is_known(self) -> bool:
        """Whether more rows would change little."""
        return self.rows >= max(_FEWEST_ROWS, _ROWS_PER_PRODUCT * int(self.weights.shape[1]))

    @property
    def mean(self) -> Array:
        """Mean of what each weight is multiplied with: [groups, products]."""
        return np.asarray(self.sums / max(self.rows, 1))

    @property
    def covariance(self) -> Array | None:
        """Second moments [groups, products, products], about the mean if a bias can take that; None if unknown."""
        if self.products is None or not self.rows:
            return None
        moments = self.products / self.rows
        if self.has_bias:
            mean = self.mean
            moments = moments - mean[:, :, None] * mean[:, None, :]
        return np.asarray(moments)

    def add(self, rows: Array) -> None:
        """Takes rows [count, groups, products] into the sums."""
        if np.isfinite(rows).all():
            rows = rows.astype(np.float64)
            self.rows += len(rows)
            self.sums += rows.sum(axis=0)
            if self.products is not None and self.groups == 1:
                self.products[0] += rows[:, 0].T @ rows[:, 0]  # one product is BLAS's, a stack of one is not
            elif self.products is not None:
                self.products += rows.transpose(1, 2, 0) @ rows.transpose(1, 0, 2)

    def filter_of(self, rows: Array) -> Array:
        """Weights [outputs, products] in the shape of the file."""
        if not self.is_depthwise:
            return rows.reshape(self.shape)
        return np.ascontiguousarray(rows.T).reshape(self.shape)


class LayerWatcher:
    """Watches a run of the float model for the inputs of its layers with constant weights."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.layers = _layers(model)
        sources = value_sources(model)
        written = {(graph.index, i) for graph in model.subgraphs for op in graph.operators for i in op.outputs}
        entries = {(graph.index, i) for graph in model.subgraphs for i in graph.inputs}
        self._readers: dict[TensorKey, list[tuple[MeasuredLayer, OperatorKey]]] = {}
        for layer in self.layers:
            for key in layer.operators:
                tensor = (key[0], _operator(model, key).inputs[layer.places.source])
                shown = written | entries if tensor in sources else {tensor}
                for origin in {tensor, *origins(tensor, sources, shown - {tensor})}:
                    self._readers.setdefault(origin, []).append((layer, key))

    def wants(self, tensor: TensorKey) -> bool:
        """Asked before each run of sets: not for tensors whose layers are known."""
        return any(not layer.is_known for layer, _ in self._readers.get(tensor, ()))

    def tensor(self, tensor: TensorKey, value: Array) -> None:
        """Adds the rows that layers multiply of this value; values that are only a part of a tensor are left out."""
        for layer, key in self._readers[tensor]:
            if layer.is_known:
                continue
            graph = self._model.subgraphs[key[0]]
            op = _operator(self._model, key)
            shape = _actual_shape(graph.tensors[op.inputs[layer.places.source]], value)
            if value.size == math.prod(shape):  # not a part of a tensor, which a CONCATENATION joins
                layer.add(input_rows(op, layer, value.reshape(shape)))

    def mark(self, event: str, operator: OperatorKey) -> None:
        """Nothing: control flow plays no part here."""
        del event, operator


def _actual_shape(tensor: FileTensor, value: Array) -> tuple[int, ...]:
    """The shape of a tensor whose value is `value`, where only dynamic dimensions differ from those of the file."""
    dims = tensor.shape_signature or tensor.shape
    fits = len(dims) == value.ndim and all(dim in (-1, size) for dim, size in zip(dims, value.shape, strict=True))
    return value.shape if fits else tensor.shape


def _layers(model: Model) -> tuple[MeasuredLayer, ...]:
    by_weights: dict[tuple[str, tuple[int, ...], bytes], MeasuredLayer] = {}
    for graph, op, places in weighted_operators(model):
        tensor = graph.tensors[op.inputs[places.weights]]
        layer = _layer(op, graph, places)
        if layer is None or tensor.data is None:
            continue
        layer = by_weights.setdefault((op.name, tensor.shape, tensor.data), layer)
        layer.operators.append((graph.index, op.index))
        bias = bias_operand(op)
        layer.has_bias &= bias is not None and graph.tensors[op.inputs[bias]].data is not None
    return tuple(by_weights.values())


def weighted_operators(model: Model) -> Iterable[tuple[SubGraph, FileOperator, WeightOperands]]:
    """Operators whose weights are constants."""
    for graph in model.subgraphs:
        for op in graph.operators:
            places = weight_operands(op, graph)
            if places is not None:
                yield graph, op, places


def _layer(op: FileOperator, graph: SubGraph, places: WeightOperands) -> MeasuredLayer | None:
    """A layer without measurements; None for transposed and grouped convolutions, and weights that are no numbers."""
    weights = constant_values(graph.tensors[op.inputs[places.weights]]).astype(np.float64)
    source = graph.tensors[op.inputs[places.source]].shape
    traits = traits_of(op.name)
    if traits.channel_axis is None or not weights.size or not np.isfinite(weights).all() or not source:
        return None
    groups, is_depthwise = 1, traits.depth_axis is None
    if is_depthwise:
        groups = source[-1]
        flat = weights.reshape(-1, weights.shape[3]).T
    else:
        flat = weights.reshape(len(weights), -1)
        if traits.window is not None and weights.shape[3] != source[-1]:
            return None
    layer = MeasuredLayer(is_depthwise, places, weights.shape, flat, groups)
    layer.sums = np.zeros((groups, flat.shape[1]))
    if flat.shape[1] <= MAX_PRODUCTS:
        layer.products = np.zeros((groups, flat.shape[1], flat.shape[1]))
    return layer


def _operator(model: Model, key: OperatorKey) -> FileOperator:
    return next(op for op in model.subgraphs[key[0]].operators if op.index == key[1])


def input_rows(op: FileOperator, layer: MeasuredLayer, value: Array) -> Array:
    """Rows [count, groups, products] of what the weights are multiplied with, at most _ROWS_AT_ONCE."""
    if traits_of(op.name).window is None:
        rows = value.reshape(-1, 1, layer.weights.shape[1])
        return rows[_evenly_spaced(len(rows))]
    height, width = layer.shape[1:3]
    windows = _windows(value, (height, width), op.options or {})
    count = int(np.prod(windows.shape[:3]))
    places = np.unravel_index(_evenly_spaced(count), windows.shape[:3])
    chosen = windows[places]  # [count, channels, height, width]
    if layer.is_depthwise:
        return chosen.reshape(len(chosen), chosen.shape[1], height * width)
    return chosen.transpose(0, 2, 3, 1).reshape(len(chosen), 1, -1)


def _evenly_spaced(count: int) -> Array:
    """Evenly spaced indices below `count`, at most _ROWS_AT_ONCE, at distances that no image width always divides."""
    return np.linspace(0, max(count - 1, 0), min(count, _ROWS_AT_ONCE)).astype(np.int64)


def _windows(value: Array, size: Sequence[int], options: Any) -> Array:
    """Windows [batch, rows, columns, channels, height, width] of an image, as TFLite places them."""
    strides = options["stride_h"], options["stride_w"]
    dilations = options["dilation_h_factor"], options["dilation_w_factor"]
    extents = [(k - 1) * d + 1 for k, d in zip(size, dilations, strict=True)]
    pads = [(0, 0), (0, 0), (0, 0), (0, 0)]
    if options["padding"] == _SAME:
        for axis, (extent, stride) in enumerate(zip(extents, strides, strict=True), 1):
            total = max((-(-value.shape[axis] // stride) - 1) * stride + extent - value.shape[axis], 0)
            pads[axis] = total // 2, total - total // 2
    windows = sliding_window_view(np.pad(value, pads), extents, axis=(1, 2))
    return windows[:, :: strides[0], :: strides[1], :, :: dilations[0], :: dilations[1]]


_SAME = 0
"""TFLite's number for padding that keeps the size."""
