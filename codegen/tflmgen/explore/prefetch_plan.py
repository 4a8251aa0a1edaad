"""Prefetches: packed weights that are copied to the arena before their operator reads them, where flash is slow.

A convolution reads its weights once for each block of output pixels. Where these reads wait for the flash more than one
copy takes, and the arena has idle bytes while the operator runs, they are copied there. The arena never grows for it.
The copy begins before the operator in front, where the bytes are idle then, too: the hook that makes it may be a DMA.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from tflmgen.explore.search import PlanCandidate
from tflmgen.ir.kernel import ConstantArray, Kernel, Target, View
from tflmgen.kernels.costs import reads_of
from tflmgen.memory import IfStep, ScheduleItem, Sequence, Step, WhileStep, runs, walk_items

_ALIGNMENT = 8
"""Bytes; of pairs of words that are loaded together."""

_COPY_CYCLES = 40
"""About the cycles of the copying call in prefetch.h on a Cortex-M4, beside its words."""

_WORD_CYCLES = 3
"""About those of a word of it, beside its waits; LDM and STM move four at a time."""


@dataclass(frozen=True, slots=True)
class PrefetchPlan:
    """An operand that is copied to `offset` of the arena; the copy begins in front of step `begin`."""

    step: int
    operand: int
    bytes: int
    offset: int
    begin: int


Prefetches = Mapping[int, PrefetchPlan]
"""Step of the operator that reads the array -> where it is copied to."""


@dataclass(frozen=True, slots=True)
class _Wish:
    """An array that is worth a copy: the cycles that it saves, and the operator in front of its own, if any."""

    saved: float
    step: int
    operator: int
    operand: int
    bytes: int
    begin: int


def plan_prefetches(plan: PlanCandidate, target: Target) -> Prefetches:
    """The copies that save the most cycles come first, each where bytes are left."""
    return {fetch.step: fetch for _, fetch in _granted(plan, target) if fetch is not None}


def unmet_wishes(plan: PlanCandidate, target: Target) -> list[int]:
    """Ids of the operators whose arrays are worth a copy for which no bytes are left, the greatest saving first."""
    return [wish.operator for wish, fetch in _granted(plan, target) if fetch is None]


def constant_cycles(plan: PlanCandidate, target: Target) -> float:
    """Estimated cycles that an invoke waits for packed weights beyond the cache, and copies them."""
    items = (item for function in plan.schedule.functions for item, _ in walk_items(function.body))
    kernels = [plan.selection.of(item.op) for item in items if isinstance(item, Step)]
    waits = sum(_waits(k, o, target) for k in kernels if isinstance(k, Kernel) for _, o in _uncached(k, target))
    return waits - sum(wish.saved for wish, fetch in _granted(plan, target) if fetch is not None)


def copy_cycles(size: int, target: Target) -> float:
    """Estimated cycles in which the core copies `size` bytes from flash."""
    return _COPY_CYCLES + size * (_WORD_CYCLES / 4 + target.constant_waits)


def _granted(plan: PlanCandidate, target: Target) -> list[tuple[_Wish, PrefetchPlan | None]]:
    """Each wish with its copy, None where no bytes are left for it."""
    if not target.constant_waits:
        return []
    sequences = [s for function in plan.schedule.functions for s in _sequences(function.body)]
    wishes = [wish for sequence in sequences for wish in _wishes(sequence, plan, target)]
    taken = _taken(plan, {step for wish in wishes for step in range(wish.begin, wish.step + 1)})
    # Of an arena in several memories only the first, the fastest, is worth a copy.
    room = (*plan.layout.arena.starts[1:], plan.layout.arena.bytes)[0]
    return [(wish, _placed(wish, taken, room)) for wish in sorted(wishes, key=lambda w: (-w.saved, w.step))]


def _placed(wish: _Wish, taken: Mapping[int, list[tuple[int, int]]], room: int) -> PrefetchPlan | None:
    """The copy of an array at a place that is idle, which is noted in `taken`; None where there is none."""
    for first in dict.fromkeys((wish.begin, wish.step)):
        places = [taken[place] for place in range(first, wish.step + 1)]
        offset = _idle_offset(chain.from_iterable(places), wish.bytes, room)
        if offset is not None:
            for bytes_taken in places:
                bytes_taken.append((offset, offset + wish.bytes))
            return PrefetchPlan(wish.step, wish.operand, wish.bytes, offset, first)
    return None


def _sequences(sequence: Sequence) -> Iterator[Sequence]:
    """It, and those inside."""
    yield sequence
    for item in sequence.items:
        for inner in _inside(item):
            yield from _sequences(inner)


def _inside(item: ScheduleItem) -> tuple[Sequence, ...]:
    if isinstance(item, IfStep):
        return item.then, item.orelse
    return (item.condition, item.body) if isinstance(item, WhileStep) else ()


def _wishes(sequence: Sequence, plan: PlanCandidate, target: Target) -> Iterator[_Wish]:
    """The array of each operator whose copy saves the most, if it saves any cycles."""
    before: int | None = None
    for item in sequence.items:
        if not isinstance(item, Step):
            before = None
            continue
        kernel = plan.selection.of(item.op)
        if isinstance(kernel, Kernel):
            saved, operand, size = max(_savings(kernel, target), default=(0, 0, 0))
            if saved > 0:
                yield _Wish(saved, item.index, item.op.id, operand, size, item.index if before is None else before)
            before = item.index
        elif not isinstance(kernel, View):
            before = None


def _savings(kernel: Kernel, target: Target) -> Iterator[tuple[float, int, int]]:
    """(cycles saved, operand, bytes) of a copy of each array."""
    for number, operand in _uncached(kernel, target):
        size = len(operand.data)
        yield _waits(kernel, operand, target) - copy_cycles(size, target), number, size


def _uncached(kernel: Kernel, target: Target) -> Iterator[tuple[int, ConstantArray]]:
    """Number of an operand, and the array that it is, larger than the cache of constants."""
    for number, operand in enumerate(kernel.operands):
        if isinstance(operand, ConstantArray) and len(operand.data) > target.constant_cache:
            yield number, operand


def _waits(kernel: Kernel, array: ConstantArray, target: Target) -> float:
    return reads_of(kernel, array) * len(array.data) * target.constant_waits


def _taken(plan: PlanCandidate, steps: Container[int]) -> Mapping[int, list[tuple[int, int]]]:
    """(first byte, byte behind the last) of each buffer in the arena that is live at these steps, by step."""
    taken: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for offset, buffer in zip(plan.layout.offsets, plan.storage.buffers, strict=True):
        if buffer.memory == "arena":
            for first, last in runs(buffer.steps):
                for step in range(first, last + 1):
                    if step in steps:
                        taken[step].append((offset, offset + buffer.bytes))
    return taken


def _idle_offset(taken: Iterable[tuple[int, int]], size: int, arena: int) -> int | None:
    """The first place of `size` bytes in an arena of so many that is not taken."""
    start = 0
    for begin, end in [*sorted(taken), (arena, arena)]:
        if start + size <= begin:
            return start
        start = max(start, -(-end // _ALIGNMENT) * _ALIGNMENT)
    return None
