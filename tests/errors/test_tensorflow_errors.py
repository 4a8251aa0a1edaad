"""Sources of TensorFlow's that cannot be converted: a sentence, exit code 1, and no file. TensorFlow is not needed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.commands import tflmgen
from support.processes import survivors

VARIABLE = "TFLMGEN_TENSORFLOW"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    Path("net.pb").write_bytes(b"\x0a\x02\x0a\x00")
    Path("net.keras").write_bytes(b"PK\x05\x06" + bytes(18))
    Path("cut.keras").write_bytes(b"PK\x03\x04....")
    return tmp_path


def _stand_in(folder: Path, script: str) -> None:
    """A program in place of TensorFlow's interpreter."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    os.environ[VARIABLE] = str(path)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("none.keras", "none.keras: there is no such file"),
        ("text.keras", "text.keras: it is no Keras model: it is not a zip archive"),
        ("cut.keras", "cut.keras: it is no Keras model: it is not a zip archive, or not the whole of one"),
        ("text.h5", "text.h5: it is no Keras model: it is not an HDF5 file"),
        ("empty.pb", "empty.pb: the file is empty"),
        ("folder", "folder: it is a directory without a saved_model.pb"),
        ("model.py", "model.py: a Python file needs the name of a function. Give model.py:FUNCTION"),
        ("model.py:1+1", "'1+1' is no name of a function"),
    ],
)
def test_what_is_no_source_is_said_without_tensorflow(folder: Path, source: str, sentence: str) -> None:
    for name in ("text.keras", "text.h5", "model.py"):
        Path(name).write_text("text")
    Path("empty.pb").touch()
    Path("folder").mkdir()
    for words in (("convert", source), ("build", source, "--board", "host")):
        done = tflmgen(*words)
        assert (done.code, sentence in done.err) == (1, True), done.err
    assert not list(folder.glob("*.tflite"))


def test_options_of_other_sources_are_refused(folder: Path) -> None:
    for words, sentence in (
        (("net.keras", "--inputs", "x"), "--inputs and --outputs are for frozen graphs; net.keras is a Keras model"),
        (("net.pb", "--signature", "x"), "--signature is for SavedModels; net.pb is a frozen GraphDef"),
        (("net.pb", "--nhwc-inputs"), "--constant and --nhwc-inputs are for ONNX and PyTorch"),
    ):
        done = tflmgen("convert", *words)
        assert (done.code, sentence in done.err) == (2, True), done.err
    assert not list(folder.glob("*.tflite"))


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("kill -9 $$", "killed while it had to load it, probably for want of memory"),
        ("echo std::bad_alloc >&2; kill -6 $$", "TensorFlow had not enough memory to load it. Convert it on a machine"),
        ("kill -11 $$", "TensorFlow crashed (SIGSEGV) while it had to load it"),
        ("echo no space left >&2; exit 3", "ended while it had to load it: no space left"),
        ('read line; echo \'{"error": "it is no GraphDef", "advice": ""}\'', "net.pb: it is no GraphDef"),
        (f'exec {sys.executable} "$@"', "has no package tensorflow, which reading it needs. Install it: pip install"),
    ],
)
def test_how_the_process_ends_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, script: str, sentence: str
) -> None:
    monkeypatch.setenv(VARIABLE, "")
    _stand_in(folder, script)
    done = tflmgen("convert", "net.pb")
    assert (done.code, sentence in done.err) == (1, True), done.err
    assert not list(folder.glob("*.tflite"))


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        ("__version__ = '2.15.1'", "net.pb: TensorFlow is 2.15.1, but at least 2.16 is needed. Update it: pip install"),
        ("raise MemoryError", "net.pb: there is not enough memory for it"),
        ("class ResourceExhaustedError(Exception): pass\nraise ResourceExhaustedError", "there is not enough memory"),
        (
            "raise ImportError('READ THIS\\n\\na.so: failed to map segment from shared object')",
            "there is not enough memory",
        ),
    ],
)
def test_what_the_process_says_of_its_tensorflow(
    folder: Path, monkeypatch: pytest.MonkeyPatch, module: str, sentence: str
) -> None:
    (folder / "packages").mkdir()
    (folder / "packages" / "tensorflow.py").write_text(f"{module}\n")
    monkeypatch.setenv("PYTHONPATH", str(folder / "packages"))
    monkeypatch.setenv(VARIABLE, sys.executable)
    done = tflmgen("convert", "net.pb")
    assert (done.code, sentence in done.err) == (1, True), done.err
    assert "Traceback" not in done.err
    assert not list(folder.glob("*.tflite"))


def test_an_interpreter_that_is_absent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(folder / "nowhere"))
    done = tflmgen("convert", "net.pb")
    assert (done.code, "nowhere cannot be started: No such file or directory" in done.err) == (1, True)


def test_ctrl_c_ends_the_process_and_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    _stand_in(folder, f"echo $$ >{folder}/child; touch {folder}/started; exec sleep 60")
    (folder / "temporary").mkdir()
    environment = {**os.environ, "TMPDIR": str(folder / "temporary")}
    command = [sys.executable, "-m", "tflmgen", "convert", "net.pb"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment) as process:
        until = time.monotonic() + 60
        while not (folder / "started").exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, b"interrupted\n")
    assert not list((folder / "temporary").iterdir())
    assert not survivors([int((folder / "child").read_text())])
    assert not list(folder.glob("*.tflite"))
