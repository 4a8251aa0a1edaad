"""The terms of the cost models of SVDF's and LSTM's kernels: by batches and steps, units, ranks and memories."""

from __future__ import annotations

from collections.abc import Callable

from tflmgen.kernels.costs.shapes import Shape, Terms, up

FILTERS_DSP, FILTERS_MVE, FILTERS_THUMB = 32, 64, 16
"""Of SVDF, whose newest activations are on the stack: TFLMGEN_SVDF_DSP_FILTERS and its neighbours."""

CELLS_DSP, CELLS_THUMB = 24, 4
"""Of an LSTM, whose sums are on the stack: TFLMGEN_LSTM_DSP_CELLS and its neighbour."""

WIDENED_DSP = 72
"""TFLMGEN_DOT_ROWS_STACK_STEPS."""


def chunks(count: int, most: int) -> list[int]:
    """`count` in parts of `most`, the last of which may have fewer."""
    return [min(most, count - first) for first in range(0, count, most)]


def _widened(times: int, length: int) -> Terms:
    """Rows that the DSP kernels widen: by sixteens, by fours, and what is left."""
    rest = length % 4
    return times * (length // 16), times * (length % 16 // 4), times * (rest > 0), times * rest


def _rows_dsp(times: int, groups: int, length: int) -> Terms:
    """Groups of four rows: steps of four values, unrolled by eight."""
    steps = up(length, 4)
    return times * groups, times * groups * steps, times * groups * up(steps, 8)


def svdf_dsp(shape: Shape) -> Terms:
    batches, units, rank, memory = shape["batches"], shape["units"], shape["rank"], shape["memory"]
    parts = chunks(units, FILTERS_DSP // rank & ~3)
    filters = batches * units * rank
    words = memory * (2 if shape["wide"] else 1) // 4
    groups = sum(up(part * rank, 4) for part in parts)
    rows = _rows_dsp(batches, groups, shape["inputs"])
    kind = [int(shape["by_values"] == by and shape["wide"] == wide) for by in (0, 1) for wide in (0, 1)]
    return (
        1,
        batches,
        *_widened(batches, shape["inputs"]),
        batches * len(parts),
        *rows,
        shape["offset"] * rows[0],
        batches * units,
        *(filters * one for one in kind),
        *(filters * (memory if by else words) * one for by, one in zip((0, 0, 1, 1), kind, strict=True)),
        batches * units * shape["by_values"],
    )


def svdf_mve(shape: Shape) -> Terms:
    """Groups of eight rows by 16 values; memories by 16 bytes; units by fours."""
    batches, units, rank, memory = shape["batches"], shape["units"], shape["rank"], shape["memory"]
    parts = chunks(units, FILTERS_MVE // rank & ~7)
    columns, filters, ranks = up(shape["inputs"], 16), batches * units * rank, int(rank > 1)
    eights = batches * sum(up(part * rank, 8) for part in parts)
    return (
        1,
        batches,
        batches * columns,
        batches * len(parts),
        eights,
        eights * columns,
        *_by_type(shape, filters),
        *_by_type(shape, filters * up(memory - 1, 8 if shape["wide"] else 16)),
        ranks * batches * units,
        ranks * filters,
        batches * sum(up(part, 4) for part in parts),
    )


def svdf_thumb(shape: Shape) -> Terms:
    batches, units, memory = shape["batches"], shape["units"], shape["memory"]
    filters = units * shape["rank"]
    parts = chunks(filters, FILTERS_THUMB)
    return (
        1,
        batches,
        *_copied(batches, shape["inputs"]),
        batches * len(parts),
        *_rows_thumb(batches, sum(up(part, 4) for part in parts), shape["inputs"]),
        batches * units,
        *_by_type(shape, batches * filters),
        *_by_type(shape, batches * filters * (memory - 1)),
    )


def _by_type(shape: Shape, count: int) -> Terms:
    """What is done to states of int8 or of int16."""
    return count * (1 - shape["wide"]), count * shape["wide"]


def _copied(times: int, length: int) -> Terms:
    """Rows that the Thumb kernels copy."""
    return times * length, times * (length % 2)


def _rows_thumb(times: int, groups: int, length: int) -> Terms:
    """Groups of four rows: steps of two values, unrolled by four."""
    steps = up(length, 2)
    return times * groups, times * groups * steps, times * groups * up(steps, 4)


def lstm_dsp(shape: Shape) -> Terms:
    """The sums of some cells at a time, all where they are in the arena."""
    times, inputs, cells = shape["batches"] * shape["steps"], shape["inputs"], shape["cells"]
    near = up(inputs, 4) + up(cells, 4) <= WIDENED_DSP
    parts = times * (up(cells, CELLS_DSP) if near else 1)
    widened = [a + b for a, b in zip(_widened(times, inputs), _widened(times, cells), strict=True)]
    of_input, of_h = _rows_dsp(times, cells, inputs), _rows_dsp(times, cells, cells)
    return (
        1,
        shape["batches"],
        times,
        *widened,
        parts,
        times * cells,
        *(a + b for a, b in zip(of_input[1:], of_h[1:], strict=True)),
        shape["offset"] * times * cells,
        int(shape["cell_clip"] > 0) * times * cells,
    )


def lstm_mve(shape: Shape) -> Terms:
    """Four cells at a time, whose rows come by eights."""
    times, fours = shape["batches"] * shape["steps"], up(shape["cells"], 4)
    of_input, of_h = up(shape["inputs"], 16), up(shape["cells"], 16)
    return (
        1,
        shape["batches"],
        times,
        times * (of_input + of_h),
        times * fours,
        times * fours * (of_input + of_h),
        int(shape["cell_clip"] > 0) * times * fours,
    )


def lstm_thumb(shape: Shape) -> Terms:
    times, inputs, cells = shape["batches"] * shape["steps"], shape["inputs"], shape["cells"]
    copied = [a + b for a, b in zip(_copied(times, inputs), _copied(times, cells), strict=True)]
    of_input, of_h = _rows_thumb(times, cells, inputs), _rows_thumb(times, cells, cells)
    return (
        1,
        shape["batches"],
        times,
        *copied,
        times * up(cells, CELLS_THUMB),
        times * cells,
        *(a + b for a, b in zip(of_input[1:], of_h[1:], strict=True)),
        int(shape["cell_clip"] > 0) * times * cells,
    )


RECURRENT: tuple[tuple[str, Callable[[Shape], Terms]], ...] = (
    (r"svdf_dsp", svdf_dsp),
    (r"svdf_mve", svdf_mve),
    (r"svdf_thumb", svdf_thumb),
    (r"lstm_dsp", lstm_dsp),
    (r"lstm_mve", lstm_mve),
    (r"lstm_thumb", lstm_thumb),
)
