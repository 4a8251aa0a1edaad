"""The cost models of kernels against what layers take that they were not fitted to."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from kernel_costs import layers_of
from support.cost_samples import measure
from tflmgen.board import load_board
from tflmgen.ops.costs import estimate

pytestmark = [
    pytest.mark.emulator,
    pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="arm-none-eabi-gcc is not installed"),
    pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="qemu-system-arm is not installed"),
]

CHECKED = [
    ("mps2_an385_m0", "conv2d_thumb"),
    ("mps2_an385_m0", "depthwise_thumb_3x3"),
    ("mps2_an385_m0", "fully_connected_thumb_copied"),
    ("mps2_an386", "conv2d_dsp"),
    ("mps2_an386", "depthwise3x3_dsp"),
    ("mps2_an386", "depthwise3x3_pairs_dsp"),
    ("mps2_an386", "depthwise_window_dsp"),
    ("mps2_an386", "depthwise_nine_dsp"),
    ("mps2_an386", "fully_connected_dsp_widened"),
    ("mps3_an547", "conv2d_mve"),
    ("mps3_an547", "depthwise_window_mve"),
    ("mps3_an547", "depthwise_squares_mve"),
    ("mps3_an547", "depthwise_half_line_mve"),
    ("mps3_an547", "fully_connected_mve"),
]


@pytest.mark.parametrize(("board", "family"), CHECKED)
def test_estimates_are_near_counts(board: str, family: str, tmp_path: Path) -> None:
    samples = measure(family, board, layers_of(family, np.random.default_rng(99), 12), tmp_path, seed=1)
    assert len(samples) >= 8
    errors = []
    for sample in samples:
        found = estimate(sample.kernel, load_board(board).core)
        assert found is not None
        errors += [found.instructions / sample.instructions - 1, found.cycles / sample.cycles - 1]
    assert np.abs(errors).mean() <= 0.03, errors
    assert np.abs(errors).max() <= 0.15, errors
