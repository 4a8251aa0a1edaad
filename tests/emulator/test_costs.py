"""The cost models of kernels against what layers take that they were not fitted to: within 3 %."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from kernel_costs import CHECK_SEED, layers_of
from support.cost_families import FAMILIES, SPECIALISED
from support.cost_samples import LSTM, Layer, Sample, measure
from support.tools import requires_compiler, requires_qemu
from tflmgen.kernels.costs.estimate import CORES, estimate
from tflmgen.project.board import load_board

pytestmark = [
    pytest.mark.emulator,
    requires_compiler,
    requires_qemu,
]

LAYERS = 48
WITHIN, MOST = 0.03, 0.05
"""Of 20 layers 19, and every one."""

SLACK = 60
"""Instructions or cycles of a small layer that are nothing to choose by."""

BY_DATA = {"add_thumb": 0.1, "add_rows_thumb": 0.15}
"""Kernels of which results that saturate take other instructions, if as many cycles: how far off the former may be."""

FEW = 12
"""Of those in models of their own."""

BOARDS = {"mps2_an385_m0": ("_thumb",), "mps2_an386": ("_dsp", "_f32"), "mps3_an547": ("_mve", "_f32")}
"""What the families that are checked on each board have in their names: an instruction set, or float32, of which
products and sums are instructions of their own on a Cortex-M4, and one instruction on a Cortex-M55."""

CHECKED = [
    (board, family)
    for board, names in BOARDS.items()
    for family in FAMILIES[CORES[load_board(board).core]]
    if any(name in family for name in names)
]


@pytest.mark.parametrize(("board", "family"), CHECKED)
def test_estimates_are_near_counts(board: str, family: str, tmp_path: Path) -> None:
    count = FEW if family in SPECIALISED else LAYERS
    layers = layers_of(family, np.random.default_rng(CHECK_SEED), count)
    models = [[one] for one in layers] if family in SPECIALISED else [layers]
    samples = [sample for model in models for sample in measure(family, board, model, tmp_path, seed=1)]
    assert len(samples) >= count // 2
    _check(samples, board, family)


@pytest.mark.parametrize(
    ("board", "family"),
    [
        ("mps2_an385_m0", "conv2d_thumb"),
        ("mps2_an385_m0", "fully_connected_thumb_copied"),
        ("mps2_an386", "conv2d_dsp"),
        ("mps2_an386", "depthwise_window_dsp"),
        ("mps2_an386", "fully_connected_dsp_widened"),
        ("mps3_an547", "conv2d_mve"),
        ("mps3_an547", "depthwise_line_mve"),
    ],
)
def test_outputs_that_are_clamped(board: str, family: str, tmp_path: Path) -> None:
    layers = [one for one in layers_of(family, np.random.default_rng(CHECK_SEED), LAYERS) if isinstance(one, Layer)]
    samples = measure(family, board, [replace(one, relu=True, six=True) for one in layers], tmp_path, seed=1)
    samples = [one for one in samples if one.kernel.params and ("output_max", 127) not in one.kernel.params.fields]
    assert len(samples) >= LAYERS // 4
    _check(samples, board, family)


def _check(samples: Sequence[Sample], board: str, family: str) -> None:
    errors = []
    for sample in samples:
        found = estimate(sample.kernel, load_board(board).core)
        assert found is not None
        missed = abs(found.instructions - sample.instructions), abs(found.cycles - sample.cycles)
        by_data = missed[0] <= BY_DATA.get(family, 0) * sample.instructions
        errors += [
            0.0 if by_data or missed[0] <= SLACK else missed[0] / sample.instructions,
            0.0 if missed[1] <= SLACK else missed[1] / sample.cycles,
        ]
    assert max(errors) <= MOST
    assert sum(error > WITHIN for error in errors) <= len(errors) // 20


ALONE = {
    "depthwise3x3_pairs_dsp": Layer("DEPTHWISE_CONV_2D", (25, 5), 16, (3, 3)),
    "depthwise3x3_dsp": Layer("DEPTHWISE_CONV_2D", (12, 10), 8, (3, 3), relu=False),
    "lstm_dsp": Layer(LSTM, (1, 5), 28, outputs=20),
    "fully_connected_f32": Layer("FULLY_CONNECTED", (1, 1), 64, outputs=32, dtype="float32"),
}


@pytest.mark.parametrize("family", ALONE)
def test_estimates_hold_for_one_layer(family: str, tmp_path: Path) -> None:
    """Of which a compiler knows all parameters."""
    board = "mps2_an386"
    (sample,) = measure(family, board, [ALONE[family]], tmp_path)
    found = estimate(sample.kernel, load_board(board).core)
    assert found is not None
    assert abs(found.instructions - sample.instructions) <= WITHIN * sample.instructions
    assert abs(found.cycles - sample.cycles) <= WITHIN * sample.cycles
