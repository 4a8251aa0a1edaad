"""Makers of random_onnx_nodes.py: operators that move elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from support.random_onnx_makers import broadcast, operand
from support.random_onnx_nodes import Array, Draw, makes


def moved(draw: Draw, low: int = 1, high: int = 4) -> Array:
    return draw.values(draw.shape(low, high), draw.pick(np.float32, np.float32, np.int64, np.int8, np.bool_))


@makes("Reshape")
def reshape(draw: Draw) -> None:
    array = moved(draw)
    sizes = [int(n) for n in draw.rng.permutation(array.shape)]
    sizes = draw.pick(sizes, [-1], [sizes[0], -1], [0, -1], [1, *sizes])
    allow = draw.pick(None, 0) if draw.version >= 14 else None
    draw.node([draw.value(array), draw.ints(*sizes)], allowzero=allow)


@makes("Flatten")
def flatten(draw: Draw) -> None:
    array = draw.floats(draw.shape(2, 4))
    draw.node([draw.value(array)], axis=draw.pick(None, 0, array.ndim, draw.axis(array.ndim)))


@makes("Squeeze", "Unsqueeze")
def ranks(draw: Draw) -> None:
    shape, result = list(draw.shape(1, 3)), 0
    axes = draw.axes(len(shape) + 1)
    if draw.op == "Squeeze":
        places = sorted(k % (len(shape) + 1) for k in axes)
        for place in places:
            shape.insert(place, 1)
        result = len(shape)
        axes = [k % (result - len(places) + 1) for k in axes]
        axes = [k - result if draw.version >= 11 and draw.coin(0.2) else k for k in places]
    else:
        axes = [k % (len(shape) + 1) for k in axes]
        whole = len(shape) + len(axes)
        axes = sorted(int(k) for k in draw.rng.permutation(whole)[: len(axes)])
    names = [draw.value(draw.values(shape, draw.pick(np.float32, np.int64)))]
    attributes: dict[str, Any] = {}
    if draw.op == "Squeeze" and draw.coin(0.2):
        axes = []
    if axes and draw.version < 13:
        attributes["axes"] = axes
    elif axes:
        names.append(draw.ints(*axes))
    draw.node(names, **attributes)


@makes("Transpose")
def transpose(draw: Draw) -> None:
    array = moved(draw)
    draw.node([draw.value(array)], perm=draw.pick(None, [int(k) for k in draw.rng.permutation(array.ndim)]))


@makes("Concat")
def concat(draw: Draw) -> None:
    array = moved(draw)
    axis = draw.axis(array.ndim)
    parts = [np.repeat(array, int(draw.rng.integers(1, 3)), axis) for _ in range(draw.pick(1, 2, 3))]
    draw.node([operand(draw, part) for part in parts], axis=axis)


@makes("Split")
def split(draw: Draw) -> None:
    array = moved(draw)
    axis = draw.axis(array.ndim)
    sizes = [int(n) for n in draw.rng.integers(1, 4, draw.pick(1, 2, 3))]
    even = draw.coin()
    sizes = [sizes[0]] * len(sizes) if even else sizes
    array = draw.values([sum(sizes) if k == axis % array.ndim else n for k, n in enumerate(array.shape)], array.dtype)
    names = [draw.value(array)]
    attributes: dict[str, Any] = {}
    if not even and draw.version < 13:
        attributes["split"] = sizes
    elif not even:
        names.append(draw.ints(*sizes))
    elif draw.version >= 18:
        attributes["num_outputs"] = len(sizes)
    draw.node(names, len(sizes), axis=axis, **attributes)


@makes("Slice")
def slices(draw: Draw) -> None:
    array = moved(draw)
    axes = [int(k) for k in draw.rng.permutation(array.ndim)[: int(draw.rng.integers(1, array.ndim + 1))]]
    if draw.version < 10:
        axes = sorted(axes)
    far = draw.pick(array.shape[axes[0]] + 3, 2**31, 2**63 - 1)
    starts = [int(draw.rng.integers(-array.shape[k] - 3, array.shape[k] + 3)) for k in axes]
    ends = [draw.pick(int(draw.rng.integers(-array.shape[k] - 3, array.shape[k] + 3)), far, -far) for k in axes]
    if draw.version < 10:
        draw.node([draw.value(array)], starts=starts, ends=ends, axes=axes)
        return
    steps = [int(draw.pick(1, 1, 2, -1, -2, 3)) for _ in axes]
    ends = [-9 if step < 0 and end == far else end for step, end in zip(steps, ends, strict=False)]
    rest = [draw.ints(*axes), draw.ints(*steps)] if draw.coin(0.8) else []
    if not rest:
        starts, ends = starts[:1], ends[:1]
    draw.node([draw.value(array), draw.ints(*starts), draw.ints(*ends), *rest])


@makes("Expand", "Tile")
def repeated(draw: Draw) -> None:
    array = moved(draw)
    if draw.op == "Tile":
        draw.node([draw.value(array), draw.ints(*(int(n) for n in draw.rng.integers(1, 4, array.ndim)))])
        return
    shape = broadcast(draw, array.shape)
    array = draw.values([1 if draw.coin(0.4) else n for n in array.shape], array.dtype)
    sizes = [n if n > 1 else draw.pick(1, 2, 3) for n in array.shape]
    draw.node([draw.value(array), draw.ints(*(draw.pick(sizes, [2, *sizes], sizes[-len(shape) :] or sizes)))])


@makes("Pad")
def pad(draw: Draw) -> None:
    array = draw.floats(draw.shape(1, 4, 5))
    if draw.version >= 11 and draw.coin(0.3):
        array = draw.values(array.shape, draw.pick(np.int64, np.int8))
    mode = draw.pick(None, "constant", "reflect", "edge", *(["wrap"] if draw.version >= 19 else []))
    largest_pad = 2 if mode in (None, "constant", "edge") else min(array.shape) - 1
    pads = [int(draw.rng.integers(-1 if mode in (None, "constant") and min(array.shape) > 2 else 0, largest_pad + 1))
            for _ in range(2 * array.ndim)]  # fmt: skip
    if draw.version < 11:
        draw.node([draw.value(array)], pads=pads, mode=mode, value=draw.pick(None, 1.5))
        return
    names = [draw.value(array), draw.ints(*pads), draw.constant(array.dtype.type(1.5)) if draw.coin() else ""]
    if draw.version >= 18 and draw.coin(0.3):
        axes = draw.axes(array.ndim)
        names[1] = draw.ints(*pads[: 2 * len(axes)])
        names.append(draw.ints(*axes))
    draw.node(names, mode=mode)


@makes("Trilu")
def trilu(draw: Draw) -> None:
    array = draw.values(draw.shape(2, 4), draw.pick(np.float32, np.int64))
    names = [draw.value(array)] + ([draw.constant(np.int64(draw.pick(-1, 0, 2)))] if draw.coin() else [])
    draw.node(names, upper=draw.pick(None, 0, 1))


@makes("EyeLike")
def eye_like(draw: Draw) -> None:
    draw.node([draw.value(draw.floats(draw.shape(2, 2)))], k=draw.pick(None, 1, -1), dtype=draw.pick(None, 1, 7))


@makes("DepthToSpace", "SpaceToDepth")
def blocks(draw: Draw) -> None:
    block, deep = draw.pick(1, 2, 3), draw.op == "DepthToSpace"
    n, c, h, w = (int(k) for k in draw.rng.integers(1, 4, 4))
    shape = (n, c * block**2, h, w) if deep else (n, c, h * block, w * block)
    mode = draw.pick(None, "DCR", "CRD") if deep and draw.version >= 11 else None
    draw.node([draw.value(draw.floats(shape))], blocksize=block, mode=mode)


@makes("CenterCropPad")
def center_crop_pad(draw: Draw) -> None:
    array = draw.floats(draw.shape())
    axes = draw.pick(None, [k % array.ndim for k in draw.axes(array.ndim)])
    count = array.ndim if axes is None else len(axes)
    draw.node([draw.value(array), draw.ints(*(int(n) for n in draw.rng.integers(1, 7, count)))], axes=axes)


@makes("Shape", "Size")
def sizes_of(draw: Draw) -> None:
    ends = {}
    if draw.op == "Shape" and draw.version >= 15:
        ends = {"start": draw.pick(None, 0, 1, -2), "end": draw.pick(None, 2, -1)}
    draw.node([draw.value(draw.floats(draw.shape()))], **ends)


@makes("Gather")
def gather(draw: Draw) -> None:
    array = moved(draw)
    axis = draw.axis(array.ndim)
    n = array.shape[axis]
    indices = draw.integers(draw.shape(0, 2), -n if draw.version >= 11 else 0, n, draw.pick(np.int32, np.int64))
    draw.node([draw.value(array), operand(draw, indices)], axis=axis)


@makes("GatherElements", "ScatterElements", "Scatter")
def elements(draw: Draw) -> None:
    array = draw.floats(draw.shape())
    axis = draw.axis(array.ndim)
    n = array.shape[axis]
    shape = [int(draw.rng.integers(1, k + 1)) for k in array.shape]
    indices = np.argsort(draw.rng.random([n if k == axis % array.ndim else s for k, s in enumerate(shape)]), axis)
    indices = np.take(indices, np.arange(shape[axis]), axis)
    if draw.version >= 11 and draw.coin(0.3):
        indices = indices - n
    names = [draw.value(array), operand(draw, indices.astype(np.int64))]
    reduction = None
    if draw.op != "GatherElements":
        names.append(draw.value(draw.floats(shape)))
        choices = ["none", "add", "mul"] if draw.version >= 16 else []
        reduction = draw.pick(None, *choices, *(["max", "min"] if draw.version >= 18 else []))
    draw.node(names, axis=axis, **({} if reduction is None else {"reduction": reduction}))


@makes("GatherND", "ScatterND")
def tuples(draw: Draw) -> None:
    array = draw.floats(draw.shape(1, 4))
    batch = (
        int(draw.rng.integers(0, array.ndim)) if draw.op == "GatherND" and draw.version >= 12 and draw.coin(0.4) else 0
    )
    depth = int(draw.rng.integers(1, array.ndim - batch + 1))
    limits = np.array(array.shape[batch : batch + depth])
    count = int(draw.rng.integers(1, 4))
    if draw.op == "GatherND":
        indices = draw.rng.integers(-limits, limits, (*array.shape[:batch], count, depth)).astype(np.int64)
        draw.node([draw.value(array), operand(draw, indices)], batch_dims=batch or None)
        return
    flat = draw.rng.permutation(int(limits.prod()))[:count]
    indices = np.stack(np.unravel_index(flat, tuple(limits)), -1).astype(np.int64)
    updates = draw.floats((len(flat), *array.shape[depth:]))
    reduction = draw.pick(None, "add", "mul") if draw.version >= 16 else None
    draw.node([draw.value(array), operand(draw, indices), draw.value(updates)], reduction=reduction)


@makes("OneHot")
def one_hot(draw: Draw) -> None:
    indices, depth = draw.integers(draw.shape(1, 3), -3, 4), draw.pick(1, 3, 4)
    values = draw.values((2,), draw.pick(np.float32, np.int64))
    names = [draw.value(indices), draw.constant(np.array([depth], np.int64)), draw.constant(values)]
    draw.node(names, axis=draw.pick(None, int(draw.rng.integers(-1, indices.ndim + 1))))


@makes("ReverseSequence")
def reverse_sequence(draw: Draw) -> None:
    array = draw.floats(draw.shape(2, 4))
    time = draw.pick(0, 1)
    lengths = draw.integers((array.shape[1 - time],), 1, array.shape[time] + 1)
    draw.node([draw.value(array), operand(draw, lengths)], time_axis=time, batch_axis=1 - time)


@makes("Compress")
def compress(draw: Draw) -> None:
    array = moved(draw)
    axis = draw.pick(None, draw.axis(array.ndim))
    count = array.size if axis is None else array.shape[axis]
    draw.node([draw.value(array), draw.constant(draw.values((count,), np.bool_))], axis=axis)
