"""Rows of padding that convolutions in blocks leave out: how many there are, and what they would add to sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.repository import ROOT
from tflmgen.compiler import compile_model
from tflmgen.hardware.board import load_board
from tflmgen.kernels.costs.term import Blocking
from tflmgen.kernels.costs.windows import Windows
from tflmgen.kernels.dsp.padding_rows import PaddingRows
from tflmgen.kernels.specification.window import Steps, Window
from tflmgen.options import BuildOptions, Optimize

BLOCKING = Blocking(3, 2, 4)


def rows_outside(window: Window) -> list[tuple[int, int]]:
    """By line of the output, how many rows of its windows lie above the input, and how many below it."""
    height, steps = window.height, window.steps
    lines = []
    for line in range(height.output):
        origin = line * steps.stride_height - height.padding
        taps = [origin + tap * steps.dilation_height for tap in range(window.taps[0])]
        lines.append((sum(tap < 0 for tap in taps), sum(tap >= window.input[1] for tap in taps)))
    return lines


def some_windows(count: int) -> list[Window]:
    rng = np.random.default_rng(5)
    windows: list[Window] = []
    while len(windows) < count:
        stride, dilation, taps = (tuple(map(int, rng.integers(1, above, 2))) for above in (4, 3, 6))
        top, left, batches, height, width = map(int, rng.integers((0, 0, 1, 1, 1), (4, 4, 3, 12, 12)))
        is_same = bool(rng.integers(2))
        before = (0, 0) if is_same else (top, left)
        steps = Steps(is_same, stride[0], stride[1], dilation[0], dilation[1], before, before[::-1])
        window = Window(steps, (batches, height, width, 16), (taps[0], taps[1]))
        if window.fits:
            windows.append(window)
    return windows


@pytest.mark.parametrize("window", some_windows(60))
def test_rows_are_counted(window: Window) -> None:
    lines = rows_outside(window)
    width, pixels = window.width.output, window.input[0] * len(lines) * window.width.output
    firsts = [first for first in range(0, pixels - 2, 3) if first % width + 3 <= width]
    cut = [lines[first // width % len(lines)] for first in firsts]
    skipped = sum(max(rows) for rows in cut if min(rows) == 0 and max(rows) < window.taps[0])
    numbers = {name: int(value) for name, value in (*window.fields(8), *window.dilation_fields)}
    assert Windows({**numbers, "skips_padding": 1}, BLOCKING, 16).skipped_rows == skipped
    assert Windows(numbers, BLOCKING, 16).skipped_rows == 0
    rows = PaddingRows.worth_skipping(window, 8, BLOCKING)
    if rows is not None:
        assert (rows.above, rows.below) == (lines[0][0], lines[-1][1])


@pytest.mark.parametrize(
    ("size", "taps", "channels", "is_worth"),
    [
        ((8, 8), (3, 3), 16, True),
        ((32, 32), (3, 3), 16, True),
        ((8, 8), (3, 3), 4, False),  # sums for edges would take 22 % of the weights
        ((8, 2), (3, 3), 16, False),  # no block of three pixels is in one line
        ((2, 8), (5, 3), 16, False),  # windows reach out above and below
        ((1, 8), (2, 3), 16, False),  # a line of a stream
    ],
)
def test_worth(size: tuple[int, int], taps: tuple[int, int], channels: int, is_worth: bool) -> None:
    window = Window(Steps(True, 1, 1), (1, *size, channels), taps)
    assert (PaddingRows.worth_skipping(window, 8, BLOCKING) is not None) == is_worth


def test_sums_begin_with_what_padding_adds() -> None:
    """Shifted pairs add 256 times the products, and 127 times the even weights (firmware/kernels/dsp.h)."""
    weights = np.random.default_rng(3).integers(-128, 128, (6, 3, 8))
    starts, padding = np.arange(6, dtype=np.uint32), -5
    sums = PaddingRows(2, 1).starts(weights, starts, padding)
    for case, rows in zip(sums, (slice(0, 1), slice(0, 2), slice(2, 3)), strict=True):
        left_out = weights[:, rows].reshape(6, -1)
        added = 256 * padding * left_out.sum(axis=1) + 127 * left_out[:, 0::2].sum(axis=1)
        assert ((case - (starts + added)) % 2**32 == 0).all()


def test_lines_of_a_stream_share_their_weights() -> None:
    target, model = load_board("mps2_an386").target, ROOT / "examples" / "gate.tflite"
    by_lines, whole = (
        compile_model(model, replace(target, optimize=optimize.value), BuildOptions(optimize=optimize)).plan["weights"]
        for optimize in (Optimize.RAM, Optimize.SPEED)
    )
    assert by_lines["bytes"] <= whole["bytes"]
