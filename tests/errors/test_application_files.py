"""What an application's file may not name: code."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import tflmgen


def test_an_application_runs_no_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text("import torch\nopen('ran', 'w')\ndef make(): pass\n")
    stage, port = '[stage.net]\nmodel = "net.py:make"\ninput = "x"\n', '[input.x]\ntype = "int8"\nshape = [1]\n'
    Path("app.toml").write_text(stage + port)
    finished = tflmgen("inspect", "app.toml")
    assert finished.code == 1
    assert "is Python code, which an application does not run" in finished.err
    assert not Path("ran").exists()
