"""Operators that move elements: shapes, slices, concatenations, padding, gathering, scattering."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.onnx.element_graph import I64, broadcast_shape
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import OnnxValue, check_constant, constant
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.move_graph import transpose
from tflmgen.frontend.onnx.node import OnnxNode, dtype_of, normal_axis
from tflmgen.frontend.onnx.node_error import NodeError
from tflmgen.frontend.onnx.open_size import FAR, OpenSize, has_open, is_open, missing_size, split_sizes


@lowers("Shape")
def shape(node: OnnxNode) -> OnnxValue:
    """Shape, or a part of it: a constant where the data decide none of it."""
    rank = node[0].rank
    start, end = (int(node.attribute(n, d)) for n, d in (("start", 0), ("end", rank)))
    return node.graph.sizes_value(node[0].shape[slice(*_clamped(start, end, rank))])


def _clamped(start: int, end: int, rank: int) -> tuple[int, int]:
    return tuple(min(max(k + rank if k < 0 else k, 0), rank) for k in (start, end))  # type: ignore[return-value]


@lowers("Size")
def size(node: OnnxNode) -> OnnxValue:
    """Size: the number of elements, a constant where the data do not decide it."""
    g, sizes = node.graph, node[0].shape
    known, unknown = split_sizes(sizes)
    if not unknown:
        return constant(np.int64(node[0].size))
    return reduce(g.mul, (g.size_value(size) for size in unknown), constant(math.prod(known), I64))


@lowers("Reshape")
def lower_reshape(node: OnnxNode) -> OnnxValue:
    """Reshape, with 0 and -1 replaced by what they stand for. Raises NodeError for a shape that inputs determine."""
    value = node[0]
    sizes = node.sizes(1, "its shape")
    if not node.attribute("allowzero", 0):
        sizes = [value.shape[k] if n == 0 and k < value.rank else n for k, n in enumerate(sizes)]
    if -1 in sizes:
        rest = missing_size(value.shape, [n for n in sizes if n != -1])
        sizes = [rest if n == -1 else n for n in sizes]
    return node.graph.reshape(value, sizes)


@lowers("Flatten")
def flatten(node: OnnxNode) -> OnnxValue:
    """Flatten to two dimensions, split at `axis`."""
    value = node[0]
    axis = int(node.attribute("axis", 1))
    axis += value.rank if axis < 0 else 0
    return node.graph.reshape(value, [missing_size(part, ()) for part in (value.shape[:axis], value.shape[axis:])])


@lowers("Squeeze")
def lower_squeeze(node: OnnxNode) -> OnnxValue:
    """Squeeze of the named axes, else of all of size 1. Raises NodeError if a named one is larger."""
    value = node[0]
    axes = node.axes(value.rank)
    if axes is None:
        axes = [axis for axis, size in enumerate(value.shape) if size == 1]
    if any(value.shape[axis] != 1 for axis in axes):
        raise NodeError("squeezes a dimension that is not 1")
    return node.graph.squeeze(value, axes)


@lowers("Unsqueeze")
def lower_unsqueeze(node: OnnxNode) -> OnnxValue:
    """Unsqueeze: dimensions of size 1 at `axes`, which count in the result."""
    value = node[0]
    axes = node.attribute("axes") or node.integers(1, "its axes") or []
    return node.graph.unsqueeze(value, *(normal_axis(axis, value.rank + len(axes)) for axis in axes))


@lowers("Transpose")
def lower_transpose(node: OnnxNode) -> OnnxValue:
    """Transpose; without `perm`, all axes are reversed."""
    value = node[0]
    return transpose(value, node.attribute("perm") or list(range(value.rank))[::-1])


@lowers("Concat")
def lower_concat(node: OnnxNode) -> OnnxValue:
    """Concat of all operands along one axis."""
    values = [node[index] for index in range(len(node.inputs))]
    return node.graph.concat(values, node.axis(values[0].rank))


@lowers("Split")
def split(node: OnnxNode) -> list[OnnxValue]:
    """Split along one axis, into equal parts if no sizes are given. Raises NodeError if sizes do not add up."""
    value = node[0]
    axis = node.axis(value.rank)
    sizes = node.attribute("split") or node.integers(1, "its parts")
    count, whole = len(node.proto.output), value.shape[axis]
    if sizes is None:
        each = -(-whole // count)
        sizes = [min(each, whole - each * k) for k in range(count)]
    if sum(sizes) != whole or len(sizes) != count:
        raise NodeError(f"splits a dimension of {whole} into {'+'.join(map(str, sizes))}")
    starts = [sum(sizes[:k]) for k in range(count)]
    return [node.graph.part(value, axis, start, n) for start, n in zip(starts, sizes, strict=True)]


@lowers("Slice", evaluated=False)
def slice_(node: OnnxNode) -> OnnxValue:
    """Slice with steps, also backwards; of bounds that are computed at run time, the data decide the size."""
    value = node[0]
    if node.version < 10:
        starts, ends, axes, steps = node.attribute("starts"), node.attribute("ends"), node.attribute("axes"), None
    else:
        if node[1].constant is None and not node.graph.sources_of(node[1]) and _ends_after_constant(node):
            return _moving_slice(node)
        starts, ends = (node.sizes(k, text, True) for k, text in ((1, "its starts"), (2, "its ends")))
        axes, steps = node.integers(3, "its axes"), node.integers(4, "its steps")
    axes = list(range(len(starts))) if axes is None else [normal_axis(axis, value.rank) for axis in axes]
    if has_open([*starts, *ends]) or has_open([value.shape[axis] for axis in axes]):
        return _open_slice(node.graph, value, list(zip(axes, starts, ends, steps or [1] * len(axes), strict=True)))
    begins, sizes, strides = [0] * value.rank, list(value.shape), [1] * value.rank
    for axis, start, end, step in zip(axes, starts, ends, steps or [1] * len(axes), strict=True):
        if step == 0:
            raise NodeError("has a step of 0")
        begins[axis], sizes[axis] = _span(start, end, step, value.shape[axis])
        strides[axis] = step
    return node.graph.slices(value, begins, sizes, strides)


def _span(start: int, end: int, step: int, count: int) -> tuple[int, int]:
    """The first element of a slice of an axis, and how many there are.

    ONNX clamps a start to the axis, also where it lies before it and the step is negative: Python's slice is empty.
    """
    first, last = (place + count if place < 0 else place for place in (start, end))
    if step > 0:
        first, stop = min(max(first, 0), count), min(max(last, 0), count)
    else:
        first, stop = min(max(first, 0), count - 1), min(max(last, -1), count - 1)
    return max(first, 0), len(range(first, stop, step)) if count else 0


def _open_slice(g: Graph, value: OnnxValue, entries: Sequence[tuple[int, int, int, int]]) -> OnnxValue:
    """Parts of axes of which sizes or bounds are known at run time only. entries: axis, start, end, step."""
    flipped = [axis for axis, start, end, step in entries if step == -1 and not has_open((start, end)) and start == -1]
    starts, stops, steps, shape = [0] * value.rank, [0] * value.rank, [1] * value.rank, list(value.shape)
    first, last = [True] * value.rank, [True] * value.rank
    for axis, start, end, step in entries:
        if axis in flipped and not is_open(end) and end <= -FAR:
            continue
        if not is_open(step) and step < 1:
            raise NodeError("goes backwards over a size that the data decide")
        starts[axis], stops[axis], steps[axis] = _near(start), _near(end), step
        first[axis], last[axis] = start == 0, not is_open(end) and end >= FAR
        if is_open(shape[axis]) or has_open((start, end)):
            is_whole = first[axis] and step == 1 and (last[axis] or end == shape[axis])
            last[axis] |= is_whole
            shape[axis] = shape[axis] if is_whole else OpenSize()
        else:
            starts[axis], shape[axis] = _span(start, end, step, shape[axis])
            stops[axis] = starts[axis] + shape[axis] * step
            first[axis] = last[axis] = False
    value = g.reverse(value, flipped) if flipped else value
    if all(a and b and step == 1 for a, b, step in zip(first, last, steps, strict=True)):
        return value
    return g.bounded_slice(value, starts, stops, steps, shape, (first, last))


def _near(place: int) -> int:
    """A bound within int32: those beyond mean an end of any axis."""
    return place if is_open(place) else min(max(place, -FAR), FAR)


def _ends_after_constant(node: OnnxNode) -> bool:
    """Whether a slice that begins at a place known at run time has a constant number of elements."""
    roots = [node.graph.offset_of(node[k])[0] for k in (1, 2)]
    return roots[0] == roots[1] and not node[0].is_open


def _moving_slice(node: OnnxNode) -> OnnxValue:
    """A slice that begins at a place known at run time, and ends a constant number of elements later."""
    g, value = node.graph, node[0]
    axes, steps = node.integers(3, "its axes"), node.integers(4, "its steps")
    axes = [0] if axes is None else [normal_axis(axis, value.rank) for axis in axes]
    root, before = g.offset_of(node[1])
    end_root, after = g.offset_of(node[2])
    if len(axes) != 1 or (steps or [1]) != [1] or root != end_root or not 0 < after - before <= value.shape[axes[0]]:
        raise NodeError("has bounds known at run time, which is possible of one axis and a constant size")
    return g.part_at(value, axes[0], node[1], after - before)


@lowers("Expand")
def expand(node: OnnxNode) -> OnnxValue:
    """Expand: the operand broadcast to the shape. Raises NodeError for a shape that inputs determine."""
    sizes = tuple(node.sizes(1, "its shape"))
    return node.graph.broadcast_to(node[0], broadcast_shape([node[0].shape, sizes]))


@lowers("Tile")
def lower_tile(node: OnnxNode) -> OnnxValue:
    """Tile: repetitions along each axis. Raises NodeError for numbers of them that inputs determine."""
    return node.graph.tile(node[0], node.sizes(1, "its repeats"))


@lowers("Pad")
def lower_pad(node: OnnxNode) -> OnnxValue:
    """Pad in all modes. Raises NodeError if the pads are not known at build time."""
    value = node[0]
    flat_pads = node.attribute("pads") or (node.sizes(1, "its pads") if node.has(1) else [])
    axes = node.integers(3, "its axes")
    axes = list(range(value.rank)) if axes is None else [normal_axis(axis, value.rank) for axis in axes]
    pads = [(0, 0)] * value.rank
    for place, axis in enumerate(axes):
        pads[axis] = (flat_pads[place], flat_pads[place + len(axes)])
    filler = node.optional(2) or constant(node.attribute("value", 0.0), value.dtype)
    if has_open(flat_pads):
        return _open_padded(node, pads, filler)
    return padded(node.graph, value, pads, node.attribute("mode", "constant"), filler)


def _open_padded(node: OnnxNode, pads: list[tuple[int, int]], filler: OnnxValue) -> OnnxValue:
    """Padding of which the data decide how much there is, by slices of a constant beside the value.

    Where the model declares the size of the result, as many slices follow and what is beyond that size is cut off.
    """
    g, value, declared = node.graph, node[0], node.walker.declared.get(node.proto.output[0], ())
    if node.attribute("mode", "constant") != "constant":
        raise NodeError("repeats so many elements as the data decide; only constants can be repeated so")
    for axis, (before, after) in enumerate(pads):
        whole = declared[axis] if is_open(after) and len(declared) > axis else None
        left, right = (_filled(g, value, axis, n, filler) for n in (before, after if whole is None else whole))
        value = g.concat([left, value, right], axis)
        value = value if whole is None else g.part(value, axis, 0, whole)
    return value


def _filled(g: Graph, value: OnnxValue, axis: int, size: int, filler: OnnxValue) -> OnnxValue:
    """So many slices of a constant as go beside a value along an axis."""
    return g.broadcast_to(g.reshape(filler, ()), [size if k == axis else n for k, n in enumerate(value.shape)])


def padded(g: Graph, value: OnnxValue, pads: list[tuple[int, int]], mode: str, filler: OnnxValue) -> OnnxValue:
    """Padding in ONNX's modes; negative pads cut."""
    cut = [(min(a, 0), min(b, 0)) for a, b in pads]
    if any(a or b for a, b in cut):
        sizes = [n + a + b if a or b else n for n, (a, b) in zip(value.shape, cut, strict=True)]
        value = g.slices(value, [-a for a, _ in cut], sizes, [1] * value.rank)
    pads = [(max(a, 0), max(b, 0)) for a, b in pads]
    if mode == "constant":
        known = filler.constant
        fill = float(known.reshape(-1)[0]) if known is not None and value.dtype.is_float else None
        if known is not None and not value.dtype.is_float:
            fill = int(known.reshape(-1)[0])
        return g.pad(value, pads, g.reshape(filler, ()) if fill is None else fill)
    for axis, (before, after) in enumerate(pads):
        if before or after:
            count = value.shape[axis]
            places = _padded_places(mode, np.arange(-before, count + after), count)
            value = g.gather(value, constant(places.astype(np.int32)), axis)
    return value


