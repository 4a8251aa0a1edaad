"""A board at a serial port: QEMU's UART stands for it, also on a line with noise, losses, delays and restarts."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import numpy as np
import pytest
from support import tiny
from support.commands import Finished, tflmgen
from support.repository import ROOT
from support.serial_device import Device, Faults, device
from support.tools import requires_compiler, requires_qemu
from tflmgen.emulators.open_session import open_port
from tflmgen.emulators.session import EmulatorError, RestartError
from tflmgen.hardware.board import Board, load_board
from tflmgen.project.platformio import build

pytestmark = [
    pytest.mark.emulator,
    requires_compiler,
    requires_qemu,
]

GATE = ROOT / "examples" / "gate.tflite"
VECTORS = ROOT / "examples" / "gate.npz"


def run(command: str, attached: Device, *words: object) -> Finished:
    return tflmgen(command, GATE, "--board", "nucleo_f446re", "--port", attached.port, *words)


@pytest.fixture(scope="module")
def board() -> Board:
    return load_board("nucleo_f446re")


@pytest.fixture(scope="module")
def gate(board: Board, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gate") / "project"
    assert tflmgen("build", GATE, "--board", board.id, "-o", folder).code == 0
    return folder / ".pio" / "build" / board.id / "firmware.elf"


@pytest.fixture(scope="module")
def accumulator(board: Board, tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tiny.write_project(board, tmp_path_factory.mktemp("tiny") / "project")
    return build(project, board).elf


def test_a_pseudoterminal_as_the_port(board: Board, gate: Path) -> None:
    with device(board, gate) as attached:
        finished = run("test", attached, "--vectors", VECTORS)
        assert finished.code == 0, finished.err
        assert f"nucleo_f446re at {attached.port}" in finished.out
        assert "passed" in finished.out
        second_run = run("test", attached, "--vectors", VECTORS)
        assert second_run.code == 0, second_run.err


@pytest.mark.parametrize(
    "faults",
    [
        Faults(),
        pytest.param(Faults(rate=0.002, seed=1), marks=pytest.mark.sweep),
        pytest.param(Faults(rate=0.001, seed=2), marks=pytest.mark.sweep),
        pytest.param(Faults(delay=0.02), marks=pytest.mark.sweep),
        Faults(rate=0.001, delay=0.01, seed=3),
    ],
    ids=["clean", "noise", "other noise", "slow", "slow and noisy"],
)
def test_outputs_are_right_on_a_bad_line(board: Board, gate: Path, faults: Faults) -> None:
    with device(board, gate, faults) as attached:
        finished = run("test", attached, "--vectors", VECTORS)
        assert finished.code == 0, finished.err
        assert (attached.disturbed > 0) == (faults.rate > 0)
        assert "note" not in finished.out


@pytest.mark.parametrize("hang_up", [False, True], ids=["port stays", "port goes away"])
def test_what_a_restart_interrupts_is_run_again(board: Board, gate: Path, hang_up: bool) -> None:
    with device(board, gate, Faults(restarts=[300, 500, 2000], hang_up=hang_up)) as attached:
        finished = run("test", attached, "--vectors", VECTORS, "--json")
        assert finished.code == 0, finished.err
        assert attached.restarted == 3
        assert [note for note in finished.json["notes"] if "the board restarted" in note]


def test_a_board_that_restarts_for_ever_is_told(board: Board, gate: Path) -> None:
    with device(board, gate, Faults(restarts=[300] + [400] * 60)) as attached:
        finished = run("test", attached, "--vectors", VECTORS)
        assert finished.code == 1
        assert "the board has restarted" in finished.err
        assert "A watchdog, or its supply?" in finished.err


def test_inputs_written_before_a_restart_are_not_invoked(board: Board, accumulator: Path) -> None:
    with device(board, accumulator, Faults()) as attached, open_port(attached.port, 115200, 20) as session:
        assert tiny.total(session.invoke(1, [tiny.VALUES, tiny.mode(0)]).outputs[0]) == tiny.TOTAL
        attached.restart()
        with pytest.raises(RestartError, match=r"the board has restarted: the firmware did not finish 'accumulate'"):
            session.invoke(1, [tiny.VALUES, tiny.mode(0)])
        session.reopen()
        assert tiny.total(session.invoke(1, [tiny.VALUES, tiny.mode(0)]).outputs[0]) == tiny.TOTAL
        assert session.notes == ("the board restarted once; what it was at was run again",)


def test_another_firmware_is_told(board: Board, accumulator: Path, gate: Path) -> None:
    with device(board, accumulator) as attached:
        finished = run("test", attached, "--vectors", VECTORS)
        assert finished.code == 1
        assert "the board runs model 'tiny'. Flash it: tflmgen flash" in finished.err
    with device(board, gate) as attached:
        finished = run("test", attached, "--vectors", VECTORS, "--optimize", "size", "--max-iterations", "3")
        assert finished.code == 1
        assert "the board runs another build of 'gate'" in finished.err


def test_run_writes_the_outputs(board: Board, gate: Path, tmp_path: Path) -> None:
    with device(board, gate) as attached:
        finished = run("run", attached, "--inputs", VECTORS, "--outputs", tmp_path / "out.npz")
        assert finished.code == 0, finished.err
        assert f"on nucleo_f446re at {attached.port}" in finished.out
    outputs, expected = np.load(tmp_path / "out.npz"), np.load(VECTORS)
    assert np.array_equal(outputs["s0_out_0"], expected["s0_out_0"])


def test_bench_over_the_port(board: Board, gate: Path) -> None:
    schema = json.loads((ROOT / "schema" / "bench_port.json").read_text())
    with device(board, gate) as attached:
        finished = run("bench", attached, "--json")
        assert finished.code == 0, finished.err
        jsonschema.validate(finished.json, schema)
        (vector_set,) = finished.json["sets"]
        assert vector_set["cycles"] is None  # QEMU has no DWT
        assert vector_set["stack_bytes"] > 0
        assert "counts no cycles here" in run("bench", attached).out


def test_monitor_shows_frames_and_faults(board: Board, accumulator: Path) -> None:
    with device(board, accumulator, Faults()) as attached:
        with open_port(attached.port, 115200, 20) as session, pytest.raises(EmulatorError, match="faulted"):
            session.invoke(1, [tiny.VALUES, tiny.mode(tiny.WRITE_NOWHERE)])
        attached.restart()
        finished = tflmgen("monitor", "--port", attached.port, "--board", board.id, "--seconds", "0.5")
        assert finished.code == 0, finished.err
        assert "115200 baud" in finished.out


@pytest.mark.parametrize("words", [("--port", "/dev/no_such_port"), ("--port", "socket://127.0.0.1:1")])
def test_a_port_that_is_not_there(words: tuple[str, ...]) -> None:
    finished = tflmgen("test", GATE, "--board", "nucleo_f446re", "--vectors", VECTORS, *words)
    assert finished.code == 1
    assert f"serial port {words[1]}: " in finished.err


def test_a_silent_port_times_out(gate: Path) -> None:
    with device(load_board("mps2_an386"), gate, Faults()) as attached:
        finished = run("test", attached, "--vectors", VECTORS, "--timeout", "1")
        assert finished.code == 1
        assert "timeout: the firmware does not answer" in finished.err


@pytest.mark.parametrize("words", [("--board", "host"), ("--board", "nucleo_f446re", "--emulator", "qemu")])
def test_a_port_goes_with_a_board_only(words: tuple[str, ...]) -> None:
    finished = tflmgen("test", GATE, "--vectors", VECTORS, "--port", "/dev/null", *words)
    assert finished.code == 2
    assert "--port is for a board that is attached" in finished.err
