"""The terms of the cost models of float32 kernels on cores with a floating-point unit (firmware/kernels/rows_f32.h)."""

from __future__ import annotations

from collections.abc import Callable

from tflmgen.kernels.costs.shapes import Shape, Terms, axis, up, windows

ROWS = 4
"""TFLMGEN_ROWS_F32."""

LANES = 8
"""TFLMGEN_LANES_F32."""

FILTERS = 32
"""TFLMGEN_SVDF_F32_FILTERS."""


def _added(*terms: Terms) -> Terms:
    return tuple(sum(column) for column in zip(*terms, strict=True))


def _rows(times: float, rows: int, planes: float, runs: float, eights: float, ones: float) -> Terms:
    """`times` vectors with `rows` of weights, four at a time, or one by one where there are fewer.

    planes, runs, eights, ones: of all vectors together, a row's planes, runs of columns that lie side by side, eights
    of columns in them, and columns that are left.
    """
    groups, alone = (up(rows, ROWS), 0) if rows >= ROWS else (0, rows)
    parts = planes, runs, eights, ones
    return (
        times,
        times * groups,
        *(groups * part for part in parts),
        times * alone,
        alone * planes,
        alone * runs,
        alone * (8 * eights + ones),
    )


def _matrix(times: float, rows: int, length: int) -> Terms:
    return _rows(times, rows, times, times, times * (length // 8), times * (length % 8))


def _clamped(shape: Shape, times: float, count: int) -> Terms:
    """Rows of results: a sum of all where there is no limit, a pass for a lower limit, and one for an upper one."""
    passes = int(not shape["rectified"] and not shape["limited"]), int(shape["rectified"] and not shape["limited"])
    loops = *(times * one for one in passes), times * shape["limited"]
    return (
        *loops,
        *(one * (count // 4) for one in loops[:2]),
        *(one * (count % 4) for one in loops[:2]),
        loops[2] * count,
    )


def conv_float(shape: Shape) -> Terms:
    """Windows gathered, or where they are: a run of columns per line, or per tap of a dilated or grouped window."""
    y, x, w = axis(shape, "height"), axis(shape, "width"), windows(shape)
    batches, tap = shape["batches"], shape["filter_channels"]
    groups = shape["input_channels"] // tap
    rows, size = shape["output_channels"] // groups, shape["filter_height"] * shape["filter_width"] * tap
    gathered, contiguous = shape["gathered"], shape["dilation_width"] == 1 and groups == 1
    seen = batches * int((y.inside > 0).sum()) * int((x.inside > 0).sum())
    if gathered:
        called = _matrix(w.pixels, rows, size)
    elif contiguous:
        columns = x.inside * tap
        lines = batches * int(y.inside.sum())
        eights, ones = lines * int((columns // 8).sum()), lines * int((columns % 8).sum())
        called = _rows(w.pixels, rows, seen, lines * int((x.inside > 0).sum()), eights, ones)
    else:
        called = _rows(w.pixels, rows, w.rows, w.taps, w.taps * (tap // 8), w.taps * (tap % 8))
    copies = gathered * groups * w.pixels
    return (
        1,
        batches * shape["output_height"],
        w.pixels,
        *(groups * term for term in called),
        copies,
        copies * shape["filter_height"],
        copies * shape["filter_height"] * shape["filter_width"],
        copies * size,
        gathered * groups * w.taps * tap,
        *_clamped(shape, w.pixels, shape["output_channels"]),
    )


def depthwise_float(shape: Shape) -> Terms:
    """Eight channels at a time where each sees one input channel or all the same, others one by one."""
    y, x, w = axis(shape, "height"), axis(shape, "width"), windows(shape)
    channels, multiplier = shape["output_channels"], shape["output_channels"] // shape["input_channels"]
    lanes = channels // LANES if multiplier == 1 or multiplier % LANES == 0 else 0
    rest = channels - LANES * lanes
    seen = shape["batches"] * int((y.inside > 0).sum()) * int((x.inside > 0).sum())
    lines = shape["batches"] * int(y.inside.sum()) * int((x.inside > 0).sum())
    one = int(multiplier > 1)
    return (
        1,
        shape["batches"] * shape["output_height"],
        w.pixels,
        seen * lanes * (1 - one),
        lines * lanes * (1 - one),
        w.taps * lanes * (1 - one),
        seen * lanes * one,
        lines * lanes * one,
        w.taps * lanes * one,
        w.pixels * rest,
        lines * rest,
        w.taps * rest,
        shape["limited"] * w.pixels,
        shape["limited"] * w.pixels * channels,
    )


def matrix_float(shape: Shape) -> Terms:
    batches, units = shape["batches"], shape["units"]
    return (1, *_matrix(batches, units, shape["depth"]), *_clamped(shape, batches, units))


def svdf_float(shape: Shape) -> Terms:
    batches, units, rank, memory = shape["batches"], shape["units"], shape["rank"], shape["memory"]
    filters = units * rank
    counts = [min(FILTERS, filters - first) for first in range(0, filters, FILTERS)]
    called = _added(*(_matrix(batches, count, shape["inputs"]) for count in counts))
    return (
        1,
        batches,
        *called,
        batches * units,
        batches * filters,
        batches * filters * memory,
    )


def lstm_float(shape: Shape) -> Terms:
    """Without peepholes, normalisation and projection, which cost more."""
    times, cells = shape["batches"] * shape["steps"], shape["cells"]
    rows = (3 if shape["coupled"] else 4) * cells
    called = _added(_matrix(times, rows, shape["inputs"]), _matrix(times, rows, shape["outputs"]))
    return 1, shape["batches"], *called, times * cells * (1 - shape["coupled"]), times * cells * shape["coupled"]


FLOATS: tuple[tuple[str, Callable[[Shape], Terms]], ...] = (
    (r"conv2d_f32", conv_float),
    (r"depthwise_conv2d_f32", depthwise_float),
    (r"fully_connected_f32", matrix_float),
    (r"svdf_f32", svdf_float),
    (r"lstm_f32", lstm_float),
)
