"""Rows that TensorFlow stores into variables are stored in place."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import tflmgen
from support.tensorflow_environment import VARIABLE, file_beside, interpreter, requires_tensorflow

pytestmark = [requires_tensorflow, pytest.mark.xdist_group("tensorflow")]

STORES = 6


def test_each_spelling_is_one_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, interpreter() or "")
    model = tmp_path / "caches.tflite"
    converted = tflmgen("convert", f"{file_beside('stored_row_programs.py')}:caches", "-o", model)
    assert converted.code == 0, converted.out + converted.err
    assert "Compared with TensorFlow" in converted.out
    plan = tflmgen("build", model, "--board", "host", "--no-compile", "--json", "-o", tmp_path / "project").json
    steps = [step for step in plan["steps"] if step["kind"] == "operator"]
    kernels = ("tflmgen_row_store", "tflmgen_update_slice_")
    stores = [step for step in steps if (step["kernel"] or "").startswith(kernels)]
    assert len(stores) == STORES
    assert not any("scatter" in (step["kernel"] or "") for step in steps)
    assert sum(copy["bytes"] for copy in plan["copies"]) == 0
