"""Set-up on stand-ins for programs: what .ci/setup asks Debian for, and when .ci/fresh-machine has tried nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.repository import ROOT

SETUP = ROOT / ".ci" / "setup"
FRESH_MACHINE = ROOT / ".ci" / "fresh-machine"


def program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


def run(command: Path, *words: str, path: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": path}
    bash = shutil.which("bash")
    assert bash is not None
    return subprocess.run([bash, command, *words], env=environment, capture_output=True, text=True, check=False)


def asked_for(tmp_path: Path, clang: str, *words: str) -> list[str]:
    """What set-up calls apt-get with where every program is there, and where clang does this."""
    copy, tools = tmp_path / ".ci" / "setup", tmp_path / "tools"
    copy.parent.mkdir()
    shutil.copy(SETUP, copy)
    for name in {"python3", *re.findall(r"^ *need ([\w+-]+)", SETUP.read_text(encoding="utf-8"), re.MULTILINE)}:
        program(tools / name, "exit 0")
    program(tools / "clang", clang)
    program(tools / "id", "echo 1000")
    program(tools / "sudo", 'exec "$@"')
    program(tools / "apt-get", f'echo "$@" >>{tmp_path}/asked')
    program(tmp_path / ".venv" / "bin" / "python", "exit 0")
    done = run(copy, *words, path=f"{tools}{os.pathsep}{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr
    asked = tmp_path / "asked"
    return asked.read_text(encoding="utf-8").splitlines() if asked.exists() else []


def test_nothing_is_installed_where_nothing_is_missing(tmp_path: Path) -> None:
    assert asked_for(tmp_path, "echo 14.0.6", "dev,oracles") == []


def test_a_compiler_that_does_not_link_gets_the_library_of_its_version(tmp_path: Path) -> None:
    clang = "case $1 in -dumpversion) echo 19.1.7 ;; *) exit 1 ;; esac"
    update, install = asked_for(tmp_path, clang, "dev,oracles")
    assert update == "-qq update"
    assert install.endswith(" libclang-rt-19-dev")


def test_libraries_of_tests_are_for_those_who_work_on_it(tmp_path: Path) -> None:
    assert asked_for(tmp_path, "exit 1") == []


def fresh_machine(tmp_path: Path, tools: dict[str, str]) -> subprocess.CompletedProcess[str]:
    for name, script in tools.items():
        program(tmp_path / "tools" / name, script)
    return run(FRESH_MACHINE, path=f"{tmp_path / 'tools'}{os.pathsep}{os.environ['PATH']}")


def test_no_empty_debian_without_its_maker(tmp_path: Path) -> None:
    for name in ("dirname", "grep"):
        path = shutil.which(name)
        assert path is not None
        program(tmp_path / name, f'exec {path} "$@"')
    done = run(FRESH_MACHINE, path=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Nothing was tried: no empty Debian can be made here: mmdebstrap is not installed\n"


def test_no_empty_debian_where_mounting_is_forbidden(tmp_path: Path) -> None:
    done = fresh_machine(tmp_path, {"mmdebstrap": "exit 0", "unshare": "exit 1"})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Nothing was tried: no empty Debian can be made here: mounting is not permitted\n"


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("exit 0", 0),
        ('echo "tried as user"; echo "tried as root"; exit 1', 1),
        ("echo 'E: no network'; exit 1", 2),
    ],
    ids=["passed", "failed", "not tried"],
)
def test_the_exit_code_tells_failed_from_not_tried(
    script: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("needs a git work tree")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    done = fresh_machine(tmp_path, {"mmdebstrap": script, "unshare": "exit 0"})
    assert done.returncode == code, done.stderr
    assert ("no network" in done.stderr) == (code == 2)
