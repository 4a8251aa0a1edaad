"""Every board's start-up code, linker script, UART driver and fault report, in QEMU."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import tiny
from support.tools import requires_compiler, requires_qemu
from tflmgen.emulators.open_session import open_session
from tflmgen.emulators.session import EmulatorError, Session
from tflmgen.hardware.board import Board, list_boards
from tflmgen.project.platformio import Firmware, build, environment_variables
from tflmgen.toolchain.elf import SHF_ALLOC, read_elf

pytestmark = [
    pytest.mark.emulator,
    requires_compiler,
    requires_qemu,
]

X = bytes(range(16))
BOARDS = [board for board in list_boards() if board.qemu]


@pytest.fixture(scope="module", params=BOARDS, ids=lambda board: board.id)
def board(request: pytest.FixtureRequest) -> Board:
    chosen: Board = request.param
    return chosen


@pytest.fixture(scope="module")
def project(board: Board, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_project(board, tmp_path_factory.mktemp(board.id) / "project")


@pytest.fixture(scope="module")
def firmware(board: Board, project: Path) -> Firmware:
    return build(project, board)


@pytest.fixture
def session(board: Board, project: Path, firmware: Firmware) -> Iterator[Session]:
    with open_session(board, project, firmware.elf, "qemu", timeout=10) as session:
        yield session


def test_outputs_state_and_stack(session: Session) -> None:
    assert session.invoke(0, [X]).outputs == (bytes(range(1, 17)),)
    first = session.invoke(1, [tiny.VALUES, tiny.mode(0)])
    assert tiny.total(first.outputs[0]) == tiny.TOTAL
    second = session.invoke(1, [tiny.VALUES, tiny.mode(tiny.EAT_STACK)])
    assert tiny.total(second.outputs[0]) == 2 * tiny.TOTAL - 100
    assert first.stack_bytes < 100
    assert 600 <= second.stack_bytes - first.stack_bytes < 1200
    session.reset()
    assert session.invoke(1, [tiny.VALUES, tiny.mode(0)]) == first


def test_fault_is_reported_with_its_place(session: Session) -> None:
    with pytest.raises(EmulatorError, match=r"QEMU: the firmware faulted: HardFault at pc 0x\w+ in tiny_accumul"):
        session.invoke(1, [tiny.VALUES, tiny.mode(tiny.TRAP)])


def test_memory_fault_tells_the_address(board: Board, session: Session) -> None:
    if board.core == "cortex-m0":
        pytest.skip("ARMv6-M has no fault address register")
    with pytest.raises(EmulatorError, match="access to an address without memory, address 0xf0000000"):
        session.invoke(1, [tiny.VALUES, tiny.mode(tiny.WRITE_NOWHERE)])


def test_image_is_small_and_in_its_memories(board: Board, firmware: Firmware) -> None:
    elf = read_elf(firmware.elf)
    assert firmware.text + firmware.data < 5000
    assert elf.section_bytes(".data") + elf.section_bytes(".bss") < 600
    for section in elf.sections:
        if section.size and section.flags & SHF_ALLOC:
            start, end = section.address, section.address + section.size
            assert any(m.origin <= start and end <= m.origin + m.size for m in board.memories), section.name
    assert not {"printf", "malloc", "_sbrk", "_malloc_r"} & elf.symbols.keys()
    assert elf.symbols["tflmgen_count_from"] < elf.symbols["tflmgen_count_to"]


def test_instruction_set(board: Board, firmware: Firmware) -> None:
    listing = subprocess.run(
        ["arm-none-eabi-objdump", "-d", str(firmware.elf)], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split("\t") for line in listing.splitlines() if line.count("\t") >= 2]
    wide = {row[2] for row in rows if len(row[1].split()) == 2}
    assert wide
    if board.core == "cortex-m0":
        assert wide <= {"bl", "mrs", "msr", "dsb", "dmb", "isb"}
    else:
        assert not wide <= {"bl", "mrs", "msr", "dsb", "dmb", "isb"}


def test_the_projects_own_test(board: Board, tmp_path: Path) -> None:
    project = tiny.write_project(board, tmp_path / "a project")
    command = [sys.executable, "-m", "platformio", "test", "-d", str(project)]
    variables = environment_variables(project)
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 test cases: 8 succeeded" in done.stdout


def test_timeout(project: Path, board: Board, firmware: Firmware) -> None:
    started = time.monotonic()
    with (
        open_session(board, project, firmware.elf, "qemu", timeout=1) as session,
        pytest.raises(EmulatorError, match="QEMU: timeout: the firmware did not finish 'accumulate' in 1 s"),
    ):
        session.invoke(1, [tiny.VALUES, tiny.mode(tiny.SPIN)])
    assert time.monotonic() - started < 4
