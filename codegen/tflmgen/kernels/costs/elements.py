"""Terms of cost models (estimate.py): how often the loops of kernels without weights run."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from tflmgen.kernels.costs.shapes import Shape, Terms, axis, clamped, up, windows
from tflmgen.kernels.numeric.strides import MAX_RANK


def _steps(count: int, step: int) -> tuple[int, ...]:
    """Elements `step` at a time, and the rest one by one."""
    return (count,) if step == 1 else (count // step, count % step)


def _clamp(shape: Shape, count: int, step: int) -> Terms:
    """Clamping `count` results, a pass of its own, beyond int8's range."""
    wanted = int(shape["least"] > -128 or shape["greatest"] < 127)
    return wanted, *(wanted * number for number in _steps(count, step))


def elements(step: int, clamp_step: int) -> Callable[[Shape], Terms]:
    """Tensors of one shape, `step` elements at a time, the rest one by one; clamped by `clamp_step` afterwards."""

    def terms(shape: Shape) -> Terms:
        found = _steps(shape["count"], step)
        apart = (number * (shape["signed"] == signed) for signed in (0, 1) for number in found)
        return 1, *apart, *_clamp(shape, shape["count"], clamp_step)

    return terms


def _nest(shape: Shape) -> tuple[int, int, int]:
    """Rows, their elements, and how often a loop over rows begins anew (nest.h)."""
    extents = [shape[f"extent{loop}"] for loop in range(MAX_RANK)][: shape["rank"]]
    rows = prod(extents[:-1])
    return rows, extents[-1], sum(prod(extents[:loop]) for loop in range(len(extents) - 1))


def rows(both: int, one: int, clamp_step: int, signs: tuple[int, ...] = (0, 1)) -> Callable[[Shape], Terms]:
    """Rows of two inputs, `both` elements at a time, or those of one of them by an element of the other, `one` at a
    time. Signed kernels, if there are any, are compiled apart."""

    def terms(shape: Shape) -> Terms:
        number, count, restarts = _nest(shape)
        first, second = (shape[f"stride{which}{shape['rank'] - 1}"] == 0 for which in (1, 2))
        kind = 1 if second else 2 if first else 0
        found: list[float] = [1, number, restarts]
        for signed in signs:
            for which, step in enumerate((both, one, one)):
                of_kind = number * (shape["signed"] == signed and kind == which)
                found += [of_kind, *(of_kind * passes for passes in _steps(count, step))]
                found += [of_kind * (count % step > 0)] * (step > 1)
        return *found, *_clamp(shape, number * count, clamp_step)

    return terms


def portable_rows(shape: Shape) -> Terms:
    number, count, restarts = _nest(shape)
    return 1, number, restarts, number * count


def table(shape: Shape) -> Terms:
    """16 elements at a time, fewer in the last pass."""
    return 1, up(shape["elements"], 16)


def portable_average(shape: Shape) -> Terms:
    """Kernels for which padding counts are compiled apart."""
    w, channels = windows(shape), shape["input_channels"]
    found = w.pixels, w.pixels * channels, w.rows * channels, w.taps * channels
    return 1, *((shape["zeros"] == zeros) * number for zeros in (0, 1) for number in found)


def average_dsp(shape: Shape) -> Terms:
    """Fours of channels, and the rest one by one; rows of windows that lie inside, those as wide as the input being one
    row; pixels of them, by four and alone. Kernels for which padding counts are compiled apart."""
    w, (fours, rest) = windows(shape), divmod(shape["input_channels"], 4)
    first, lines, *pixels = _pixels(shape)
    heights, widths = axis(shape, "height").inside[:, None], axis(shape, "width").inside[None, :]
    whole = widths == shape["input_width"]
    rows = np.where(whole, 1, heights)
    quads, alone = np.divmod(np.where(whole, heights * widths, widths), 4)
    each = (1, quads > 0, quads, alone > 0, alone)
    number, *passes = (shape["batches"] * int((rows * n).sum()) for n in each)
    loops = (
        *(n * fours for n in (w.pixels, number, *passes)),
        *(n * rest for n in (w.pixels, number, w.taps)),
    )
    apart = ((shape["zeros"] == zeros) * number for zeros in (0, 1) for number in (*pixels[:2], *loops))
    return first, lines, *pixels[2:], *apart, clamped(shape) * w.pixels * shape["input_channels"]


def max_dsp(shape: Shape) -> Terms:
    """Fours of channels, of windows of two by two pixels in one piece; the rest one by one."""
    w, (fours, rest) = windows(shape), divmod(shape["input_channels"], 4)
    y, x = axis(shape, "height"), axis(shape, "width")
    small = shape["batches"] * int((y.inside == 2).sum()) * int((x.inside == 2).sum())
    # Where padding counts, windows that have some are clamped by it.
    limited = w.pixels if clamped(shape) else shape["zeros"] * w.cut * (shape.get("zero", -128) > -128)
    return (
        *_pixels(shape),
        w.pixels * fours,
        small * fours,
        (w.rows - 2 * small) * fours,
        (w.taps - 4 * small) * fours,
        limited * fours,
        w.pixels * rest,
        w.rows * rest,
        w.taps * rest,
    )


def _pixels(shape: Shape) -> Terms:
    """What it takes to find a window, and padding that counts."""
    w, zeros = windows(shape), shape["zeros"]
    outside = w.pixels * shape["filter_height"] * shape["filter_width"] - w.taps
    return 1, shape["batches"] * shape["output_height"], w.pixels, w.cut, zeros * w.pixels, zeros * outside


def average_mve(shape: Shape) -> Terms:
    """Blocks of 32 channels, then of 8."""
    w, (large, rest) = windows(shape), divmod(shape["input_channels"], 32)
    small = up(rest, 8)
    return (
        *_pixels(shape),
        w.pixels * large,
        w.rows * large,
        w.taps * large,
        w.pixels * small,
        w.rows * small,
        w.taps * small,
    )


def max_mve(shape: Shape) -> Terms:
    """Blocks of 16 channels."""
    w, blocks = windows(shape), up(shape["input_channels"], 16)
    return *_pixels(shape), w.pixels * blocks, w.rows * blocks, w.taps * blocks
