"""Applications of examples/ on emulated boards: decisions on a Cortex-M4, all outputs on a Cortex-M55 and an M0."""

from __future__ import annotations

import runpy
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflmgen
from numpy.typing import NDArray
from support.commands import tflmgen as command
from support.repository import ROOT
from support.tools import requires_compiler, requires_qemu

EXAMPLES = ROOT / "examples"
BOARDS = ("mps3_an547", "mps2_an385_m0")


def gate_calls(folder: Path) -> Iterator[NDArray[Any]]:
    """The last 0.1 s of silence and the first 0.1 s of the first tone."""
    runpy.run_path(str(EXAMPLES / "gate" / "make_wav.py"))["make"](folder)
    with wave.open(str(folder / "tones.wav")) as sound:
        yield from np.frombuffer(sound.readframes(60 * 160), np.int16).reshape(-1, 160)[40:]


def gesture_calls(_folder: Path) -> Iterator[NDArray[Any]]:
    """The end of standing, and the begin of walking."""
    rows = np.loadtxt(EXAMPLES / "gesture" / "motions.csv", np.int16, delimiter=",")
    yield from rows[30:160, None]


def wake_word_calls(_folder: Path) -> Iterator[NDArray[Any]]:
    """Noise that is loud for 0.7 s: the voice detector lets the spotter run."""
    rng = np.random.default_rng(3)
    time = np.arange(110 * 160) / 16000
    voice = sum(np.sin(2 * np.pi * 140 * k * time + k) / k for k in range(1, 20))
    loud = (time > 0.2) & (time < 0.9)
    yield from (rng.normal(0, 12, len(time)) + 4000 * loud * voice).astype(np.int16).reshape(-1, 160)


CALLS = {"gate": gate_calls, "gesture": gesture_calls, "wake_word": wake_word_calls}


@pytest.fixture(scope="module", params=CALLS)
def expected(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Name, inputs and outputs of each call of an application on the host."""
    calls = list(CALLS[request.param](tmp_path_factory.mktemp("calls")))
    with tflmgen.compile(EXAMPLES / request.param / "app.toml", "host").session() as session:
        return request.param, calls, [dict(session.run(call)) for call in calls]


@pytest.mark.emulator
@requires_compiler
@requires_qemu
@pytest.mark.parametrize("board", BOARDS)
def test_boards_compute_what_the_host_does(board: str, expected: Any) -> None:
    """Bit for bit, floats as well."""
    name, calls, wanted = expected
    with tflmgen.compile(EXAMPLES / name / "app.toml", board).session() as session:
        for call, outputs in zip(calls, wanted, strict=True):
            for output, array in session.run(call).items():
                np.testing.assert_array_equal(array, outputs[output], f"{name} on {board}: {output}")
    ran = [outputs[key] for outputs in wanted for key in outputs if key.endswith(".ran")]
    assert np.any(ran)
    assert not np.all(ran)


@pytest.mark.emulator
@requires_compiler
@requires_qemu
def test_motions_are_decided() -> None:
    folder = EXAMPLES / "gesture"
    words = ("--board", "mps2_an386", "--vectors", folder / "motions.csv", "--expect", folder / "expected.csv")
    finished = command("test", folder / "app.toml", *words, "--json")
    assert finished.code == 0, finished.err
    assert [check["result"] for check in finished.json["checks"]] == ["ok"] * 6
