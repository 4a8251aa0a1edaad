"""Layers as methods of a graph: reductions, matrix products, convolutions and pools."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tflmgen.frontend.onnx.element_graph import BOOL, F32, I32, I64, broadcast_shape, computed_in
from tflmgen.frontend.onnx.layout_graph import OnnxValue, Shape, constant, stored_shape
from tflmgen.frontend.onnx.move_graph import MoveGraph, transpose
from tflmgen.frontend.onnx.node_error import NodeError
from tflmgen.frontend.onnx.open_size import FAR, OpenSize, is_open
from tflmgen.ir import DType

_NEUTRAL = {"SUM": 0.0, "MEAN": math.nan, "REDUCE_PROD": 1.0}
"""Results of reductions of nothing; the extremes' are the type's own."""


def _of_nothing(name: str, dtype: DType) -> float:
    if name in _NEUTRAL:
        return _NEUTRAL[name]
    least = name == "REDUCE_MAX"
    if dtype is F32:
        return -math.inf if least else math.inf
    return dtype.limits[0] if least else dtype.limits[1]


def _reduction(name: str) -> Callable[..., OnnxValue]:
    """A reduction as a Python function of the graph, its operand and the axes, which stay with size 1 if `keep`."""

    def call(g: Graph, value: OnnxValue, axes: Sequence[int], keep: bool = True) -> OnnxValue:
        return g._reduce(name, value, axes, keep)

    return call


def _operand_of(value: OnnxValue, name: str, *through: str) -> OnnxValue | None:
    """The first operand of the operator of this name that makes a value, behind those of other names."""
    graph = value.graph
    producers = {output: op for op in graph.operators for output in op.outputs} if graph is not None else {}
    op = producers.get(value.tensor)
    while op is not None and op.name in through:
        op = producers.get(op.inputs[0])
    return graph.value(op.inputs[0]) if graph is not None and op is not None and op.name == name else None


def last_order(rank: int) -> tuple[int, ...]:
    """Channels last: (0, 2, 3, 1) of images."""
    return (0, *range(2, rank), 1)


class Graph(MoveGraph):
    """A TFLite subgraph under construction, with all operators that lowerings add."""

    def _reduce(self, name: str, value: OnnxValue, axes: Sequence[int], keep: bool = True) -> OnnxValue:
        """A reduction over logical axes, in the order in which the operand lies."""
        shape = tuple(1 if axis in axes else size for axis, size in enumerate(value.shape))
        kept = shape if keep else tuple(size for axis, size in enumerate(value.shape) if axis not in axes)
        if not axes:
            return value
        if value.is_empty:
            return constant(np.full(kept, _of_nothing(name, value.dtype), value.dtype.numpy))
        inner = computed_in(name, value.dtype)
        tensor_value = self.cast(value, inner)
        tensor = self.laid(tensor_value, tensor_value.order)
        places = self.constant(np.array(sorted(value.order.index(axis) for axis in axes), np.int32))
        output = (inner, stored_shape(shape, value.order), None)
        reduced = self.value(
            self.operator(name, [tensor, places], [output], {"keep_dims": True})[0], shape, value.order
        )
        if name in ("REDUCE_MAX", "REDUCE_MIN") and self.may_be_infinite(value):
            reduced = self._infinite_extreme(name, value, axes, reduced)
        reduced = self.cast(reduced, value.dtype)
        return reduced if keep else self.reshape(reduced, kept)

    def _infinite_extreme(self, name: str, value: OnnxValue, axes: Sequence[int], reduced: OnnxValue) -> OnnxValue:
        """The extreme of elements that may all be infinite: TFLite's kernels begin with the last float."""
        last = -math.inf if name == "REDUCE_MAX" else math.inf
        every = self._reduce("REDUCE_ALL", self.equal(value, last), axes)
        return self.where(every, last, reduced)

    def place_of_extreme(self, value: OnnxValue, axis: int, least: bool = False, last: bool = False) -> OnnxValue:
        """int64 index of the first (or last) greatest (or least) element along one axis, which disappears."""
        name = "ARG_MIN" if least else "ARG_MAX"
        inner = computed_in(name, value.dtype)
        value = self.cast(value, inner)
        if last:
            value = self.reverse(value, [axis])
        tensor = self.laid(value, value.order)
        place = self.constant(np.array([value.order.index(axis)], np.int32))
        order = tuple(k - (k > axis) for k in value.order if k != axis)
        shape = tuple(size for k, size in enumerate(value.shape) if k != axis)
        options = {"output_type": 4}
        places = self.operator(name, [tensor, place], [(I64, stored_shape(shape, order), None)], options)[0]
        index = self.value(places, shape, order)
        return self.sub(constant(value.shape[axis] - 1, I64), index) if last else index

    def _last_axis(self, value: OnnxValue, axis: int) -> tuple[int, tuple[int, ...]]:
        """The tensor of a value with one axis innermost, and its order."""
        order = (*(k for k in value.order if k != axis), axis)
        if value.order[-1:] == (axis,):
            order = value.order
        return self.laid(value, order), order

    def _along_last(self, name: str, value: OnnxValue, axis: int, options: dict[str, float] | None = None) -> OnnxValue:
        """An operator along the innermost axis that keeps the shape."""
        tensor, order = self._last_axis(value, axis)
        result = self.operator(name, [tensor], [(value.dtype, self.shape_of(tensor), None)], options or {})[0]
        return self.value(result, value.shape, order)

    reduce_sum, reduce_mean, reduce_prod = _reduction("SUM"), _reduction("MEAN"), _reduction("REDUCE_PROD")
    reduce_max, reduce_min, reduce_any = _reduction("REDUCE_MAX"), _reduction("REDUCE_MIN"), _reduction("REDUCE_ANY")

    def softmax(self, value: OnnxValue, axis: int) -> OnnxValue:
        """exp(x) over the sum of these along one axis."""
        return self._along_last("SOFTMAX", value, axis, {"beta": 1.0})

    def log_softmax(self, value: OnnxValue, axis: int) -> OnnxValue:
        """The logarithm of softmax along one axis."""
        return self._along_last("LOG_SOFTMAX", value, axis)

    def cumulative_sum(self, value: OnnxValue, axis: int, exclusive: bool, backward: bool) -> OnnxValue:
        """Sums of prefixes along one axis, or of suffixes, with or without the element itself."""
        inner = computed_in("CUMSUM", value.dtype)
        wide = self.cast(value, inner)
        tensor = self.laid(wide, wide.order)
        place = self.constant(np.array([wide.order.index(axis)], np.int32))
        options = {"exclusive": exclusive, "reverse": backward}
        sums = self.operator("CUMSUM", [tensor, place], [(inner, self.shape_of(tensor), None)], options)[0]
        return self.cast(self.value(sums, value.shape, wide.order), value.dtype)

    def greatest(self, value: OnnxValue, axis: int, count: int) -> tuple[OnnxValue, OnnxValue]:
        """The `count` greatest elements along one axis in descending order, and their places (int32)."""
        inner = computed_in("TOPK_V2", value.dtype)
        tensor, order = self._last_axis(self.cast(value, inner), axis)
        shape = tuple(count if k == axis else size for k, size in enumerate(value.shape))
        stored = stored_shape(shape, order)
        outputs = [(inner, stored, None), (I32, stored, None)]
        number = self.reshape(self.value(self.sizes_tensor([count])), ())
        tensors = self.operator("TOPK_V2", [tensor, self.laid(number)], outputs, {})
        values, indices = (self.value(tensor, shape, order) for tensor in tensors)
        return self.cast(values, value.dtype), indices

    def matmul(self, a: OnnxValue, b: OnnxValue) -> OnnxValue:
        """numpy's matmul; of integers in int32 (int64)."""
        if a.rank == 1:
            product = self.matmul(self.unsqueeze(a, 0), b)
            return self.squeeze(product, [product.rank - 2 if b.rank > 1 else 0])
        if b.rank == 1:
            product = self.matmul(a, self.unsqueeze(b, 1))
            return self.squeeze(product, [product.rank - 1])
        if a.shape[-1] != b.shape[-2]:
            raise NodeError(f"multiplies rows of {a.shape[-1]} with columns of {b.shape[-2]}")
        if a.dtype is not F32:
            return self._integer_product(a, b)
        if 0 in a.shape or 0 in b.shape:
            shape = (*broadcast_shape([a.shape[:-2], b.shape[:-2]]), a.shape[-2], b.shape[-1])
            return constant(np.zeros(shape, np.float32))
        if b.constant is not None and b.rank == 2:
            return self.fully_connected(a, transpose(b, [1, 0]), None)
        return self._batch_matmul(a, b)

    def _integer_product(self, a: OnnxValue, b: OnnxValue) -> OnnxValue:
        products = self.mul(self.unsqueeze(a, a.rank), self.unsqueeze(b, b.rank - 2))
        return self.squeeze(self.reduce_sum(products, [products.rank - 2]), [products.rank - 2])

    def fully_connected(self, value: OnnxValue, weights: OnnxValue, bias: OnnxValue | None) -> OnnxValue:
        """Rows of `value` times constant or other weights of shape (outputs, depth), plus a bias of floats."""
        order = (*(k for k in value.order if k != value.rank - 1), value.rank - 1)
        tensor = self.laid(value, order)
        shape = (*value.shape[:-1], weights.shape[0])
        tensors = [tensor, self.laid(weights)]
        if bias is not None:
            tensors.append(self.laid(self.reshape(bias, [bias.size])))
        options = {"keep_num_dims": True}
        product = self.operator("FULLY_CONNECTED", tensors, [(F32, stored_shape(shape, order), None)], options)[0]
        return self.value(product, shape, order)

    def _batch_matmul(self, a: OnnxValue, b: OnnxValue) -> OnnxValue:
        batch = broadcast_shape([a.shape[:-2], b.shape[:-2]])
        shape = (*batch, a.shape[-2], b.shape[-1])
        if len(shape) > 5:
            a = self.reshape(self.broadcast_to(a, (*batch, *a.shape[-2:])), [math.prod(batch), *a.shape[-2:]])
            b = self.reshape(self.broadcast_to(b, (*batch, *b.shape[-2:])), [math.prod(batch), *b.shape[-2:]])
            return self.reshape(self._batch_matmul(a, b), shape)
        left, adj_x = self._matrices(a)
        right, adj_y = self._matrices(b)
        options = {"adj_x": adj_x, "adj_y": adj_y}
        return self.value(self.operator("BATCH_MATMUL", [left, right], [(F32, shape, None)], options)[0])

    def _matrices(self, value: OnnxValue) -> tuple[int, bool]:
        """The tensor of matrices, and whether they lie transposed."""
        turned = (*range(value.rank - 2), value.rank - 1, value.rank - 2)
        if value.constant is None and value.order == turned and not value.is_plain:
            return self.laid(value, turned), True
        return self.laid(value), False

    def _over_windows(
        self, name: str, value: OnnxValue, operands: Sequence[OnnxValue], shape: Shape, options: Mapping[str, Any]
    ) -> OnnxValue:
        """An operator that slides over a value (batch, channels, spatial axes), with a result of this shape."""
        order = last_order(value.rank)
        tensors = [self.laid(value, order), *map(self.laid, operands)]
        tensor = self.operator(name, tensors, [(value.dtype, stored_shape(shape, order), None)], options)[0]
        return self.value(tensor, shape, order)

    def image_convolution(
        self, value: OnnxValue, weights: OnnxValue, bias: OnnxValue, out: Sequence[int], options: Mapping[str, Any]
    ) -> OnnxValue:
        """CONV_2D. weights: output channels first, then channels and the filter's axes."""
        operands = [transpose(weights, [0, 2, 3, 1]), bias]
        return self._over_windows("CONV_2D", value, operands, (value.shape[0], weights.shape[0], *out), options)

    def depthwise_convolution(
        self, value: OnnxValue, weights: OnnxValue, bias: OnnxValue, out: Sequence[int], options: Mapping[str, Any]
    ) -> OnnxValue:
        """DEPTHWISE_CONV_2D. weights: output channels first, then one channel and the filter's axes."""
        filters = transpose(self.reshape(weights, [1, weights.shape[0], *weights.shape[2:]]), [0, 2, 3, 1])
        options = {**options, "depth_multiplier": weights.shape[0] // value.shape[1]}
        shape = (value.shape[0], weights.shape[0], *out)
        return self._over_windows("DEPTHWISE_CONV_2D", value, [filters, bias], shape, options)

    def volume_convolution(
        self,
        value: OnnxValue,
        weights: OnnxValue,
        bias: OnnxValue | None,
        out: Sequence[int],
        options: Mapping[str, Any],
    ) -> OnnxValue:
        """CONV_3D. weights: output channels first, then channels and the filter's axes."""
        filters = transpose(weights, [2, 3, 4, 1, 0])
        operands = [filters] if bias is None else [filters, bias]
        return self._over_windows("CONV_3D", value, operands, (value.shape[0], weights.shape[0], *out), options)

    def transposed_convolution(
        self, value: OnnxValue, weights: OnnxValue, shape: Shape, options: Mapping[str, Any]
    ) -> OnnxValue:
        """TRANSPOSE_CONV with a result of this shape. weights: channels, output channels, and the filter's axes."""
        stored = stored_shape(shape, last_order(4))
        filters = transpose(weights, [1, 2, 3, 0])
        tensors = [self.constant(np.array(stored, np.int32)), self.laid(filters), self.laid(value, last_order(4))]
        return self.value(
            self.operator("TRANSPOSE_CONV", tensors, [(F32, stored, None)], options)[0], shape, last_order(4)
        )

    def max_pool(self, value: OnnxValue, out: Sequence[int], options: Mapping[str, Any]) -> OnnxValue:
        """MAX_POOL_2D: greatest elements of windows."""
        return self._over_windows("MAX_POOL_2D", value, [], (*value.shape[:2], *out), options)

    def average_pool(self, value: OnnxValue, out: Sequence[int], options: Mapping[str, Any]) -> OnnxValue:
        """AVERAGE_POOL_2D: means of windows."""
        return self._over_windows("AVERAGE_POOL_2D", value, [], (*value.shape[:2], *out), options)

    def nonzero_rows(self, value: OnnxValue) -> OnnxValue:
        """int64 [rows, rank]: the indices of elements that are not zero, as many as there are."""
        return self.value(self.nonzero_tensor(value))

    def found_in(self, indices: OnnxValue) -> OnnxValue | None:
        """The flags of which these tuples of indices are the places of those that are set; None for others."""
        return _operand_of(indices, "WHERE") if indices.is_plain else None

    def repeated_in(self, value: OnnxValue) -> OnnxValue | None:
        """The value that is repeated to another in a larger shape; None for others."""
        return _operand_of(value, "BROADCAST_TO", "RESHAPE")

    def with_count(self, total: OnnxValue, value: OnnxValue) -> OnnxValue:
        """A sum of all elements, as a size where these are Booleans: so many of them are set."""
        flags = _operand_of(value, "CAST", "RESHAPE")
        if flags is None or flags.dtype is not BOOL or not flags.rank or total.graph is None:
            return total
        total.graph.counted[total.tensor] = flags
        return replace(total, numbers=total.graph.element_sizes(total))

    def set_places(self, flags: OnnxValue) -> OnnxValue:
        """int64 [rows]: the places of set elements of a flattened value."""
        rows = self.nonzero_rows(self.flat(flags))
        return self.reshape(rows, rows.shape[:1])

    def first_rows(self, value: OnnxValue, count: OnnxValue) -> OnnxValue:
        """The first elements of a vector, as many as an int32 value [1] says."""
        operands = [self.laid(value), self.constant(np.zeros(1, np.int32)), self.laid(count)]
        return self.value(self.operator("SLICE", operands, [(value.dtype, (OpenSize(),), None)])[0])

    def span(self, value: OnnxValue, start: int, stop: int) -> OnnxValue:
        """A value without its first or last slices, by Python's bounds; it may be shorter than these."""
        size, rest = value.shape[0], value.rank - 1
        if not is_open(size):
            begin, end, _ = slice(start, stop).indices(size)
            return self.part(value, 0, begin, max(end - begin, 0))
        masks = [start == 0, *[True] * rest], [stop == FAR, *[True] * rest]
        bounds = [start, *[0] * rest], [stop, *[0] * rest]
        return self.bounded_slice(value, *bounds, [1] * value.rank, [OpenSize(), *value.shape[1:]], masks)

    def turned(self, places: OnnxValue) -> OnnxValue:
        """The permutation that undoes one: of each number from 0 on its place in a vector, int32."""
        ones = self.broadcast_to(constant(np.int32(1)), places.shape)
        numbers = self.cumulative_sum(ones, 0, True, False)
        return self.scatter_nd(self.unsqueeze(places, 1), numbers, places.shape)

    def suppression(
        self, boxes: OnnxValue, scores: OnnxValue, numbers: Sequence[OnnxValue], size: int
    ) -> tuple[OnnxValue, OnnxValue]:
        """Boxes in the order in which they are selected, int32 of this size, and their number, [1].

        numbers  the greatest number of them, the overlap from which a box is left out, the score that it must exceed
        """
        operands = [self.laid(value) for value in (boxes, scores, *numbers)]
        outputs = [(I32, (size,), None), (I32, (), None)]
        selected, number = self.operator("NON_MAX_SUPPRESSION_V4", operands, outputs, {})
        return self.value(selected), self.reshape(self.value(number), [1])

    def signal_transform(self, name: str, value: OnnxValue, length: int) -> OnnxValue:
        """SignalRfft or SignalIrfft along the last dimension: so many real numbers, or pairs of half as many bins."""
        shape = (*value.shape[:-1], length + 2 if name == "SignalRfft" else length)
        options = {"T": 0, "fft_length": length}
        return self.value(self.operator(f"CUSTOM:{name}", [self.laid(value)], [(F32, shape, None)], options)[0])

    def tree_ensemble(
        self, rows: OnnxValue, nodes: OnnxValue, roots: OnnxValue, weights: OnnxValue | None, outputs: int, join: int
    ) -> OnnxValue:
        """Decision trees on rows of features (kernels/operators/tree_ensemble.py): float32 [rows, outputs]."""
        tensors = [self.laid(value) for value in (rows, nodes, roots, weights) if value is not None]
        options = {"outputs": outputs, "aggregate": join}
        stored = [(F32, (rows.shape[0], outputs), None)]
        return self.value(self.operator("CUSTOM:TreeEnsemble", tensors, stored, options)[0])
