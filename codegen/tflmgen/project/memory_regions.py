"""Which of a board's memories holds the arena, the state, the weights, the code and other data: --place WHAT=MEMORY."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tflmgen.errors import UsageError
from tflmgen.options import BuildOptions
from tflmgen.project.board import PLACED, Board, load_board
from tflmgen.project.elf import SHF_ALLOC, SHT_NOBITS, read_elf


def board_for(name: str, options: BuildOptions) -> Board:
    """The board called `name`, with the options' --place. UsageError for a memory that it doesn't have."""
    return placed(load_board(name), options.place or ())


def placed(board: Board, wishes: Sequence[str]) -> Board:
    """`board` with each "WHAT=MEMORY" of `wishes` in its placement; case doesn't matter."""
    places = dict(board.placement)
    memories = {memory.name.lower(): memory for memory in board.memories}
    for wish in wishes:
        what, equals, name = wish.lower().partition("=")
        if board.is_host:
            raise UsageError(f"--place {wish}: this computer has but one memory")
        if not equals or what not in PLACED:
            raise UsageError(f"--place {wish}: not of the form WHAT=MEMORY, WHAT being one of {', '.join(PLACED)}")
        fitting = [memory.name for memory in board.memories if memory.kind == PLACED[what]]
        if name not in memories:
            raise UsageError(f"--place {wish}: board {board.id} has no such memory. For {what}: {', '.join(fitting)}")
        if memories[name].name not in fitting:
            raise UsageError(f"--place {wish}: {memories[name].name} is {memories[name].kind}, not {PLACED[what]}")
        places[what] = memories[name].name
    return replace(board, placement=tuple(places.items()))


def memory_use(elf: Path, board: Board) -> dict[str, int]:
    """Bytes that a firmware takes of each of the board's memories, without the stack, the initial contents included."""
    use = {memory.name: 0 for memory in board.memories}
    for section in read_elf(elf).sections:
        for memory in board.memories:
            if section.flags & SHF_ALLOC and memory.origin <= section.address < memory.origin + memory.size:
                use[memory.name] += section.size
                if memory.kind == "ram" and section.type != SHT_NOBITS:
                    use[dict(board.placement)["code"]] += section.size
    return use
