"""The cost models of kernels against what layers take that they were not fitted to: most within 15 %."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kernel_costs import CHECK_SEED, SPECIALISED, families_of, layers_of
from support.cost_samples import measure
from support.tools import requires_compiler, requires_qemu
from tflmgen.kernels.costs.estimate import CORES, estimated
from tflmgen.project.board import load_board

pytestmark = [pytest.mark.emulator, requires_compiler, requires_qemu]

WITHIN = 0.15
"""Relative error of 19 of 20 layers of a board."""

SLACK = 100
"""Cycles of a small layer that are nothing to choose by."""

LAYERS, LAYERS_ALONE = 12, 3
"""Of each family; of those in models of their own."""

BOARDS = {"mps2_an385_m0": ("_thumb",), "mps2_an386": ("_dsp", "_f32"), "mps3_an547": ("_mve",)}
"""What the families that are checked on each board have in their names."""


@pytest.mark.parametrize("board", BOARDS)
def test_estimates_are_near_counts(board: str, tmp_path: Path) -> None:
    core, errors = load_board(board).core, []
    for family in families_of(CORES[core]):
        if not any(kind in family for kind in BOARDS[board]):
            continue
        alone = family in SPECIALISED
        layers = layers_of(family, np.random.default_rng(CHECK_SEED), LAYERS_ALONE if alone else LAYERS)
        models = [[layer] for layer in layers] if alone else [layers]
        samples = [sample for model in models for sample in measure([family], board, model, tmp_path, seed=1)]
        assert samples, family
        for sample in samples:
            cycles = estimated(sample.family, sample.numbers, core)
            assert cycles is not None
            missed = abs(cycles - sample.cycles)
            errors.append((0.0 if missed <= SLACK else missed / sample.cycles, sample.function))
    beyond = sorted((error for error in errors if error[0] > WITHIN), reverse=True)
    assert len(beyond) <= len(errors) // 20, beyond
