"""The cost models of kernels against what layers take that they were not fitted to: each within 3 %."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from kernel_costs import CHECK_SEED, FAMILIES, layers_of
from support.cost_samples import measure
from tflmgen.board import load_board
from tflmgen.ops.costs import CORES, estimate

pytestmark = [
    pytest.mark.emulator,
    pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="arm-none-eabi-gcc is not installed"),
    pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="qemu-system-arm is not installed"),
]

LAYERS = 16
WITHIN = 0.03

BY_DATA = {"add_thumb": 0.08}
"""Kernels of which results that saturate take fewer instructions, if no fewer cycles: how far off these may be."""

BOARDS = {"mps2_an385_m0": "_thumb", "mps2_an386": "_dsp", "mps3_an547": "_mve"}
"""The instruction set whose kernels are checked on each board."""

CHECKED = [
    (board, family)
    for board, instructions in BOARDS.items()
    for family in FAMILIES[CORES[load_board(board).core]]
    if instructions in family
]


@pytest.mark.parametrize(("board", "family"), CHECKED)
def test_estimates_are_near_counts(board: str, family: str, tmp_path: Path) -> None:
    layers = layers_of(family, np.random.default_rng(CHECK_SEED), LAYERS)
    samples = measure(family, board, layers, tmp_path, seed=1)
    assert len(samples) >= LAYERS // 2
    wrong = []
    for sample in samples:
        found = estimate(sample.kernel, load_board(board).core)
        assert found is not None
        errors = found.instructions / sample.instructions - 1, found.cycles / sample.cycles - 1
        if abs(errors[0]) > BY_DATA.get(family, WITHIN) or abs(errors[1]) > WITHIN:
            wrong.append((*errors, sample))
    assert not wrong
