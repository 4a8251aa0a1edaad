"""A board of the user's own, made by `boards new`, with three memories; and where --place puts things."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from support.commands import tflmgen
from support.repository import ROOT
from support.tools import requires_compiler, requires_qemu
from tflmgen.toolchain.elf import read_elf

pytestmark = [
    pytest.mark.emulator,
    requires_compiler,
    requires_qemu,
]

GATE, VECTORS = ROOT / "examples" / "gate.tflite", ROOT / "examples" / "gate.npz"
MEMORIES = ("FLASH=0x0:128K:flash", "EXTERNAL=0x100000:512K:flash", "RAM=0x20000000:64K:ram", "FAST=0x20100000:4K:ram")


def new_board(folder: Path, memories: Iterable[str]) -> Path:
    words = [word for memory in memories for word in ("--memory", memory)]
    words += ["--core", "cortex-m4", "--uart", "cmsdk@0x40004000:25000000", "--qemu", "mps2-an386"]
    finished = tflmgen("boards", "new", folder, *words)
    assert finished.code == 0, finished.err
    return folder


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_board(tmp_path_factory.mktemp("boards") / "three_memories", MEMORIES)


def test_it_runs(board: Path) -> None:
    finished = tflmgen("test", GATE, "--board", board, "--vectors", VECTORS)
    assert finished.code == 0, finished.err
    assert "on three_memories in QEMU" in finished.out


def test_memories_may_have_names_of_the_linkers_own(tmp_path: Path) -> None:
    """A word of its language, and what sections go to."""
    memories = ("ORIGIN=0x0:128K:flash", "DATA=0x20000000:64K:ram", "CODE=0x20100000:4K:ram")
    board = new_board(tmp_path / "words", memories)
    finished = tflmgen("test", GATE, "--board", board, "--vectors", VECTORS, "--place", "arena=code")
    assert finished.code == 0, finished.err


def test_places_are_where_the_linker_puts_them(board: Path, tmp_path: Path) -> None:
    places = ("--place", "arena=fast", "--place", "weights=external")
    finished = tflmgen("build", GATE, "--board", board, "-o", tmp_path / "p", *places, "--json")
    assert finished.code == 0, finished.err
    plan = finished.json
    sections = {s.name: s for s in read_elf(Path(plan["firmware"]["elf"])).sections}
    assert sections[".tflmgen_arena"].address == 0x20100000
    assert sections[".tflmgen_weights"].address == 0x100000
    assert sections[".bss"].address == 0x20000000
    use = plan["firmware"]["memories"]
    assert plan["arena"]["bytes"] <= use["FAST"] == sections[".tflmgen_arena"].size
    # Compilers turn arrays of a few numbers into immediates, which then lie in the code.
    assert plan["weights"]["bytes"] - 16 <= use["EXTERNAL"] < plan["weights"]["bytes"] + 64
    assert use["FLASH"] + use["EXTERNAL"] >= plan["firmware"]["text"]
    assert use["RAM"] + use["FAST"] == plan["firmware"]["data"] + plan["firmware"]["bss"]
    finished = tflmgen("test", GATE, "--board", board, "--vectors", VECTORS, *places)
    assert finished.code == 0, finished.err


def test_code_in_ram(board: Path, tmp_path: Path) -> None:
    place = ("--place", "code=ram")
    plain, moved = (
        tflmgen("build", GATE, "--board", board, "-o", tmp_path / name, *words, "--json").json
        for name, words in (("flash", ()), ("ram", place))
    )
    elf = read_elf(Path(moved["firmware"]["elf"]))
    assert 0x20000000 <= elf.symbols["gate_invoke"] < 0x20010000
    assert elf.symbols["main"] < 0x20000
    code = elf.section_bytes(".tflmgen_code")
    assert code > 0.9 * plain["firmware"]["code_bytes"]
    firmware = moved["firmware"]
    assert firmware["data"] == plain["firmware"]["data"] + code
    assert firmware["memories"]["RAM"] >= plain["firmware"]["memories"]["RAM"] + code
    assert firmware["text"] + firmware["data"] == firmware["memories"]["FLASH"]  # with the copy for start-up
    assert firmware["stack_worst_case"] == plain["firmware"]["stack_worst_case"]
    finished = tflmgen("test", GATE, "--board", board, "--vectors", VECTORS, *place)
    assert finished.code == 0, finished.err


def test_what_code_in_ram_brings() -> None:
    words = ("bench", GATE, "--board", "mps2_an386", "--flash-of", "bluepill_f103c8", "--json")
    plain, moved = (tflmgen(*words, *place).json for place in ((), ("--place", "code=ssram23")))
    assert plain["sets"][0]["instructions"] <= moved["sets"][0]["instructions"] + 10
    waits = [report["sets"][0]["flash"]["code_wait_cycles"] for report in (plain, moved)]
    assert waits[1] < waits[0] / 20
    ram = [report["memory"]["ram_bytes"] for report in (plain, moved)]
    assert ram[1] - ram[0] > 0.9 * plain["memory"]["code_bytes"]


def test_what_the_linker_finds_too_large_is_told_by_its_memory(board: Path, tmp_path: Path) -> None:
    finished = tflmgen("build", GATE, "--board", board, "-o", tmp_path / "p", "--place", "data=fast")
    assert finished.code == 1
    assert "the RAM of board three_memories leaves less than 4,096 bytes for the stack" in finished.err
