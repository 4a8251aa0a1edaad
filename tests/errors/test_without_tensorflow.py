"""A source of TensorFlow's where TensorFlow is absent: what to install is said, with exit code 1 and no file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.commands import tflmgen
from tflmgen.conversion import tensorflow_process

INSTALL = "Install it: pip install 'tflmgen[tensorflow]', or set TFLMGEN_TENSORFLOW to a Python that has it"


@pytest.fixture(autouse=True)
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that looks like a Keras model as long as nobody opens it."""
    monkeypatch.chdir(tmp_path)
    Path("net.keras").write_bytes(b"PK\x05\x06" + bytes(18))


def _refused(*words: str) -> str:
    result = tflmgen(*words)
    assert result.code == 1
    assert "Traceback" not in result.err
    assert [path.name for path in Path().iterdir() if path.name != "python"] == ["net.keras"]
    return " ".join(result.err.split())


@pytest.mark.parametrize("words", [("convert", "net.keras"), ("build", "net.keras", "--board", "host")])
def test_absent_from_this_python(monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    monkeypatch.delenv(tensorflow_process.INTERPRETER, raising=False)
    monkeypatch.setattr(tensorflow_process, "find_spec", lambda _: None)
    message = _refused(*words)
    assert "net.keras: reading it needs the package tensorflow, which is not installed" in message
    assert INSTALL in message


def test_objects_of_keras_are_for_keras_files_and_must_be_there() -> None:
    absent = tflmgen("convert", "net.keras", "--keras-objects", "cells.py")
    assert (absent.code, "--keras-objects cells.py: there is no such file" in absent.err) == (2, True)
    Path("graph.pb").write_bytes(b"any")
    other = tflmgen("convert", "graph.pb", "--keras-objects", "cells.py")
    assert (other.code, "--keras-objects is for Keras files" in other.err) == (2, True)


@pytest.mark.parametrize("command", ["build", "inspect", "run", "test", "bench", "quantize"])
def test_each_command_takes_objects_of_keras_and_checks_them(command: str) -> None:
    words = {
        "quantize": ("--calibration", "cal.npz"),
        "run": ("--board", "host", "--inputs", "in.npz", "--outputs", "out.npz"),
    }
    options = words.get(command, ("--board", "host"))
    absent = tflmgen(command, "net.keras", *options, "--keras-objects", "cells.py")
    assert (absent.code, "--keras-objects cells.py: there is no such file" in absent.err) == (2, True), absent.err
    other = tflmgen(command, "net.tflite", *options, "--keras-objects", "cells.py")
    assert (other.code, "--keras-objects is for Keras files" in other.err) == (2, True), other.err


def test_absent_from_the_python_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python with the standard library only."""
    Path("python").write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    Path("python").chmod(0o755)
    monkeypatch.setenv(tensorflow_process.INTERPRETER, str(Path("python").resolve()))
    message = _refused("convert", "net.keras")
    assert "has no package tensorflow, which reading it needs" in message
    assert INSTALL in message


def test_the_python_that_is_named_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tensorflow_process.INTERPRETER, str(Path("python").resolve()))
    message = _refused("convert", "net.keras")
    assert "cannot be started: No such file or directory" in message
    assert INSTALL in message
