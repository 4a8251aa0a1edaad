"""Functions that move elements: shapes, orders, parts and repetitions of values."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tflmgen.frontend.onnx.compose import BOOL, I32, I64, add, cast, common_order, less, reshaped_plain, where
from tflmgen.frontend.onnx.laid_out import (
    Array,
    Graph,
    Shape,
    Value,
    check_constant,
    constant,
    moved_constant,
    stored_shape,
)
from tflmgen.frontend.onnx.located import NodeError
from tflmgen.ir import DType


def transpose(value: Value, permutation: Sequence[int]) -> Value:
    """Another order of the logical axes: only the order changes, the tensor stays."""
    if value.constant is not None:
        return moved_constant(value, lambda array: array.transpose(permutation).copy())
    shape = tuple(value.shape[axis] for axis in permutation)
    places = {axis: place for place, axis in enumerate(permutation)}
    order = tuple(places[axis] for axis in value.order)
    return Value(value.dtype, shape, order, None, value.graph, value.tensor)


def laid_as(g: Graph, value: Value, order: Sequence[int]) -> Value:
    """The same value with its tensor's axes in this order."""
    return value if value.constant is not None else g.value(g.laid(value, order), value.shape, tuple(order))


def reshape(g: Graph, value: Value, shape: Sequence[int]) -> Value:
    """The elements in another shape; where only axes that lie together are joined or split, they stay in order."""
    shape = tuple(int(size) for size in shape)
    if math.prod(shape) != value.size:
        raise NodeError(f"reshapes {value.size} elements into {'x'.join(map(str, shape))}")
    if value.constant is not None or value.is_plain:
        return reshaped_plain(g, value, shape)
    order = _kept_order(value, shape)
    if order is None:
        return reshaped_plain(g, value, shape)
    stored = stored_shape(shape, order)
    tensor = g.own(value).tensor
    operands = [tensor, g.constant(np.array(stored, np.int32))]
    reshaped = g.operator("RESHAPE", operands, [(value.dtype, stored, g.tensors[tensor].quantization)])[0]
    return g.value(reshaped, shape, order)


def _kept_order(value: Value, shape: Shape) -> Shape | None:
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


def squeeze(g: Graph, value: Value, axes: Sequence[int]) -> Value:
    """The value without the dimensions `axes`, which are of size 1 and counted from 0."""
    return reshape(g, value, [size for axis, size in enumerate(value.shape) if axis not in axes])


def unsqueeze(g: Graph, value: Value, *axes: int) -> Value:
    """New dimensions of 1 at these places of the result."""
    shape = list(value.shape)
    for axis in sorted(axes):
        shape.insert(axis, 1)
    return reshape(g, value, shape)


def concat(g: Graph, values: Sequence[Value], axis: int) -> Value:
    """The values one after the other along `axis`; empty ones are left out, and constants are joined at build time."""
    values = [value for value in values if value.shape[axis]] or list(values[:1])
    if len(values) == 1:
        return values[0]
    if all(value.constant is not None for value in values):
        check_constant((sum(value.size for value in values),), values[0].dtype.numpy.itemsize)
        return constant(np.concatenate([value.constant for value in values if value.constant is not None], axis))
    order = common_order(values, values[0].rank)
    tensors = [g.laid(value, order) for value in values]
    first = values[0].shape
    shape = (*first[:axis], sum(value.shape[axis] for value in values), *first[axis + 1 :])
    for value in values:
        if (*value.shape[:axis], *value.shape[axis + 1 :]) != (*first[:axis], *first[axis + 1 :]):
            raise NodeError("concatenates values whose other dimensions differ")
    quantization = g.tensors[tensors[0]].quantization
    stored = stored_shape(shape, order)
    joined = g.operator(
        "CONCATENATION", tensors, [(values[0].dtype, stored, quantization)], {"axis": order.index(axis)}
    )
    return g.value(joined[0], shape, order)


