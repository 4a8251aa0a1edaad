"""Every board's start-up code, linker script, UART driver and fault report, in QEMU."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import tiny
from support.tools import binutils, requires_compiler_for, requires_qemu_for
from tflmgen.emulators.open_session import open_session
from tflmgen.emulators.session import EmulatorError, Session
from tflmgen.hardware.board import Board, list_boards
from tflmgen.project.platformio import Firmware, build, environment_variables
from tflmgen.toolchain.elf import SHF_ALLOC, read_elf

pytestmark = pytest.mark.emulator

X = bytes(range(16))
BOARDS = [
    pytest.param(board, id=board.id, marks=[requires_compiler_for(board), requires_qemu_for(board)])
    for board in list_boards()
    if board.qemu
]

TRAP = {"arm": "HardFault", "riscv": "breakpoint"}
"""Architecture -> what its instruction of __builtin_trap() raises."""

WRITE_NOWHERE = {
    "arm": r"access to an address without memory, address 0xf0000000",
    "riscv": r"store to an address without memory at pc 0x\w+ in tiny_accumul.*: address 0xf0000000$",
}
"""Architecture -> report of a store to 0xf0000000."""

RV32I = frozenset(
    re.findall(
        r"\w+",
        "lui auipc jal jalr beq bne blt bge bltu bgeu lb lh lw lbu lhu sb sh sw addi slti sltiu xori ori andi slli srli"
        " srai add sub sll slt sltu xor srl sra or and fence ecall ebreak csrrw csrrs csrrc csrrwi csrrsi csrrci",
    )
)
RV32C = frozenset(
    re.findall(
        r"\w+",
        "addi4spn lw sw nop addi jal li addi16sp lui srli srai andi sub xor or and j beqz bnez slli lwsp jr mv ebreak"
        " jalr add swsp",
    )
)
"""Compressed forms, without their "c."."""

BEYOND_RV32E = r"\b(a[67]|s([2-9]|1[01])|t[3-6])\b"
"""Registers beyond the sixteenth."""


@pytest.fixture(scope="module", params=BOARDS)
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


def test_fault_is_reported_with_its_place(board: Board, session: Session) -> None:
    name = TRAP[board.architecture.name]
    with pytest.raises(EmulatorError, match=rf"QEMU: the firmware faulted: {name} at pc 0x\w+ in tiny_accumul"):
        session.invoke(1, [tiny.VALUES, tiny.mode(tiny.TRAP)])


def test_memory_fault_tells_the_address(board: Board, session: Session) -> None:
    if board.core == "cortex-m0":
        pytest.skip("ARMv6-M has no fault address register")
    with pytest.raises(EmulatorError, match=WRITE_NOWHERE[board.architecture.name]):
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


def _printed(board: Board, program: str, *arguments: str) -> str:
    command = [binutils(board, program), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _functions(board: Board, elf: Path) -> set[int]:
    """Addresses inside functions: RISC-V's objdump takes constants beside them for instructions."""
    rows = re.findall(r": (\w{8}) +(\d+) FUNC ", _printed(board, "readelf", "-sW", str(elf)))
    return {address for start, size in rows for address in range(int(start, 16), int(start, 16) + int(size))}


def _check_arm(board: Board, rows: list[list[str]]) -> None:
    wide = {row[2] for row in rows if len(row[1].split()) == 2}
    assert wide
    if board.core == "cortex-m0":
        assert wide <= {"bl", "mrs", "msr", "dsb", "dmb", "isb"}
    else:
        assert not wide <= {"bl", "mrs", "msr", "dsb", "dmb", "isb"}


def _wide_operation(row: list[str]) -> str:
    """Name of an operation. Objdump has a number for those of Zicsr, which start-up code enables for itself."""
    is_system = row[2] == ".4byte" and int(row[1], 16) & 0x7F == 0x73
    return "csrrs" if is_system and int(row[1], 16) >> 12 & 7 == 2 else row[2]


def _check_riscv(board: Board, rows: list[list[str]]) -> None:
    """The tiny model multiplies nothing and has no floats: all is RV32I, compressed where a form exists."""
    compressed = {row[2].removeprefix("c.") for row in rows if row[2].startswith("c.")}
    wide = {_wide_operation(row) for row in rows if not row[2].startswith("c.")}
    assert compressed
    assert compressed <= RV32C
    assert wide
    assert wide <= RV32I
    others = [row for row in rows if re.search(BEYOND_RV32E, "".join(row[3:]).split("#")[0].split("<")[0])]
    assert bool(others) == (not board.core.startswith("rv32e"))


def test_instruction_set(board: Board, firmware: Firmware) -> None:
    if board.architecture.name == "arm":
        listing = _printed(board, "objdump", "-d", str(firmware.elf))
        _check_arm(board, [line.split("\t") for line in listing.splitlines() if line.count("\t") >= 2])
        return
    listing = _printed(board, "objdump", "-d", "-M", "no-aliases", str(firmware.elf))
    rows = [line.split("\t") for line in listing.splitlines() if line.count("\t") >= 2]
    inside = _functions(board, firmware.elf)
    _check_riscv(board, [row for row in rows if int(row[0].strip(" :"), 16) in inside])


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
