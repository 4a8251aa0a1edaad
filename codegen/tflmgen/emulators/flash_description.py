"""A board's flash as the counting plugin reads it (firmware/count/flash.h)."""

from __future__ import annotations

from collections.abc import Iterator

from tflmgen.emulators.cycle_models import CYCLE_MODELS
from tflmgen.project import Board


def describe_flash(board: Board) -> str:
    """Lines of the description; empty where the board's wait states are not known."""
    return "".join(f"{line}\n" for line in _lines(board))


def _lines(board: Board) -> Iterator[str]:
    flash = board.flash
    if flash is None:
        return
    for memory in board.memories:
        if memory.kind == "flash":
            yield f"region {memory.origin:x} {memory.size:x}"
    yield f"read {flash.read_bytes}"
    yield f"wait {flash.wait_cycles}"
    if flash.prefetch:
        yield "prefetch"
    if board.core in CYCLE_MODELS and CYCLE_MODELS[board.core].uses_low:
        yield "low"
    for name, cache in (("code", flash.code_cache), ("constants", flash.constant_cache)):
        if cache is not None:
            yield f"{name} {cache.sets} {cache.associativity} {cache.line_bytes}"
    if flash.unified:
        yield "unified"