def slices(g: Graph, value: Value, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]) -> Value:
    """Every `step`th element from `start` on, `size` of them, along each logical axis; steps may be negative."""
    if value.constant is not None:
        index = np.ix_(*(a + s * np.arange(n) for a, n, s in zip(starts, sizes, steps, strict=True)))
        return moved_constant(value, lambda array: array[index].copy())
    if tuple(sizes) == value.shape and all(step == 1 for step in steps):
        return value
    value = g.own(value)
    backward = [axis for axis, step in enumerate(steps) if step < 0 and sizes[axis] > 1]
    if backward:
        value = reverse(g, value, backward)
        starts = [value.shape[k] - 1 - a if k in backward else a for k, a in enumerate(starts)]
    # The step of one element is any number, such as the greatest int64.
    steps = [abs(step) if n > 1 else 1 for step, n in zip(steps, sizes, strict=True)]
    stops = [a + (n - 1) * s + 1 if n else a for a, n, s in zip(starts, sizes, steps, strict=True)]
    order, shape = value.order, tuple(int(n) for n in sizes)
    bounds = [g.constant(np.array(stored_shape(b, order), np.int32)) for b in (starts, stops, steps)]
    output = (value.dtype, stored_shape(shape, order), g.tensors[value.tensor].quantization)
    return g.value(g.operator("STRIDED_SLICE", [value.tensor, *bounds], [output], {})[0], shape, order)


def part(g: Graph, value: Value, axis: int, start: int, size: int) -> Value:
    """Elements of one axis from `start` on."""
    starts = [start if k == axis else 0 for k in range(value.rank)]
    sizes = [size if k == axis else n for k, n in enumerate(value.shape)]
    return slices(g, value, starts, sizes, [1] * value.rank)


def reverse(g: Graph, value: Value, axes: Sequence[int]) -> Value:
    """The value with its elements in reverse order along each of `axes`."""
    if value.constant is not None:
        return moved_constant(value, lambda array: np.flip(array, tuple(axes)).copy())
    value = g.own(value)
    shape = g.tensors[value.tensor].shape
    for axis in axes:
        operands = [value.tensor, g.constant(np.array([value.order.index(axis)], np.int32))]
        output = (value.dtype, shape, g.tensors[value.tensor].quantization)
        value = g.value(g.operator("REVERSE_V2", operands, [output])[0], value.shape, value.order)
    return value


def gather(g: Graph, value: Value, indices: Value, axis: int) -> Value:
    """numpy's take along one axis; indices must be in range."""
    if value.constant is not None and indices.constant is not None:
        check_constant((*value.shape[:axis], *indices.shape, *value.shape[axis + 1 :]), value.constant.itemsize)
        return constant(np.take(value.constant, indices.constant, axis))
    shape = (*value.shape[:axis], *indices.shape, *value.shape[axis + 1 :])
    order = tuple(range(value.rank)) if value.constant is not None else value.order
    data, index = g.laid(value, order), g.laid(cast(g, indices, I32) if indices.constant is not None else indices)
    place = order.index(axis)
    stored = g.tensors[data].shape
    result = (*stored[:place], *indices.shape, *stored[place + 1 :])
    options = {"axis": place, "batch_dims": 0}
    gathered = g.operator("GATHER", [data, index], [(value.dtype, result, g.tensors[data].quantization)], options)[0]
    places: list[int] = []
    for at in order:
        if at == axis:
            places += range(axis, axis + indices.rank)
        else:
            places.append(at if at < axis else at + indices.rank - 1)
    return g.value(gathered, shape, tuple(places))


def gather_nd(g: Graph, value: Value, indices: Value) -> Value:
    """Slices of `value` at tuples of indices in the last dimension of `indices`, which must be in range."""
    count = indices.shape[-1]
    shape = (*indices.shape[:-1], *value.shape[count:])
    operands = [g.laid(value), g.laid(cast(g, indices, I32))]
    return g.value(g.operator("GATHER_ND", operands, [(value.dtype, shape, None)])[0])


