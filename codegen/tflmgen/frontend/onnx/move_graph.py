"""Operators that move elements, as methods of a graph: shapes, orders, parts and repetitions of values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tflmgen.frontend.onnx.element_graph import BOOL, I32, I64, ElementGraph, broadcast_shape, common_order
from tflmgen.frontend.onnx.layout_graph import (
    Array,
    LayoutGraph,
    OnnxValue,
    Shape,
    check_constant,
    constant,
    moved_constant,
    stored_shape,
)
from tflmgen.frontend.onnx.node_error import NodeError
from tflmgen.frontend.onnx.open_size import OpenSize, as_sizes, has_open, is_open, missing_size
from tflmgen.ir import DType


def transpose(value: OnnxValue, permutation: Sequence[int]) -> OnnxValue:
    """The value with its logical axes permuted: only the order changes, the tensor stays."""
    if value.constant is not None:
        return moved_constant(value, lambda array: array.transpose(permutation).copy())
    shape = tuple(value.shape[axis] for axis in permutation)
    places = {axis: place for place, axis in enumerate(permutation)}
    order = tuple(places[axis] for axis in value.order)
    return OnnxValue(value.dtype, shape, order, None, value.graph, value.tensor)


def _kept_order(value: OnnxValue, shape: Shape) -> Shape | None:
    """The order of the reshaped axes if the tensor's elements need not move; else None."""
    groups = _groups(value.shape, shape)
    if groups is None:
        return None
    group_of = {axis: number for number, (axes, _) in enumerate(groups) for axis in axes}
    filled = [axis for axis in value.order if value.shape[axis] != 1]
    visited: list[int] = []
    for axis in filled:
        if group_of[axis] not in visited:
            visited.append(group_of[axis])
    for number in visited:
        axes = [axis for axis in groups[number][0] if value.shape[axis] != 1]
        start = filled.index(axes[0])
        if filled[start : start + len(axes)] != axes:
            return None
    visited += [number for number in range(len(groups)) if number not in visited]
    return tuple(axis for number in visited for axis in groups[number][1])


