"""Completion in bash, zsh and fish: the scripts, and what they are answered."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SHELLS = ("bash", "zsh", "fish")


def answer(line: str, shell: str) -> str:
    """What tflmgen prints when the shell asks for the completion of a line."""
    variables = {
        "_TFLMGEN_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split()) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    code = "import sys; sys.argv = ['tflmgen']; from tflmgen.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **variables}
    )
    return done.stdout


def script(shell: str) -> str:
    code = "import sys; sys.argv = ['tflmgen']; from tflmgen.cli import main; main()"
    variables = {**os.environ, "_TFLMGEN_COMPLETE": f"source_{shell}"}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=variables
    ).stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_options_and_boards(shell: str) -> None:
    assert "build" in answer("tflmgen bu", shell)
    assert "--optimize" in answer("tflmgen inspect --optim", shell)
    boards = answer("tflmgen bench --board mps2", shell)
    assert "mps2_an386" in boards
    assert "microbit" not in boards


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_ask_tflmgen(shell: str, tmp_path: Path) -> None:
    text = script(shell)
    assert f"_TFLMGEN_COMPLETE=complete_{shell}" in text
    program = shutil.which(shell)
    if program is not None:  # a shell that is there reads the script
        (tmp_path / "completion").write_text(text, encoding="utf-8")
        subprocess.run([program, "-n", str(tmp_path / "completion")], check=True)


def executable(folder: Path) -> Path:
    """A command `tflmgen` of these sources."""
    program = folder / "tflmgen"
    program.write_text(f"#!{sys.executable}\nfrom tflmgen.cli import main\n\nmain()\n", encoding="utf-8")
    program.chmod(0o755)
    return program


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes(tmp_path: Path) -> None:
    program = executable(tmp_path)
    lines = [
        script("bash"),
        "COMP_WORDS=(tflmgen insp) COMP_CWORD=1",
        f'_tflmgen_completion "{program}"',
        'echo "${COMPREPLY[@]}"',
    ]
    done = subprocess.run(["bash", "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert done.stdout == "inspect\n"


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_completes(tmp_path: Path) -> None:
    executable(tmp_path)
    (tmp_path / "completion").write_text(script("fish"), encoding="utf-8")
    line = f'source {tmp_path / "completion"}; complete -C "tflmgen insp"'
    variables = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    done = subprocess.run(["fish", "-c", line], capture_output=True, text=True, check=True, env=variables)
    assert done.stdout.split()[0] == "inspect"


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh_completes(tmp_path: Path) -> None:
    """In a terminal of its own: the Tab key after the begin of a command."""
    executable(tmp_path)
    (tmp_path / "completion").write_text(script("zsh"), encoding="utf-8")
    lines = [
        "zmodload zsh/zpty",
        "zpty shell zsh -f -i",
        f"""zpty -w shell "autoload -Uz compinit; compinit -u -D; source '{tmp_path}/completion'; print REA''DY" """,
        "zpty -r -m shell seen '*READY*'",
        "zpty -w -n shell $'tflmgen insp\\t'",
        "zpty -r -m shell seen '*inspect*'",
        'print -r -- "$seen"',
        "zpty -d shell",
    ]
    variables = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path), "TERM": "dumb"}
    command = ["zsh", "-f", "-c", "\n".join(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables, timeout=120)
    assert "tflmgen inspect" in done.stdout