def _padded_places(mode: str, places: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    if mode == "edge":
        return np.clip(places, 0, count - 1)
    if mode == "wrap":
        return places % count
    if mode == "reflect":
        period = max(2 * count - 2, 1)
        folded = places % period
        return np.where(folded < count, folded, period - folded)
    raise NodeError(f"pads in the unknown mode '{mode}'")


@lowers("Trilu")
def triangle(node: OnnxNode) -> OnnxValue:
    """Trilu: the upper or lower triangle of the last two dimensions, zero elsewhere."""
    g, value = node.graph, node[0]
    offset = int(node.known(1, "its diagonal").reshape(-1)[0]) if node.has(1) else 0
    check_constant(value.shape[-2:], 1)
    ones = np.ones(value.shape[-2:], bool)
    mask = np.triu(ones, offset) if node.attribute("upper", 1) else np.tril(ones, offset)
    return g.where(constant(mask), value, constant(0, value.dtype))


@lowers("EyeLike")
def eye_like(node: OnnxNode) -> OnnxValue:
    """EyeLike: a constant matrix of the operand's shape with ones on one diagonal."""
    number = node.attribute("dtype")
    dtype = node[0].dtype if number is None else dtype_of(number)
    rows, columns = node[0].shape
    check_constant((rows, columns), 8)
    return constant(np.eye(rows, columns, int(node.attribute("k", 0))), dtype)


@lowers("DepthToSpace")
def depth_to_space(node: OnnxNode) -> OnnxValue:
    """DepthToSpace of NCHW, in either order of blocks (DCR, CRD)."""
    g, value, block = node.graph, node[0], int(node.attribute("blocksize"))
    n, channels, height, width = value.shape
    kept = channels // block**2
    if node.attribute("mode", "DCR") == "DCR":
        parts = g.reshape(value, [n, block, block, kept, height, width])
        moved = transpose(parts, [0, 3, 4, 1, 5, 2])
    else:
        parts = g.reshape(value, [n, kept, block, block, height, width])
        moved = transpose(parts, [0, 1, 4, 2, 5, 3])
    return g.reshape(moved, [n, kept, height * block, width * block])


@lowers("SpaceToDepth")
def space_to_depth(node: OnnxNode) -> OnnxValue:
    """SpaceToDepth of NCHW. Raises NodeError if the mode is unknown."""
    g, value, block = node.graph, node[0], int(node.attribute("blocksize"))
    n, channels, height, width = value.shape
    if node.attribute("mode", "DCR") not in ("DCR", "CRD"):
        raise NodeError("has an unknown mode")
    parts = g.reshape(value, [n, channels, height // block, block, width // block, block])
    order = [0, 3, 5, 1, 2, 4] if node.attribute("mode", "DCR") == "DCR" else [0, 1, 3, 5, 2, 4]
    moved = transpose(parts, order)
    return g.reshape(moved, [n, channels * block**2, height // block, width // block])


@lowers("CenterCropPad")
def center_crop_pad(node: OnnxNode) -> OnnxValue:
    """CenterCropPad: each axis cut or padded with zeros on both sides, to the target size."""
    g, value = node.graph, node[0]
    targets = node.integers(1, "its shape") or []
    axes = [normal_axis(axis, value.rank) for axis in node.attribute("axes") or range(value.rank)]
    for axis, target in zip(axes, targets, strict=True):
        extra = target - value.shape[axis]
        if extra < 0:
            value = g.part(value, axis, -extra // 2, target)
        else:
            pads = [(extra // 2, extra - extra // 2) if k == axis else (0, 0) for k in range(value.rank)]
            value = g.pad(value, pads)
    return value


@lowers("ConstantOfShape")
def constant_of_shape(node: OnnxNode) -> OnnxValue:
    """ConstantOfShape, as a constant where the data do not decide the shape. Raises NodeError for one that inputs
    determine."""
    sizes = node.sizes(0, "its shape")
    filler = node.attribute("value")
    filler = np.zeros(1, "<f4") if filler is None else filler
    if has_open(sizes):
        return node.graph.broadcast_to(constant(filler.reshape(-1)[0]), sizes)
    check_constant(sizes, filler.itemsize)
    return constant(np.full(sizes, filler.reshape(-1)[0], filler.dtype))
