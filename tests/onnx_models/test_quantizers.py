"""The quantiser beside ONNX Runtime's on random nets: not behind it, and nothing is lost without a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("onnxruntime", reason="ONNX Runtime's quantiser is what is compared with")

from quantizer_sweep import behind, measured, prepare

SAMPLE = (7, 9)
"""Nets with raw inputs: one with numbers around offsets, one with heads of two ranges in one output."""


def check(folder: Path, seed: int) -> None:
    prepare(folder, seed)
    record = measured(folder) | {"seed": seed}
    assert not behind([record])
    assert isinstance(record["tflmgen"], list)
    assert record["tflmgen"][1] > 15 or record["warned"]


@pytest.mark.parametrize("seed", SAMPLE)
def test_sample(seed: int, tmp_path: Path) -> None:
    check(tmp_path, seed)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(200))
def test_random_net(seed: int, tmp_path: Path) -> None:
    check(tmp_path, seed)
