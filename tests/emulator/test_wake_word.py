"""examples/wake_word from a WAV file to its decisions, on an emulated board; espeak-ng speaks."""

from __future__ import annotations

import runpy
import shutil
import sys
import wave
from pathlib import Path

import pytest
from support.commands import tflmgen
from support.repository import ROOT
from support.tools import requires_compiler, requires_qemu
from tflmgen.applications import read_program
from tflmgen.compiler import compile_model
from tflmgen.hardware import board_for
from tflmgen.options import BuildOptions

EXAMPLE = ROOT / "examples" / "wake_word"
BOARD = "mps2_an386"
COUNTED = 0.9
"""Seconds whose instructions are counted: a third of them with speech."""
MAX_INSTRUCTIONS = 10_500_000
"""Of a second of sound: a tenth more than were counted."""

requires_espeak = pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="needs espeak-ng, which speaks the WAV")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("app.toml", "vad.tflite", "kws.tflite"):
        shutil.copy(EXAMPLE / name, tmp_path)
    monkeypatch.syspath_prepend(str(EXAMPLE))
    runpy.run_path(str(EXAMPLE / "make_wav.py"))["make"](tmp_path)
    sys.modules.pop("speech", None)
    return tmp_path


@requires_espeak
@pytest.mark.emulator
@requires_compiler
@requires_qemu
def test_the_word_is_heard_and_no_other(folder: Path) -> None:
    words = ("--board", BOARD, "--vectors", folder / "wake_word.wav", "--expect", folder / "expected.csv")
    finished = tflmgen("test", folder / "app.toml", *words, "--json")
    assert finished.code == 0, finished.err
    assert [check["result"] for check in finished.json["checks"]] == ["ok", "ok"]


@requires_espeak
@pytest.mark.emulator
@requires_compiler
@requires_qemu
def test_what_a_second_of_sound_takes(folder: Path) -> None:
    with wave.open(str(folder / "wake_word.wav")) as whole, wave.open(str(folder / "part.wav"), "wb") as part:
        part.setparams(whole.getparams())
        part.writeframes(whole.readframes(int(COUNTED * whole.getframerate())))
    finished = tflmgen("bench", folder / "app.toml", "--board", BOARD, "--inputs", folder / "part.wav", "--json")
    assert finished.code == 0, finished.err
    application = finished.json["application"]
    runs = {stage["name"]: stage["runs"] for stage in application["stages"]}
    assert 0 < runs["kws"] < runs["vad"] / 3
    assert application["instructions_per_second"] < MAX_INSTRUCTIONS


def test_one_arena_is_smaller_than_separate_ones() -> None:
    target = board_for(BOARD, BuildOptions()).target

    def arena(name: str) -> int:
        return int(compile_model(EXAMPLE / name, target, BuildOptions()).plan["arena"]["bytes"])

    separate = arena("vad.tflite") + arena("kws.tflite")
    assert arena("app.toml") < separate
    assert [w.stage for w in read_program(EXAMPLE / "app.toml", BuildOptions()).windows] == ["vad", "kws"]