def _groups(before: Shape, after: Shape) -> list[tuple[list[int], list[int]]] | None:
    """Runs of axes before and after with the same number of elements, as short as possible."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(before) or j < len(after):
        left, right = [i][: len(before) - i], [j][: len(after) - j]
        a = before[i] if left else 1
        b = after[j] if right else 1
        i, j = i + len(left), j + len(right)
        while a != b:
            if a < b:
                if i >= len(before):
                    return None
                a *= before[i]
                left.append(i)
                i += 1
            else:
                if j >= len(after):
                    return None
                b *= after[j]
                right.append(j)
                j += 1
        groups.append((left, right))
    return groups


def indices_of(shape: Sequence[int], axis: int, dtype: DType = I64) -> OnnxValue:
    """A constant whose elements are their index along one axis, of size 1 along the others."""
    sizes = [size if k == axis else 1 for k, size in enumerate(shape)]
    array: Array = np.arange(shape[axis]).reshape(sizes)
    return constant(array, dtype)


class MoveGraph(ElementGraph):
    """A graph with operators that move elements."""

    def laid_as(self, value: OnnxValue, order: Sequence[int]) -> OnnxValue:
        """A value whose tensor's axes are in this order; its logical axes stay."""
        return value if value.constant is not None else self.value(self.laid(value, order), value.shape, tuple(order))

    def reshape(self, value: OnnxValue, shape: Sequence[int]) -> OnnxValue:
        """The elements in another shape; where only axes that lie together are joined or split, they stay in order."""
        shape = as_sizes(shape)
        if not value.is_open and not has_open(shape) and math.prod(shape) != value.size:
            raise NodeError(f"reshapes {value.size} elements into {'x'.join(map(str, shape))}")
        if value.constant is not None or value.is_plain or value.is_open:
            return self.reshaped_plain(value, shape)
        order = None if has_open(shape) else _kept_order(value, shape)
        if order is None:
            return self.reshaped_plain(value, shape)
        stored = stored_shape(shape, order)
        return self.value(self.copied(self.own(value).tensor, stored), shape, order)

    def squeeze(self, value: OnnxValue, axes: Sequence[int]) -> OnnxValue:
        """The value without the dimensions `axes`, which are of size 1 and counted from 0."""
        return self.reshape(value, [size for axis, size in enumerate(value.shape) if axis not in axes])

    def unsqueeze(self, value: OnnxValue, *axes: int) -> OnnxValue:
        """New dimensions of 1 at these places of the result."""
        shape = list(value.shape)
        for axis in sorted(axes):
            shape.insert(axis, 1)
        return self.reshape(value, shape)

    def concat(self, values: Sequence[OnnxValue], axis: int) -> OnnxValue:
        """The values one after the other along `axis`, without empty ones; constants are joined at build time."""
        values = [value for value in values if value.shape[axis] != 0] or list(values[:1])
        if len(values) == 1:
            return values[0]
        if all(value.constant is not None for value in values):
            check_constant((sum(value.size for value in values),), values[0].dtype.numpy.itemsize)
            return constant(np.concatenate([value.constant for value in values if value.constant is not None], axis))
        order = common_order(values, values[0].rank)
        tensors = [self.laid(value, order) for value in values]
        first = values[0].shape
        parts = [value.shape[axis] for value in values]
        joined_shape = list(broadcast_shape([(*v.shape[:axis], 1, *v.shape[axis + 1 :]) for v in values]))
        joined_shape[axis] = OpenSize() if has_open(parts) else sum(parts)
        shape = tuple(joined_shape)
        for value in values:
            others = zip(
                (*value.shape[:axis], *value.shape[axis + 1 :]), (*first[:axis], *first[axis + 1 :]), strict=True
            )
            if any(a != b and not has_open((a, b)) for a, b in others):
                raise NodeError("concatenates values whose other dimensions differ")
        quantization = self.tensors[tensors[0]].quantization
        stored = stored_shape(shape, order)
        joined = self.operator(
            "CONCATENATION", tensors, [(values[0].dtype, stored, quantization)], {"axis": order.index(axis)}
        )
        return self.value(joined[0], shape, order)

    def slices(self, value: OnnxValue, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]) -> OnnxValue:
        """Every `step`th element from `start` on, `size` of them, along each logical axis; steps may be negative."""
        if value.constant is not None:
            index = np.ix_(*(a + s * np.arange(n) for a, n, s in zip(starts, sizes, steps, strict=True)))
            return moved_constant(value, lambda array: array[index].copy())
        if tuple(sizes) == value.shape and all(step == 1 for step in steps):
            return value
        if value.is_open:
            return self._open_slices(value, starts, sizes, steps)
        value = self.own(value)
        backward = [axis for axis, step in enumerate(steps) if step < 0 and sizes[axis] > 1]
        if backward:
            value = self.reverse(value, backward)
            starts = [value.shape[k] - 1 - a if k in backward else a for k, a in enumerate(starts)]
        # The step of one element is any number, such as the greatest int64.
        steps = [abs(step) if n > 1 else 1 for step, n in zip(steps, sizes, strict=True)]
        stops = [a + (n - 1) * s + 1 if n else a for a, n, s in zip(starts, sizes, steps, strict=True)]
        order, shape = value.order, tuple(int(n) for n in sizes)
        bounds = [self.constant(np.array(stored_shape(b, order), np.int32)) for b in (starts, stops, steps)]
        output = (value.dtype, stored_shape(shape, order), self.tensors[value.tensor].quantization)
        return self.value(self.operator("STRIDED_SLICE", [value.tensor, *bounds], [output], {})[0], shape, order)

    def _open_slices(
        self, value: OnnxValue, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]
    ) -> OnnxValue:
        """slices() of a value with open sizes: what is whole stays whole, also as long as the data make it."""
        value, shape = self.own(value), tuple(sizes)
        whole = [size == old and step == 1 for size, old, step in zip(sizes, value.shape, steps, strict=True)]
        if all(step == 1 for step in steps):
            lengths = [-1 if w else n for n, w in zip(sizes, whole, strict=True)]
            bounds = [self.sizes_tensor(stored_shape(b, value.order)) for b in (starts, lengths)]
            output = (value.dtype, stored_shape(shape, value.order), self.tensors[value.tensor].quantization)
            return self.value(self.operator("SLICE", [value.tensor, *bounds], [output])[0], shape, value.order)
        stops = [0 if w else a + (n - 1) * s + 1 for a, n, s, w in zip(starts, sizes, steps, whole, strict=True)]
        if any(step < 1 for step in steps):
            raise NodeError("turns around a part whose size the data decide at run time")
        return self.bounded_slice(value, starts, stops, steps, shape, (whole, whole))

    def bounded_slice(
        self,
        value: OnnxValue,
        starts: Sequence[int],
        stops: Sequence[int],
        steps: Sequence[int],
        shape: Sequence[int],
        masks: tuple[Sequence[bool], Sequence[bool]],
    ) -> OnnxValue:
        """STRIDED_SLICE of logical axes; `masks`: whether each begins at its first and ends at its last element."""
        value = self.own(value)
        order, sizes = value.order, tuple(shape)
        bounds = [self.sizes_tensor(stored_shape(b, order)) for b in (starts, stops, steps)]
        output = (value.dtype, stored_shape(sizes, order), self.tensors[value.tensor].quantization)
        bits = [sum(1 << place for place, axis in enumerate(order) if mask[axis]) for mask in masks]
        options = {"begin_mask": bits[0], "end_mask": bits[1]}
        tensor = self.operator("STRIDED_SLICE", [value.tensor, *bounds], [output], options)[0]
        return self.value(tensor, sizes, order)

    def part(self, value: OnnxValue, axis: int, start: int, size: int) -> OnnxValue:
        """Elements of one axis from `start` on."""
        starts = [start if k == axis else 0 for k in range(value.rank)]
        sizes = [size if k == axis else n for k, n in enumerate(value.shape)]
        return self.slices(value, starts, sizes, [1] * value.rank)

    def part_at(self, value: OnnxValue, axis: int, place: OnnxValue, size: int) -> OnnxValue:
        """`size` elements of one axis from a place on that is known at run time; one below 0 counts from the end."""
        tensor = self.laid(value, value.order)
        begin = self.reshape(self.cast(place, I32), [1])
        begin = self.where(self.less(begin, 0), self.add(begin, value.shape[axis]), begin)
        zero = constant(np.zeros(1, np.int32))
        places = self.concat([begin if k == axis else zero for k in value.order], 0)
        shape = tuple(size if k == axis else n for k, n in enumerate(value.shape))
        stored = stored_shape(shape, value.order)
        operands = [tensor, self.laid(places), self.constant(np.array(stored, np.int32))]
        return self.value(self.operator("SLICE", operands, [(value.dtype, stored, None)])[0], shape, value.order)

    def offset_of(self, value: OnnxValue) -> tuple[tuple[LayoutGraph, int] | None, int]:
        """A number as another one, known at run time only, plus a constant: (its tensor, the constant)."""
        if value.constant is not None:
            return None, int(value.constant.reshape(-1)[0])
        value = self.own(value)
        producers = {output: op for op in self.operators for output in op.outputs}
        tensor, offset = value.tensor, 0
        while tensor in producers:
            op = producers[tensor]
            data = [self.tensors[i].data for i in op.inputs]
            if op.name in ("RESHAPE", "CAST"):
                tensor = op.inputs[0]
            elif op.name in ("ADD", "SUB") and data[1] is not None:
                dtype = self.tensors[op.inputs[1]].dtype
                assert dtype is not None
                number = int(np.frombuffer(data[1], dtype.numpy)[0])
                tensor, offset = op.inputs[0], offset + (number if op.name == "ADD" else -number)
            elif op.name == "ADD" and data[0] is not None:
                dtype = self.tensors[op.inputs[0]].dtype
                assert dtype is not None
                tensor, offset = op.inputs[1], offset + int(np.frombuffer(data[0], dtype.numpy)[0])
            else:
                break
        return (self, tensor), offset

    def reverse(self, value: OnnxValue, axes: Sequence[int]) -> OnnxValue:
        """The value with its elements in reverse order along each of `axes`."""
        if value.constant is not None:
            return moved_constant(value, lambda array: np.flip(array, tuple(axes)).copy())
        value = self.own(value)
        shape = self.shape_of(value.tensor)
        for axis in axes:
            operands = [value.tensor, self.constant(np.array([value.order.index(axis)], np.int32))]
            output = (value.dtype, shape, self.tensors[value.tensor].quantization)
            value = self.value(self.operator("REVERSE_V2", operands, [output])[0], value.shape, value.order)
        return value

    def gather(self, value: OnnxValue, indices: OnnxValue, axis: int) -> OnnxValue:
        """numpy's take along one axis; indices must be in range."""
        if value.constant is not None and indices.constant is not None:
            check_constant((*value.shape[:axis], *indices.shape, *value.shape[axis + 1 :]), value.constant.itemsize)
            return constant(np.take(value.constant, indices.constant, axis))
        shape = (*value.shape[:axis], *indices.shape, *value.shape[axis + 1 :])
        order = tuple(range(value.rank)) if value.constant is not None else value.order
        data, index = (
            self.laid(value, order),
            self.laid(self.cast(indices, I32) if indices.constant is not None else indices),
        )
        place = order.index(axis)
        stored = self.shape_of(data)
        result = (*stored[:place], *indices.shape, *stored[place + 1 :])
        options = {"axis": place, "batch_dims": 0}
        gathered = self.operator(
            "GATHER", [data, index], [(value.dtype, result, self.tensors[data].quantization)], options
        )[0]
        places: list[int] = []
        for at in order:
            if at == axis:
                places += range(axis, axis + indices.rank)
            else:
                places.append(at if at < axis else at + indices.rank - 1)
        return self.value(gathered, shape, tuple(places))

    def gather_nd(self, value: OnnxValue, indices: OnnxValue) -> OnnxValue:
        """Slices of `value` at tuples of indices in the last dimension of `indices`, which must be in range."""
        count = indices.shape[-1]
        shape = (*indices.shape[:-1], *value.shape[count:])
        operands = [self.laid(value), self.laid(self.cast(indices, I32))]
        return self.value(self.operator("GATHER_ND", operands, [(value.dtype, shape, None)])[0])

    def in_range(self, indices: OnnxValue, size: int) -> OnnxValue:
        """Indices that may count from the end, as indices from the start."""
        if indices.constant is not None:
            array = np.where(indices.constant < 0, indices.constant + size, indices.constant)
            if array.size and (array.min() < 0 or array.max() >= size):
                raise NodeError(f"has an index outside of a dimension of {size}")
            return constant(array.astype(indices.dtype.numpy))
        count = self.size_value(size, indices.dtype) if isinstance(size, OpenSize) else size
        return self.where(self.less(indices, 0), self.add(indices, count), indices)

    def size_value(self, size: OpenSize, dtype: DType = I64) -> OnnxValue:
        """An open size as a scalar."""
        return self.cast(self.reshape(self.value(self.size_tensor(size)), ()), dtype)

    def sizes_value(self, sizes: Sequence[int]) -> OnnxValue:
        """A vector of sizes, int64: a constant where all are known."""
        if not has_open(sizes):
            return constant(np.array(sizes, np.int64))
        vector = self.cast(self.value(self.sizes_tensor(sizes)), I64)
        return replace(vector, numbers=tuple(sizes))

    def flat(self, value: OnnxValue) -> OnnxValue:
        """The elements in one dimension."""
        return self.reshape(value, [missing_size(value.shape, ())])

    def broadcast_to(self, value: OnnxValue, shape: Sequence[int]) -> OnnxValue:
        """The value repeated to a shape that it broadcasts to."""
        shape = as_sizes(shape)
        if value.shape == shape:
            return value
        if value.constant is not None:
            if not has_open(shape):
                check_constant(shape, value.constant.itemsize)
                return constant(np.broadcast_to(value.constant, shape).copy())
        elif not value.is_open and not has_open(shape) and value.size == math.prod(shape):
            return self.reshape(value, shape)
        operands = [self.laid(value), self.sizes_tensor(shape)]
        return self.value(self.operator("BROADCAST_TO", operands, [(value.dtype, shape, None)])[0])

    def tile(self, value: OnnxValue, repeats: Sequence[int]) -> OnnxValue:
        """The value repeated `repeats[k]` times along each axis k."""
        if value.constant is not None:
            check_constant([n * k for n, k in zip(value.shape, repeats, strict=True)], value.constant.itemsize)
            return constant(np.tile(value.constant, repeats))
        value = self.own(value)
        shape = tuple(
            size if times == 1 else OpenSize() if has_open((size, times)) else size * int(times)
            for size, times in zip(value.shape, repeats, strict=True)
        )
        operands = [value.tensor, self.sizes_tensor(stored_shape(as_sizes(repeats), value.order))]
        tiled = self.operator("TILE", operands, [(value.dtype, stored_shape(shape, value.order), None)])[0]
        return self.value(tiled, shape, value.order)

    def pad(self, value: OnnxValue, pads: Sequence[tuple[int, int]], filler: float | OnnxValue = 0) -> OnnxValue:
        """The value with constant elements around it; paddings are not negative."""
        if not any(a or b for a, b in pads):
            return value
        if value.constant is not None and not isinstance(filler, OnnxValue):
            check_constant([n + a + b for n, (a, b) in zip(value.shape, pads, strict=True)], value.constant.itemsize)
            return constant(np.pad(value.constant, pads, constant_values=filler).astype(value.dtype.numpy))
        order = value.order
        tensor = self.laid(value, order)
        shape = tuple(
            size if not (a or b) else OpenSize() if is_open(size) else a + size + b
            for size, (a, b) in zip(value.shape, pads, strict=True)
        )
        table = self.constant(np.array([pads[axis] for axis in order], np.int32).reshape(value.rank, 2))
        output = (value.dtype, stored_shape(shape, order), self.tensors[tensor].quantization)
        if not isinstance(filler, OnnxValue) and filler == 0 and output[2] is None and value.dtype is not BOOL:
            padded = self.operator("PAD", [tensor, table], [output], {})[0]
        else:
            fill = filler if isinstance(filler, OnnxValue) else constant(filler, value.dtype)
            padded = self.operator("PADV2", [tensor, table, self.laid(fill)], [output], {})[0]
        return self.value(padded, shape, order)

    def scatter_nd(self, indices: OnnxValue, updates: OnnxValue, shape: Shape) -> OnnxValue:
        """A value of zeros into which updates are added at tuples of indices, which must be in range."""
        operands = [self.laid(self.cast(indices, I32)), self.laid(updates), self.sizes_tensor(shape)]
        return self.value(self.operator("SCATTER_ND", operands, [(updates.dtype, shape, None)])[0])

    def with_row(self, rows: int, row: int, place: OnnxValue) -> int:
        """The tensor `rows` with another row, a tensor whose first axis is 1, at a place, an int32 scalar."""
        start, entry = self.laid(self.reshape(place, [1])), self.tensors[rows]
        rank = len(entry.shape)
        if rank > 1:
            pieces = [start, self.constant(np.zeros(rank - 1, np.int32))]
            start = self.operator("CONCATENATION", pieces, [(I32, (rank,), None)], {"axis": 0})[0]
        assert entry.dtype is not None
        return self.operator("DYNAMIC_UPDATE_SLICE", [rows, row, start], [(entry.dtype, entry.shape, None)])[0]
