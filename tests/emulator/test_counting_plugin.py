"""The counting plugin: against code counted by hand, against QEMU's own trace, and whole models by operator."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import tiny
from support.commands import tflmgen
from support.repository import ROOT
from support.tools import requires_compiler, requires_qemu
from tflmgen.architectures.arm import ARM
from tflmgen.emulators.invoke_cost import Cycles
from tflmgen.emulators.open_session import open_session
from tflmgen.emulators.process import open_child
from tflmgen.emulators.qemu import run_qemu
from tflmgen.emulators.session import Invocation, Session
from tflmgen.hardware.board import Board, list_boards, load_board
from tflmgen.hardware.flash_timing import flash_timing
from tflmgen.project.platformio import build
from tflmgen.toolchain.elf import read_elf

pytestmark = [
    pytest.mark.emulator,
    requires_compiler,
    requires_qemu,
]

GATE = ROOT / "examples" / "gate.tflite"
NO_STEPS: dict[str, Any] = {"steps": [], "signatures": [{"function": "main"}, {"function": "main"}]}

LOOP = """
__attribute__((naked)) tflmgen_status tiny_increment(void) {
  __asm__ volatile(
      ".syntax unified\\n"
      "movs r3, #100  \\n"
      "1: muls r2, r3 \\n"
      "subs r3, #1    \\n"
      "bne 1b         \\n"
      "movs r0, #0    \\n"
      "bx lr          \\n");
}
"""
RISCV_LOOP = """
__attribute__((naked)) tflmgen_status tiny_increment(void) {
  __asm__ volatile(
      "li a3, 100       \\n"
      "1: mul a2, a2, a3 \\n"
      "addi a3, a3, -1  \\n"
      "bnez a3, 1b      \\n"
      "li a0, 0         \\n"
      "ret              \\n");
}
"""
"""The same for RISC-V, with compressed instructions among them."""
INSTRUCTIONS = 1 + 1 + 3 * 100 + 1 + 1
"""The call, and what it calls."""
TAKEN = 1 + 99 + 1
"""The call, the loop's branches but the last, the return."""

CYCLES = {
    "cortex-m0": Cycles(INSTRUCTIONS + 2 * TAKEN, INSTRUCTIONS + 2 * TAKEN + 31 * 100),
    "cortex-m3": Cycles(INSTRUCTIONS + 2 * TAKEN, INSTRUCTIONS + 2 * TAKEN),
    "cortex-m4": Cycles(INSTRUCTIONS + 2 * TAKEN, INSTRUCTIONS + 2 * TAKEN),
    "cortex-m33": Cycles(INSTRUCTIONS + 2 * TAKEN, INSTRUCTIONS + 2 * TAKEN),
    "cortex-m55": Cycles(INSTRUCTIONS, INSTRUCTIONS + 2 * TAKEN),
    "fe310": Cycles(INSTRUCTIONS, INSTRUCTIONS + 3 * TAKEN + 4 * 100),
    "rv32ec": Cycles(INSTRUCTIONS + TAKEN, INSTRUCTIONS + 3 * TAKEN),
    "rv32imc": Cycles(INSTRUCTIONS + TAKEN, INSTRUCTIONS + 3 * TAKEN + 4 * 100),
}


ACROSS_PAGES = """
__attribute__((naked)) tflmgen_status tiny_increment(void) {
  __asm__ volatile(
      ".syntax unified\\n"
      "movs r3, #100   \\n"
      "b 1f            \\n"
      ".p2align 12     \\n"
      ".space 4090     \\n"
      "1: muls r2, r3  \\n"
      "subs r3, #1     \\n"
      "add.w r2, r3    \\n"
      "bne 1b          \\n"
      "movs r0, #0     \\n"
      "bx lr           \\n");
}
"""
"""The same with one more instruction, of which half lies on the next page; QEMU translates pages apart."""


