"""refused_types.json is what LiteRT takes and tflmgen refuses now; `python tests/litert_types.py` writes it anew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from litert_types import ROWS, refused, trials
from support.type_trials import INDICES
from tflmgen.compiler import compile_model
from tflmgen.ir.kernel import Target
from tflmgen.options import BuildOptions, Validate

pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is the reference")

RECORDED = json.loads(ROWS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["ARG_MAX", "SQRT"])
def test_a_sample(name: str) -> None:
    assert refused({name}).get(name) == RECORDED.get(name)


CONSTANT_OPERANDS = {
    "BATCH_TO_SPACE_ND": {"i1", "i2", "i1+i2"},
    "MIRROR_PAD": {"i1"},
    "ONE_HOT": {"i1"},
    "RESHAPE": {"i1"},
    "SPACE_TO_BATCH_ND": {"i1", "i2", "i1+i2"},
    "SPLIT": {"i0"},
    "SPLIT_V": {"i1", "i2", "i1+i2"},
    "TRANSPOSE": {"i1"},
}


COUNTED_FROM_THE_END = {"RESHAPE", "SPLIT", "SPLIT_V"}
"""Operators whose cases have constants of -1 and less, which no unsigned type holds."""


@pytest.mark.parametrize("name", CONSTANT_OPERANDS)
def test_constant_integers_of_any_type_give_the_same_c(name: str, tmp_path: Path) -> None:
    def lines(model: bytes) -> list[str]:
        """The library's lines but for those that tell one file from another."""
        (tmp_path / "m.tflite").write_bytes(model)
        files = compile_model(tmp_path / "m.tflite", Target("host"), BuildOptions(validate=Validate.OFF)).sources.files
        text = [line for name in sorted(files) if name.endswith((".c", ".h")) for line in files[name].splitlines()]
        return [line for line in text if "_MODEL_SHA256" not in line and ".fingerprint = " not in line]

    # The cases themselves have int32.
    tried = {dtype for dtype in INDICES if dtype != "int32" and not (dtype[0] == "u" and name in COUNTED_FROM_THE_END)}
    types = set()
    for trial in trials({name}):
        if trial.group in CONSTANT_OPERANDS[name] and trial.dtype in tried and not trial.has_scales:
            types.add(trial.dtype)
            assert lines(trial.model) == lines(trial.before)
    assert types == tried


@pytest.mark.sweep
def test_every_operator() -> None:
    assert refused(set()) == RECORDED
