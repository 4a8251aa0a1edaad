"""Placement of arena, state, weights, code and other data in a board's memories: --place WHAT=MEMORY."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tflmgen.errors import UsageError
from tflmgen.hardware.board import PLACED, Board, Memory, list_boards, load_board
from tflmgen.options import BuildOptions
from tflmgen.toolchain import SHF_ALLOC, SHT_NOBITS, read_elf


def board_for(name: str, options: BuildOptions) -> Board:
    """The board `name` with the placement of --place. Raises UsageError for an unknown memory."""
    return placed(load_board(name), options.place or ())


def with_flash_of(board: Board, name: str | None) -> Board:
    """`board` with the flash timing of the board `name`, if one is named. Raises UsageError if that is not known."""
    if name is None:
        return board
    flash = load_board(name).flash
    if flash is None:
        described = ", ".join(listed.id for listed in list_boards() if listed.flash)
        raise UsageError(f"--flash-of {name}: the wait states of its flash are not known. Known: {described}")
    return replace(board, flash=flash)


SPREAD = "arena"
"""The section that several memories may hold: --place arena=DTCM+SRAM, and its tensors: --place arena:PATTERN=SRAM."""

AUTO_CODE = "auto"
"""--place code=auto: in a RAM, where the flash makes code wait and a RAM has room."""


def with_code_in_ram(board: Board) -> Board:
    """`board` with the model's code in the largest RAM that the core fetches from, where code waits for the flash; else
    with code in flash.
    """
    fetched = [memory for memory in board.memories if memory.kind == "ram" and memory.executable]
    waits = board.flash is not None and board.flash.makes_code_wait
    largest = max(fetched, key=lambda memory: memory.size, default=None) if waits else None
    return replace(board, code_in=largest.name if largest else "")


def placed(board: Board, wishes: Sequence[str]) -> Board:
    """`board` with the placements `wishes`, "WHAT=MEMORY" each, case-insensitive. Raises UsageError.

    arena=FIRST+SECOND fills the first memory with what is used most, and goes on in the second; arena:PATTERN=MEMORY is
    for tensors whose names match, as in fnmatch, case-sensitive.

    Code placed in RAM is the model's code; the rest of the firmware and the copy for start-up stay in flash.
    """
    places, code_in, beyond, pins = dict(board.placement), board.code_in, board.arena_beyond, list[tuple[str, str]]()
    for wish in wishes:
        target, equals, named = wish.rpartition("=")
        section, colon, pattern = target.partition(":")
        section = section.lower()
        if board.is_host:
            raise UsageError(f"--place {wish}: this computer has only one memory")
        if not equals or section not in PLACED or (colon and section != SPREAD):
            raise UsageError(f"--place {wish}: not of the form WHAT=MEMORY, WHAT being one of {', '.join(PLACED)}")
        if section == "code" and named.lower() == AUTO_CODE:
            code_in = AUTO_CODE
            continue
        names = named.split("+") if section == SPREAD and not colon else [named]
        first, *others = [_memory(board, wish, section, name.lower()) for name in names]
        if colon:
            pins.append((pattern, first.name))
            continue
        if section == "code":
            code_in = first.name if first.kind == "ram" else ""
        if first.kind == PLACED[section]:
            places[section] = first.name
        if section == SPREAD:
            beyond = tuple(memory.name for memory in others)
    if wishes:
        _check_arena([places[SPREAD], *beyond], pins)
    return replace(board, placement=tuple(places.items()), code_in=code_in, arena_beyond=beyond, arena_pins=tuple(pins))


def _memory(board: Board, wish: str, section: str, name: str) -> Memory:
    """The memory `name` of a board. Raises UsageError where it has none that may hold the section."""
    memories = {memory.name.lower(): memory for memory in board.memories}
    fitting = [memory.name for memory in board.memories if _may_hold(memory, section)]
    if name not in memories:
        raise UsageError(f"--place {wish}: board {board.id} has no such memory. For {section}: {', '.join(fitting)}")
    if memories[name].name not in fitting:
        raise UsageError(f"--place {wish}: {_objection(memories[name], section)}")
    return memories[name]


def _check_arena(memories: Sequence[str], pins: Sequence[tuple[str, str]]) -> None:
    """Raises UsageError for a RAM that the arena is in twice, and for tensors in a RAM that it is not in."""
    if len(set(memories)) != len(memories):
        raise UsageError(f"--place arena={'+'.join(memories)}: a memory stands there twice")
    for pattern, name in pins:
        if name not in memories:
            raise UsageError(
                f"--place arena:{pattern}={name}: the arena is in {' and '.join(memories)}. "
                f"Let it go on there: --place arena={'+'.join((*memories, name))}"
            )


def _may_hold(memory: Memory, section: str) -> bool:
    return memory.kind == PLACED[section] or (section == "code" and memory.executable)


def _objection(memory: Memory, section: str) -> str:
    if section == "code":
        return f"the core cannot fetch code from {memory.name}"
    return f"{memory.name} is {memory.kind}, not {PLACED[section]}"


def memory_use(elf: Path, board: Board) -> dict[str, int]:
    """Memory -> bytes used by a firmware, with initial contents and without the stack."""
    use = {memory.name: 0 for memory in board.memories}
    for section in read_elf(elf).sections:
        for memory in board.memories:
            if section.flags & SHF_ALLOC and memory.origin <= section.address < memory.origin + memory.size:
                use[memory.name] += section.size
                if memory.kind == "ram" and section.type != SHT_NOBITS:
                    use[dict(board.placement)["code"]] += section.size
    return use