ALIGNED_LOOP = """
__attribute__((naked)) tflmgen_status tiny_increment(void) {
  __asm__ volatile(
      ".syntax unified\\n"
      "movs r3, #100   \\n"
      "b 1f            \\n"
      ".p2align 4      \\n"
      "1: ldr r2, 2f   \\n"
      "nop.w           \\n"
      "nop.w           \\n"
      "nop.w           \\n"
      "nop             \\n"
      "subs r3, #1     \\n"
      "bne 1b          \\n"
      "movs r0, #0     \\n"
      "bx lr           \\n"
      ".p2align 4      \\n"
      "2: .word 0      \\n");
}
"""
"""A loop in two lines of 16 bytes, with a load from a third."""


@pytest.fixture(scope="module", params=[b for b in list_boards() if b.qemu], ids=lambda board: board.id)
def board(request: pytest.FixtureRequest) -> Board:
    board: Board = request.param
    return board


@pytest.fixture(scope="module")
def by_hand(board: Board, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A project whose first signature is a loop in assembly, and its firmware."""
    loop = RISCV_LOOP if "rv32m" in board.features else RISCV_LOOP.replace("mul a2", "add a2")
    return _with_loop(board, LOOP if board.architecture is ARM else loop, tmp_path_factory.mktemp(board.id))


def _with_loop(board: Board, loop: str, folder: Path) -> tuple[Path, Path]:
    project = tiny.write_project(board, folder / "project")
    source = project / "lib/tiny/src/tiny.c"
    text = re.sub(r"tflmgen_status tiny_increment\(void\) \{.*?\n\}\n", lambda _: loop, source.read_text(), flags=re.S)
    source.write_text(text)
    return project, build(project, board).elf


@pytest.fixture
def session(board: Board, by_hand: tuple[Path, Path]) -> Iterator[Session]:
    with open_session(board, *by_hand, "qemu", timeout=20, count=NO_STEPS) as session:
        yield session


def test_a_loop_counted_by_hand(board: Board, session: Session) -> None:
    for _ in range(2):
        invocation = session.invoke(0, [bytes(16)])
        assert invocation.instructions == INSTRUCTIONS
        estimated = invocation.cycles_estimated
        assert estimated is not None
        if board.core == "cortex-m7":  # the decrement and the branch, at best, are issued together
            assert estimated.low <= 2 * 100 + 4
            assert estimated.high == INSTRUCTIONS + TAKEN
        else:
            assert estimated == CYCLES[board.core]


def test_a_loop_across_pages(tmp_path: Path) -> None:
    board = load_board("mps2_an386")
    with open_session(board, *_with_loop(board, ACROSS_PAGES, tmp_path), "qemu", 20, count=NO_STEPS) as session:
        invocation = session.invoke(0, [bytes(16)])
    instructions, taken = INSTRUCTIONS + 1 + 100, TAKEN + 1
    assert invocation.instructions == instructions
    assert invocation.cycles_estimated == Cycles(instructions + 2 * taken, instructions + 2 * taken)


def test_equal_invokes_have_equal_counts(session: Session) -> None:
    first, second = (session.invoke(1, [tiny.VALUES, tiny.mode(0)]).instructions for _ in range(2))
    assert first is not None
    assert first > 100
    assert first == second


@pytest.fixture(scope="module")
def waits_by_hand(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Invocation]:
    """Cost of the loop on an mps2_an386 with a flash of reads of 16 bytes, 5 wait states and these accelerators."""
    board = load_board("mps2_an386")
    project, elf = _with_loop(board, ALIGNED_LOOP, tmp_path_factory.mktemp("flash"))
    flash = {"clock": 100_000_000, "wait_states": 5, "read_bytes": 16, "source": "none"}

    def invoke(**accelerators: Any) -> Invocation:
        timing = flash_timing("mine", {**flash, **accelerators})
        with open_session(replace(board, flash=timing), project, elf, "qemu", 20, count=NO_STEPS) as session:
            first, second = (session.invoke(0, [bytes(16)]) for _ in range(2))
            assert first == second  # each begins with empty caches
            return second

    return invoke


def test_waits_for_flash_counted_by_hand(waits_by_hand: Callable[..., Invocation]) -> None:
    cache = {"lines": 8, "line_bytes": 16, "ways": 8}
    plain = waits_by_hand()
    assert plain.waits is not None
    # The loop's two lines, each of its 100 iterations; the literal, which has a line of its own.
    assert plain.waits.constants == 5 * 100
    cached = waits_by_hand(instruction_cache=cache, data_cache=cache)
    assert cached.waits is not None
    assert cached.waits.constants == 5
    assert plain.waits.code - cached.waits.code == 2 * 5 * 99
    assert (plain.instructions, plain.cycles_estimated) == (cached.instructions, cached.cycles_estimated)


def test_the_trace_of_qemu_has_as_many(tmp_path: Path) -> None:
    board = load_board("mps2_an386")
    project = tiny.write_project(board, tmp_path / "project")
    elf = build(project, board).elf
    with open_session(board, project, elf, "qemu", timeout=20, count=NO_STEPS) as session:
        counted = session.invoke(1, [tiny.VALUES, tiny.mode(0)]).instructions
    log = tmp_path / "log"
    with run_qemu(board, elf, ("-singlestep", "-d", "exec,nochain", "-D", str(log))) as stream:
        Session(stream, "traced", 60).invoke(1, [tiny.VALUES, tiny.mode(0)])
    executed = [int(pc, 16) for pc in re.findall(r"^Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/", log.read_text(), re.M)]
    symbols = read_elf(elf).symbols
    start, end = (symbols[name] & ~1 for name in ("tflmgen_count_from", "tflmgen_count_to"))
    assert executed.index(end) - executed.index(start) == counted


@pytest.fixture(scope="module")
def gate() -> Any:
    done = tflmgen("bench", GATE, "--board", "mps2_an386", "--inputs", GATE.with_suffix(".npz"), "--json")
    assert done.code == 0, done.err
    return done.json


def test_operators_and_control_flow_are_all(gate: Any) -> None:
    total = gate["total"]
    assert sum(o["instructions"] for o in gate["operators"]) + gate["control"]["instructions"] == total["instructions"]
    assert sum(s["instructions"] for s in gate["sets"]) == total["instructions"]
    assert sum(s["cycles_estimated"] for s in gate["sets"]) == total["cycles_estimated"]
    assert gate["control"]["instructions"] < total["instructions"] / 100
    assert total["cycles_estimated"] > total["instructions"]
    assert all(o["instructions"] >= 10 for o in gate["operators"] if o["kernel"])
    assert gate["notes"] == []


def test_branches_count_when_they_run(gate: Any) -> None:
    runs = {(o["subgraph"], o["operator"]): o["executions"] for o in gate["operators"]}
    bright_or_dark = [s for s in gate["sets"] if s["label"].startswith(("bright", "dark"))]
    assert {count for (subgraph, _), count in runs.items() if subgraph == 0} == {len(gate["sets"])}
    assert {count for (subgraph, _), count in runs.items() if subgraph == 1} == {len(bright_or_dark)}


def test_counts_can_be_repeated(gate: Any) -> None:
    done = tflmgen("bench", GATE, "--board", "mps2_an386", "--inputs", GATE.with_suffix(".npz"), "--json")
    assert done.json["total"] == gate["total"]
    assert done.json["operators"] == gate["operators"]


def test_the_plugin_explains_what_it_lacks(tmp_path: Path) -> None:
    from tflmgen.emulators.qemu_plugin import build_plugin

    options = f"{build_plugin(ARM)},from=0,to=0,core=z80,out={tmp_path / 'out'}"
    machine = ["qemu-system-arm", "-machine", "mps2-an386", "-display", "none", "-plugin", options]
    with open_child(machine) as child:
        assert "count: no known core" in child.last_words()


def test_paths_with_commas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """QEMU splits arguments of its plugins at commas, and takes the path of a firmware whole."""
    folder = tmp_path / "a,b,,c=d"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    finished = tflmgen("bench", GATE, "--board", "mps2_an386")
    assert finished.code == 0, finished.err
