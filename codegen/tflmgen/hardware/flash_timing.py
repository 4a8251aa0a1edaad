"""Wait states of a board's flash at the chip's rated clock, from board.json's `flash`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tflmgen.ir.kernel import Target


@dataclass(frozen=True, slots=True)
class FlashCache:
    """A set-associative cache of `lines` lines of `line_bytes` bytes; `associativity` lines form a set."""

    lines: int
    line_bytes: int
    associativity: int

    @property
    def bytes(self) -> int:
        """Bytes that it holds."""
        return self.lines * self.line_bytes

    @property
    def sets(self) -> int:
        """Number of sets."""
        return self.lines // self.associativity


@dataclass(frozen=True, slots=True)
class FlashTiming:
    """Cost of reads from a chip's flash, with all accelerators enabled.

    Attributes:
        board: Id of the board whose chip it describes.
        clock: Rated clock of the core in Hz.
        wait_states: Clock cycles of the flash that a read takes beyond one.
        sequential_wait_states: The same of a read behind the one before.
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
    sequential_wait_states: int
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

    @property
    def makes_code_wait(self) -> bool:
        """Whether the core waits for much of its code: without a cache, or where loops exceed it."""
        return self.wait_cycles > 0 and (self.code_cache is None or _outgrown(self, self.code_cache))

    @property
    def sequential_wait_cycles(self) -> int:
        """Cycles of the core that a read behind the one before takes beyond one."""
        return (self.sequential_wait_states + 1) * self.divider - 1


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
        sequential_wait_states=data.get("sequential_wait_states", data["wait_states"]),
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


REUSE = 2.5
"""Multiplications per byte of weights and read of it: convolutions compute some pixels at a time."""

CYCLES_PER_INSTRUCTION = 1.45
"""Average of kernels, on any core: 1.25 to 1.49 on MLPerf Tiny's models."""

SMALL_CACHE = 2048
"""Bytes below which an instruction cache does not hold the inner loops of a convolution that are unrolled for speed."""

OUTSIDE_LOOPS = 0.013
"""Part of a layer's instructions that wait where the cache holds its inner loop, but not what is around it."""


def estimated_waits(timing: FlashTiming, step: Mapping[str, Any]) -> int:
    """Cycles that one execution of an operator waits for flash, from its entry in plan.json.

    Weights that the data cache holds or that are prefetched are read once, others as often as pixels are computed. Code
    of windows waits where the cache is smaller than what a layer calls. With the cycles, MLPerf Tiny's models come
    within 20 % of what `bench` finds by running them; a test holds it.
    """
    instructions = step["expected"]["cycles"] / CYCLES_PER_INSTRUCTION
    code = instructions * _waits_per_instruction(timing, bool(step.get("window")))
    if fetched := step.get("fetched_bytes", 0):
        return int(timing.sequential_wait_cycles * fetched / timing.read_bytes + code)
    return int(_reads(timing, step["weights_bytes"] or 0, step["macs"] or 0) + code)


def _reads(timing: FlashTiming, weights: int, macs: int) -> float:
    cache = timing.code_cache if timing.unified else timing.constant_cache
    if cache is None:
        # Each word waits, as often as it is loaded.
        return timing.sequential_wait_cycles * max(weights, macs / REUSE) / 4
    read = weights if weights <= cache.bytes else max(weights, macs / REUSE)
    return timing.sequential_wait_cycles * read / timing.read_bytes


def with_waits(target: Target, timing: FlashTiming | None, *, code_in_ram: bool) -> Target:
    """`target` with what the compiler is to know of the flash."""
    if timing is None:
        return target
    code, constants = timing.code_cache, timing.code_cache if timing.unified else timing.constant_cache
    return replace(
        target,
        code_cache=code.bytes if code and _outgrown(timing, code) and not code_in_ram else 0,
        constant_cache=constants.bytes if constants else 0,
        # Without a cache each word waits.
        constant_waits=timing.sequential_wait_cycles / (timing.read_bytes if constants else 4),
    )


def _outgrown(timing: FlashTiming, cache: FlashCache) -> bool:
    """Whether inner loops of convolutions exceed the instruction cache, and wait for each of its lines."""
    return cache.bytes < SMALL_CACHE and cache.line_bytes > timing.read_bytes


def _waits_per_instruction(timing: FlashTiming, has_window: bool) -> float:
    cache = timing.code_cache
    if cache is None:
        return timing.wait_cycles * (0.03 if timing.prefetch else 3 / timing.read_bytes)
    if not has_window or not _outgrown(timing, cache):
        return 0.0
    return OUTSIDE_LOOPS * timing.wait_cycles
