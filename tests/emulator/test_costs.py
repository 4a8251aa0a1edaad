"""The cost models of kernels against what layers take that they were not fitted to: most within 15 %."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from kernel_costs import CHECK_SEED, SPECIALISED, families_of, layers_of
from support.cost_samples import Measured, measure, side_by_side
from support.sampling import sampled
from support.tools import requires_compiler, requires_qemu
from tflmgen.architectures import core_named
from tflmgen.hardware.board import load_board
from tflmgen.kernels.costs.estimate import estimated

pytestmark = [pytest.mark.emulator, requires_compiler, requires_qemu]

WITHIN = 0.15
"""Relative error of 19 of 20 layers of a board."""

SLACK = 100
"""Cycles of a small layer that are nothing to choose by."""

LAYERS, LAYERS_ALONE = 5, 2
"""Of each family; of those in models of their own. With -m sweep, three times as many."""

BOARDS = {"mps2_an385_m0": ("_thumb",), "mps2_an386": ("_dsp", "_f32"), "mps3_an547": ("_mve",)}
"""What the families that are checked on each board have in their names."""


def models_of(families: Iterable[str], times: int) -> list[dict[str, Sequence[Measured]]]:
    """Models to build, with the layers of each family. Portable kernels, which are inlined, have a model for each
    family, those that compilers specialise one for each layer."""
    models: list[dict[str, Sequence[Measured]]] = []
    shared: dict[str, Sequence[Measured]] = {}
    for family in families:
        layers = layers_of(
            family, np.random.default_rng(CHECK_SEED), times * (LAYERS_ALONE if family in SPECIALISED else LAYERS)
        )
        if family in SPECIALISED:
            models += [{family: [layer]} for layer in layers]
        elif family.endswith("_f32"):
            models.append({family: layers})
        else:
            shared[family] = layers
    return [*models, *side_by_side(shared)]


@pytest.mark.parametrize("times", sampled([1, 3], 2))
@pytest.mark.parametrize("board", BOARDS)
def test_estimates_are_near_counts(board: str, times: int, tmp_path: Path) -> None:
    core, errors = load_board(board).core, []
    families = [name for name in families_of(core_named(core).costs) if any(kind in name for kind in BOARDS[board])]
    measured = [measure(model, board, tmp_path, seed=1) for model in models_of(families, times)]
    assert {sample.family for samples in measured for sample in samples} == set(families)
    for samples in measured:
        for sample in samples:
            cycles = estimated(sample.family, sample.numbers, core)
            assert cycles is not None
            missed = abs(cycles - sample.cycles)
            errors.append((0.0 if missed <= SLACK else missed / sample.cycles, sample.function))
    beyond = sorted((error for error in errors if error[0] > WITHIN), reverse=True)
    assert len(beyond) <= len(errors) // 20, beyond
