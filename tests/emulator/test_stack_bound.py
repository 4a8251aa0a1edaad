"""The stack's worst case against what an invoke uses, painted and measured in an emulated board."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import tflmgen
from support.repository import ROOT
from support.tools import requires_compiler, requires_qemu

pytestmark = [
    pytest.mark.emulator,
    requires_compiler,
    requires_qemu,
]


@pytest.mark.parametrize("board", ["mps2_an386", "mps2_an385_m0"])
def test_the_worst_case_bounds_what_is_measured(board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = ROOT / "examples" / "gate.tflite"
    worst = tflmgen("build", model, "--board", board, "--json").json["firmware"]["stack_worst_case"]
    measured = tflmgen("bench", model, "--board", board, "--json").json["stack_bytes"]
    assert measured <= worst <= 2 * measured + 64
