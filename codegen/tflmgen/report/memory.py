"""Bars of a board's memories: contents beside capacity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tflmgen.hardware import Board, Memory
from tflmgen.project import arena_parts, state_bytes
from tflmgen.report.steps import Plan
from tflmgen.report.tables import BarPart
from tflmgen.terminal import readable, share

ZOOMED = 16
"""Ratio of capacity to use above which a bar shows only the beginning of its memory."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Bar of one memory, in bytes.

    shown  bytes that the bar represents: less than `total` if only a small part is used
    """

    title: str
    used: int
    total: int
    shown: int
    parts: tuple[BarPart, ...]

    @property
    def is_cut(self) -> bool:
        """Whether the bar shows fewer bytes than the memory has."""
        return self.shown < self.total

    @property
    def scale(self) -> str:
        """Label of the bar's range; empty if it is the whole memory."""
        return f"the bar shows the first {readable(self.shown)} of {readable(self.total)}" if self.is_cut else ""

    @property
    def text(self) -> str:
        """Used bytes, and out of how many if the capacity is known."""
        if not self.total:
            return f"{readable(self.used)}"
        return f"{readable(self.used)} of {readable(self.total)}, {share(self.used, self.total)} %"


KINDS = {"ram": "RAM", "flash": "Flash"}
IN_FLASH = frozenset({"weights", "code"})


def memory_bars(plan: Plan, board: Board, firmware: Mapping[str, Any] | None) -> list[Bar]:
    """One bar per memory in use, RAM first. Without `firmware` they contain the model only."""
    places = dict(board.placement)
    parts_by_memory: dict[str, list[tuple[str, int, str]]] = {}
    for section, title, size, style in _placed(plan, firmware):
        kind = KINDS["flash" if section in IN_FLASH else "ram"]
        pieces = [(places.get(section, kind), size)]
        if section == "arena" and not board.is_host:
            pieces = arena_parts(plan, board)
        for memory, piece in pieces:
            parts_by_memory.setdefault(memory, []).append((title, piece, style))
    memories = sorted(board.memories, key=lambda m: m.kind != "ram")
    limits = {m.name: (_memory_title(m), m.size) for m in memories} or {kind: (kind, 0) for kind in KINDS.values()}
    return [_bar(*limits[name], parts_by_memory[name]) for name in limits if name in parts_by_memory]


def _memory_title(memory: Memory) -> str:
    kind = KINDS[memory.kind]
    return kind if memory.name.lower() == memory.kind else f"{kind} {memory.name}"


def _placed(plan: Plan, firmware: Mapping[str, Any] | None) -> Iterator[tuple[str, str, int, str]]:
    """(section of the linker script, title, bytes, colour)"""
    arena, state = plan["arena"]["bytes"], state_bytes(plan)
    weights = plan["weights"]["bytes"]
    yield "arena", "arena", arena, "c0"
    yield "state", "state", state, "c1"
    if firmware is not None:
        yield "data", "other variables", firmware["data"] + firmware["bss"] - arena - state, "c2"
        yield "data", "stack of an invoke, at most", firmware["stack_worst_case"] or 0, "c3"
    yield "weights", "weights", weights, "c0"
    if firmware is not None:
        yield "code", "code of the model", firmware["code_bytes"], "c1"
        image = firmware["text"] + firmware["data"]
        yield "code", "start-up, test server", image - weights - firmware["code_bytes"], "c2"


def _bar(title: str, limit: int, parts: list[tuple[str, int, str]]) -> Bar:
    used = sum(size for _, size, _ in parts)
    total = max(limit, used, 1)
    if used and used * ZOOMED < limit:
        total = min(limit, 1 << (used * 5 // 4).bit_length())
    displayed = [BarPart(title, size, 100 * size / total, style) for title, size, style in parts if size > 0]
    return Bar(title, used, limit, total, tuple(displayed))
