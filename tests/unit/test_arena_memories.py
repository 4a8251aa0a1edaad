"""An arena in several memories: what lies where, and the plans and C texts that the proof refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from support.well_known import well_known
from tflmgen.compiler import Compilation, check_sources, compile_model
from tflmgen.errors import InternalError, UsageError
from tflmgen.hardware.board import Board, Memory, load_board
from tflmgen.hardware.memory_regions import placed
from tflmgen.ir.kernel import ArenaRooms
from tflmgen.ir.program import Access, Argument, Fixed, KernelCall, Program, Work
from tflmgen.options import BuildOptions, Validate
from tflmgen.proof.symbolic_memory import check_memory
from tflmgen.settings import parse_options

PLAIN = load_board("mps2_an386")
ROOM = 32 << 10


def with_rooms(board: Board, *sizes: int) -> Board:
    """`board` with RAMs TCM0, TCM1 ... beside its own."""
    tcms = tuple(Memory(f"TCM{i}", 0x30000000 + (i << 20), size, "ram") for i, size in enumerate(sizes))
    return replace(board, memories=(*board.memories, *tcms))


def compiled(path: Path, board: Board) -> Compilation:
    return compile_model(path, board.target, BuildOptions("net", validate=Validate.OFF))


@pytest.fixture(scope="module")
def resnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return well_known("mlperf_ic_resnet_int8", tmp_path_factory.mktemp("resnet"))


@pytest.fixture(scope="module")
def divided(resnet: Path) -> Compilation:
    return compiled(resnet, placed(with_rooms(PLAIN, ROOM), ["arena=tcm0+ssram23"]))


def test_each_part_fits_its_memory(divided: Compilation) -> None:
    first, second = divided.plan["arena"]["parts"]
    assert 0 < first <= ROOM
    assert second > 0
    assert first + second == divided.plan["arena"]["bytes"]


def test_no_buffer_lies_in_two_memories(divided: Compilation) -> None:
    ends = [*divided.program.arena_starts, divided.program.arena_bytes]
    for buffer in divided.plan["buffers"]:
        begin, end = buffer["offset"], buffer["offset"] + buffer["bytes"]
        assert any(low <= begin and end <= high for low, high in pairwise(ends))


def test_three_memories(resnet: Path) -> None:
    board = placed(with_rooms(PLAIN, 8 << 10, 16 << 10), ["arena=tcm0+tcm1+ssram23"])
    plan = compiled(resnet, board).plan
    assert all(size <= room for size, room in zip(plan["arena"]["parts"], (8 << 10, 16 << 10), strict=False))
    assert len(plan["arena"]["parts"]) == 3


def test_scratch_that_is_read_for_each_product_is_in_the_first(divided: Compilation) -> None:
    scratch = [b for b in divided.plan["buffers"] if b["name"].startswith("scratch")]
    assert scratch
    assert all(b["offset"] + b["bytes"] <= divided.program.arena_starts[1] for b in scratch)


def test_what_fits_the_first_memory_is_as_without(resnet: Path) -> None:
    plain = compiled(resnet, PLAIN)
    roomy = compiled(resnet, placed(with_rooms(PLAIN, 1 << 20), ["arena=tcm0+ssram23"]))
    assert roomy.sources.files == plain.sources.files
    assert "parts" not in roomy.plan["arena"]


def test_patterns_decide_for_tensors(resnet: Path, divided: Compilation) -> None:
    board = with_rooms(PLAIN, ROOM)
    (port,) = divided.plan["signatures"][0]["inputs"]
    places = {}
    for memory in ("TCM0", "SSRAM23"):
        plan = compiled(resnet, placed(board, ["arena=tcm0+ssram23", f"arena:{port['name'][:5]}*={memory}"])).plan
        places[memory] = plan["signatures"][0]["inputs"][0]["offset"] >= plan["arena"]["parts"][0]
    assert places == {"TCM0": False, "SSRAM23": True}


def test_room_is_left_for_stack_variables_and_state() -> None:
    board = replace(PLAIN, stack=4096)
    target = placed(with_rooms(board, ROOM), ["arena=ssram23+tcm0", "state=tcm0"]).target
    assert target.arena == ArenaRooms(((4 << 20) - 64 - 4096 - 8192,), 1)


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        (["arena=tcm0+tcm0"], "stands there twice"),
        (["arena=tcm0+tcm9"], "has no such memory"),
        (["state=tcm0+ssram23"], "has no such memory"),
        (["arena:conv*=tcm0"], "Let it go on there: --place arena=SSRAM23"),
        (["weights:conv*=ssram1"], "not of the form"),
    ],
)
def test_wrong_wishes(wishes: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        placed(with_rooms(PLAIN, ROOM), wishes)
    assert message in str(caught.value)


@pytest.mark.parametrize("options", [BuildOptions(check_memory=True), BuildOptions(reentrant=True)])
def test_options_of_one_array(options: BuildOptions) -> None:
    with pytest.raises(UsageError, match="both have one array"):
        parse_options(replace(options, place=["arena=tcm0+ssram23"]))


def moved(program: Program, move: Callable[[int], int]) -> Program:
    """The program with each operand of its calls, and its interface, at another offset of the arena."""

    def access(old: Access) -> Access:
        return replace(old, place=Fixed(move(old.place.offset))) if isinstance(old.place, Fixed) else old

    def argument(old: Argument) -> Argument:
        if isinstance(old, Work):
            return replace(old, place=Fixed(move(old.place.offset))) if isinstance(old.place, Fixed) else old
        return replace(old, access=access(old.access))

    (function,) = program.functions
    body = tuple(
        replace(i, arguments=tuple(map(argument, i.arguments))) if isinstance(i, KernelCall) else i
        for i in function.body
    )
    inputs, results = tuple(map(access, function.inputs)), tuple(map(access, function.results))
    return replace(program, functions=(replace(function, body=body, inputs=inputs, results=results),))


def test_a_place_across_two_memories_is_refused(divided: Compilation) -> None:
    program, constants = divided.program, divided.module.constants
    check_memory(moved(program, lambda offset: offset), constants)
    for shift in (8, -8):
        starts = (0, program.arena_starts[1] + shift)
        with pytest.raises(InternalError, match="two memories"):
            check_memory(replace(program, arena_starts=starts), constants)


def test_buffers_of_the_second_memory_over_those_of_the_first_are_refused(divided: Compilation) -> None:
    start = divided.program.arena_starts[1]
    with pytest.raises(InternalError):
        check_memory(moved(divided.program, lambda offset: offset % start), divided.module.constants)


TEXTS: dict[str, Callable[[str], str]] = {
    "first for second": lambda text: text.replace(", AT(", ", AT_1(", 1),
    "array of another size": lambda text: text.replace("arena_1[", "arena_1[1", 1),
    "macro of the other array": lambda text: text.replace("(arena_1 + ", "(arena + "),
    "no second array": lambda text: text.replace("TFLMGEN_ARENA_PART(1) static uint8_t arena_1", "static char arena_1"),
}


@pytest.mark.parametrize("change", TEXTS.values(), ids=TEXTS.keys())
def test_texts_that_use_another_array_are_refused(divided: Compilation, change: Callable[[str], str]) -> None:
    files = divided.sources.files
    check_sources(divided.program, "net", divided.sources)
    changed = change(files["src/net.c"])
    assert changed != files["src/net.c"]
    with pytest.raises(InternalError):
        check_sources(divided.program, "net", replace(divided.sources, files={**files, "src/net.c": changed}))


def test_a_place_behind_the_end_of_its_array_is_refused(divided: Compilation) -> None:
    """The offset of a place in the second array, counted on from the first: the same number, but another address."""
    text, start = divided.sources.files["src/net.c"], divided.program.arena_starts[1]
    line = next(line for line in text.splitlines() if "AT_1(" in line and "define" not in line)
    name = line.split("AT_1(")[1].split(")")[0]
    offset = next(line for line in text.splitlines() if f"at_{name} = " in line).split(" = ")[1].split(",")[0]
    changed = text.replace(f"at_{name} = {offset},", f"at_{name} = {int(offset) + start},")
    changed = changed.replace(f"AT_1({name})", f"AT({name})")
    sources = replace(divided.sources, files={**divided.sources.files, "src/net.c": changed})
    with pytest.raises(InternalError, match="leaves its array"):
        check_sources(divided.program, "net", sources)
