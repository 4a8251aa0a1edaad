"""action.yml: its steps after the installation do what it says, with the environment of a fresh shell."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.repository import ROOT
from support.tools import requires_compiler, requires_qemu

GATE = ROOT / "examples" / "gate"


def action() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    return dict(yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8")))


def run_step(name: str, folder: Path, values: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs a step as GitHub does, its expressions replaced by values."""
    (step,) = [step for step in action()["runs"]["steps"] if step["name"] == name]
    variables = {
        key: re.sub(r"\$\{\{ (.*?) \}\}", lambda match: values[match[1]], text) for key, text in step["env"].items()
    }
    path = f"{folder}/bin:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    environment = {"PATH": path, "HOME": str(folder), **variables}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_every_input_is_described_and_used() -> None:
    contents = action()
    used = re.findall(r"\$\{\{ inputs\.(\w+) \}\}", (ROOT / "action.yml").read_text(encoding="utf-8"))
    assert set(used) == set(contents["inputs"])
    assert all(described["description"] for described in contents["inputs"].values())
    assert contents["runs"]["using"] == "composite"
    assert all(step["shell"] == "bash" and "${{" not in step["run"] for step in contents["runs"]["steps"])


@pytest.mark.emulator
@requires_compiler
@requires_qemu
def test_the_steps(tmp_path: Path) -> None:
    values = {"inputs.model": f"{GATE}.tflite", "inputs.board": "mps2_an386", "inputs.vectors": f"{GATE}.npz"}
    tested = run_step("Test", tmp_path, values)
    assert tested.returncode == 0, tested.stderr
    assert (tmp_path / "tflmgen-test.xml").is_file()
    bench = json.loads((tmp_path / "tflmgen-bench.json").read_text(encoding="utf-8"))
    none = run_step("Compare", tmp_path, {"inputs.baseline": "", "inputs.allow": "all=0%"})
    assert (none.returncode, none.stdout) == (0, "No baseline: nothing is compared\n")
    bench["per_invoke"]["worst"]["instructions"] -= 100
    (tmp_path / "main.json").write_text(json.dumps(bench), encoding="utf-8")
    grown = run_step("Compare", tmp_path, {"inputs.baseline": "main.json", "inputs.allow": "all=0%"})
    assert grown.returncode == 1, grown.stdout
    allowed = run_step("Compare", tmp_path, {"inputs.baseline": "main.json", "inputs.allow": "instructions=50%"})
    assert allowed.returncode == 0, allowed.stderr
    (tmp_path / "bin").mkdir()
    gh = tmp_path / "bin" / "gh"
    gh.write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
    gh.chmod(0o755)
    comment = run_step("Comment", tmp_path, {"github.token": "t", "github.event.number": "7"})
    assert comment.stdout.startswith("pr comment 7 --body-file tflmgen-diff.md"), comment.stderr
    assert "instructions" in (tmp_path / "tflmgen-diff.md").read_text(encoding="utf-8")
