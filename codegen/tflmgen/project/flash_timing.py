"""Wait states of a board's flash at the chip's rated clock, from board.json's `flash`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FlashCache:
    """A set-associative cache of `lines` lines of `line_bytes` bytes; `associativity` lines form a set."""

    lines: int
    line_bytes: int
    associativity: int

    @property
    def sets(self) -> int:
        """Number of sets."""
        return self.lines // self.associativity


@dataclass(frozen=True, slots=True)
class FlashTiming:
    """What reads from a chip's flash cost, with all accelerators enabled.

    Attributes:
        board: Id of the board whose chip it describes.
        clock: Rated clock of the core in Hz.
        wait_states: Clock cycles of the flash that a read takes beyond one.
        divider: Cycles of the core per clock cycle of the flash.
        read_bytes: Bytes of one read.
        prefetch: Whether the flash reads the next line ahead while code of this one runs.
        code_cache: Cache of instruction fetches; None if there is none.
        constant_cache: Cache of loads from flash; None if there is none.
        unified: Whether loads use `code_cache`.
        source: Manual and table.
    """

    board: str
    clock: int
    wait_states: int
    divider: int
    read_bytes: int
    prefetch: bool
    code_cache: FlashCache | None
    constant_cache: FlashCache | None
    unified: bool
    source: str

    @property
    def wait_cycles(self) -> int:
        """Cycles of the core that a read takes beyond one."""
        return (self.wait_states + 1) * self.divider - 1


def flash_timing(board: str, data: Mapping[str, Any] | None) -> FlashTiming | None:
    """The timing of board.json's `flash`; None where the board has none."""
    if data is None:
        return None
    caches = {
        name: FlashCache(data[name]["lines"], data[name]["line_bytes"], data[name]["ways"])
        for name in ("instruction_cache", "data_cache", "cache")
        if name in data
    }
    return FlashTiming(
        board=board,
        clock=data["clock"],
        wait_states=data["wait_states"],
        divider=data.get("divider", 1),
        read_bytes=data["read_bytes"],
        prefetch=data.get("prefetch", False),
        code_cache=caches.get("cache", caches.get("instruction_cache")),
        constant_cache=caches.get("data_cache"),
        unified="cache" in caches,
        source=data["source"],
    )


def cache_problems(timing: FlashTiming) -> list[str]:
    """Contradictions between the numbers of caches and reads, which a schema cannot express."""
    problems = []
    for name, cache in (("code", timing.code_cache), ("constants", timing.constant_cache)):
        if cache is None:
            continue
        if cache.lines % cache.associativity:
            problems.append(f"$.flash: {cache.lines} cache lines for {name} do not make sets of {cache.associativity}")
        reads, rest = divmod(cache.line_bytes, timing.read_bytes)
        if rest or not 1 <= reads <= MAX_READS_PER_LINE:
            problems.append(
                f"$.flash: a cache line of {cache.line_bytes} bytes for {name} is not 1 to {MAX_READS_PER_LINE} reads "
                f"of {timing.read_bytes}"
            )
    return problems


MAX_READS_PER_LINE = 32
"""Reads of one cache line that firmware/count/flash.c keeps apart."""