def in_range(g: Graph, indices: Value, size: int) -> Value:
    """Indices that may count from the end, as indices from the start."""
    if indices.constant is not None:
        array = np.where(indices.constant < 0, indices.constant + size, indices.constant)
        if array.size and (array.min() < 0 or array.max() >= size):
            raise NodeError(f"has an index outside of a dimension of {size}")
        return constant(array.astype(indices.dtype.numpy))
    return where(g, less(g, indices, 0), add(g, indices, size), indices)


def broadcast_to(g: Graph, value: Value, shape: Sequence[int]) -> Value:
    """The value repeated to a shape that it broadcasts to."""
    shape = tuple(int(size) for size in shape)
    if value.shape == shape:
        return value
    if value.constant is not None:
        check_constant(shape, value.constant.itemsize)
        return constant(np.broadcast_to(value.constant, shape).copy())
    if value.size == math.prod(shape):
        return reshape(g, value, shape)
    operands = [g.laid(value), g.constant(np.array(shape, np.int32))]
    return g.value(g.operator("BROADCAST_TO", operands, [(value.dtype, shape, None)])[0])


def tile(g: Graph, value: Value, repeats: Sequence[int]) -> Value:
    """The value repeated `repeats[k]` times along each axis k."""
    if value.constant is not None:
        check_constant([n * k for n, k in zip(value.shape, repeats, strict=True)], value.constant.itemsize)
        return constant(np.tile(value.constant, repeats))
    value = g.own(value)
    shape = tuple(size * int(times) for size, times in zip(value.shape, repeats, strict=True))
    operands = [value.tensor, g.constant(np.array(stored_shape([int(r) for r in repeats], value.order), np.int32))]
    tiled = g.operator("TILE", operands, [(value.dtype, stored_shape(shape, value.order), None)])[0]
    return g.value(tiled, shape, value.order)


def pad(g: Graph, value: Value, pads: Sequence[tuple[int, int]], filler: float | Value = 0) -> Value:
    """The value with constant elements around it; paddings are not negative."""
    if not any(a or b for a, b in pads):
        return value
    if value.constant is not None and not isinstance(filler, Value):
        check_constant([n + a + b for n, (a, b) in zip(value.shape, pads, strict=True)], value.constant.itemsize)
        return constant(np.pad(value.constant, pads, constant_values=filler).astype(value.dtype.numpy))
    order = value.order
    tensor = g.laid(value, order)
    shape = tuple(a + size + b for size, (a, b) in zip(value.shape, pads, strict=True))
    table = g.constant(np.array([pads[axis] for axis in order], np.int32).reshape(value.rank, 2))
    output = (value.dtype, stored_shape(shape, order), g.tensors[tensor].quantization)
    if not isinstance(filler, Value) and filler == 0 and output[2] is None and value.dtype is not BOOL:
        padded = g.operator("PAD", [tensor, table], [output], {})[0]
    else:
        fill = filler if isinstance(filler, Value) else constant(filler, value.dtype)
        padded = g.operator("PADV2", [tensor, table, g.laid(fill)], [output], {})[0]
    return g.value(padded, shape, order)


def scatter_nd(g: Graph, indices: Value, updates: Value, shape: Shape) -> Value:
    """A value of zeros into which updates are added at tuples of indices, which must be in range."""
    operands = [g.laid(cast(g, indices, I32)), g.laid(updates), g.constant(np.array(shape, np.int32))]
    return g.value(g.operator("SCATTER_ND", operands, [(updates.dtype, shape, None)])[0])


def indices_of(shape: Sequence[int], axis: int, dtype: DType = I64) -> Value:
    """A constant whose elements are their index along one axis, of size 1 along the others."""
    sizes = [size if k == axis else 1 for k, size in enumerate(shape)]
    array: Array = np.arange(shape[axis]).reshape(sizes)
    return constant(array, dtype)
