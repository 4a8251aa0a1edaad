"""`bench --port` with a board that counts cycles, which QEMU doesn't."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from support.commands import tflmgen, write_adder
from support.repository import ROOT
from tflmgen.actions import invokes
from tflmgen.emulators.firmware_session import Running
from tflmgen.emulators.session import Dims, Invocation


class Board:
    """A session whose invokes take 1000 cycles more each time."""

    model, place, notes, fingerprint = "adder", "at COM3", ("a note",), 0

    def __init__(self, first: int) -> None:
        self.cycles = first

    def reset(self) -> None:
        """Nothing to lose."""

    def invoke(self, signature: int, inputs: Sequence[bytes], dims: Dims = None) -> Invocation:
        assert (signature, dims) == (0, [(), ()])
        self.cycles += 1000 if self.cycles else 0
        return Invocation((inputs[0],), 0, 88, self.cycles, None)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_adder(tmp_path / "adder.tflite")


def attach(monkeypatch: pytest.MonkeyPatch, board: Board) -> None:
    @contextmanager
    def running(compilation: Any, *_: object) -> Iterator[Running]:
        yield Running(compilation, board, None)  # type: ignore[arg-type]

    monkeypatch.setattr(invokes, "running", running)


def test_the_second_invoke_is_what_counts(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attach(monkeypatch, Board(14000))
    finished = tflmgen("bench", model, "--board", "nucleo_f446re", "--port", "COM3", "--json")
    assert finished.code == 0, finished.err
    jsonschema.validate(finished.json, json.loads((ROOT / "schema" / "bench_port.json").read_text()))
    (vector_set,) = finished.json["sets"]
    assert (vector_set["cycles"], vector_set["milliseconds"], vector_set["stack_bytes"]) == (16000, 1.0, 88)
    assert (finished.json["clock_hz"], finished.json["port"]) == (16_000_000, "COM3")


def test_what_people_read(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attach(monkeypatch, Board(14000))
    out = tflmgen("bench", model, "--board", "nucleo_f446re", "--port", "COM3").out
    assert "adder.tflite on nucleo_f446re at COM3" in out
    assert "16,000" in out
    assert "1.000" in out
    assert "milliseconds at 16,000,000 Hz" in out
    assert "note: a note" in out


def test_a_core_without_a_counter(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attach(monkeypatch, Board(0))
    finished = tflmgen("bench", model, "--board", "pico", "--port", "COM3", "--json")
    assert finished.json["sets"][0]["cycles"] is None
    assert "cortex-m0plus counts no cycles here" in tflmgen("bench", model, "--board", "pico", "--port", "COM3").out


def test_no_report_without_instructions(model: Path) -> None:
    finished = tflmgen("bench", model, "--board", "pico", "--port", "COM3", "--report", "r.html")
    assert finished.code == 2
    assert "leave --port out" in finished.err
