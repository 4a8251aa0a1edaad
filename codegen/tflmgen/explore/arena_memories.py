"""The arena's buffers in several RAMs of a board: the most used ones in the fastest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from tflmgen.explore.arena_parts import divide
from tflmgen.explore.search import PlanCandidate
from tflmgen.ir.kernel import ArenaRooms, Input, Operand, Pieces, Scratch
from tflmgen.ir.streams import Called
from tflmgen.memory import Step, walk_items

REUSE = 2.5
"""Multiplications per byte that is read for them: kernels compute some pixels and channels at a time."""

ITERATIONS = 8
"""Estimated trips of each loop around an operator."""


def in_memories(plan: PlanCandidate, arena: ArenaRooms | None) -> PlanCandidate:
    """`plan` with its arena in the RAMs that `arena` lists; as it is for None, and where the first has room for all."""
    if arena is None:
        return plan
    rooms = list(arena.rooms)
    if arena.state_in is not None and arena.state_in < len(rooms):
        rooms[arena.state_in] = max(0, rooms[arena.state_in] - plan.layout.state_bytes)
    counts = _accesses(plan)
    accesses = [counts[i] for i in range(len(plan.storage.buffers))]
    pins = dict(_pins(plan, arena))
    layout = divide(plan.storage, plan.schedule.steps, plan.layout, rooms, accesses, pins)
    return replace(plan, layout=layout)


def _pins(plan: PlanCandidate, arena: ArenaRooms) -> Iterator[tuple[int, int]]:
    for number, buffer in enumerate(plan.storage.buffers):
        names = [buffer.name, *(value.name for value in buffer.values)]
        for pattern, part in arena.pins:
            if buffer.memory == "arena" and any(fnmatchcase(name, pattern) for name in names):
                yield number, part
                break


def _accesses(plan: PlanCandidate) -> Mapping[int, float]:
    """Number of a buffer -> bytes of it that operators read and write in an invoke, each as often as they do.

    Every operand is read or written once. A layer that multiplies reads the factors again for each product: from its
    scratch memory, where it gathers windows, or else from its inputs.
    """
    counts: defaultdict[int, float] = defaultdict(float)
    for function in plan.schedule.functions:
        for item, depth in walk_items(function.body):
            if isinstance(item, Step):
                for buffer, count in _of_step(plan, item):
                    counts[buffer] += count * ITERATIONS**depth
    return counts


def _of_step(plan: PlanCandidate, step: Step) -> Iterator[tuple[int, float]]:
    kernel, home = plan.selection.of(step.op), plan.storage.home
    if not isinstance(kernel, Called | Pieces):
        return
    for value in (*step.op.inputs, *step.op.outputs):
        if value is not None and value in home:
            yield home[value].buffer, value.type.bytes
    if isinstance(kernel, Pieces):
        return
    scratch = [plan.storage.scratch[step.index, i] for i, o in enumerate(kernel.operands) if _is_scratch(o)]
    inputs = [step.op.inputs[o.index] for o in kernel.operands if isinstance(o, Input)]
    factors = scratch or [home[v].buffer for v in inputs if v is not None and v in home]
    for buffer in factors:
        yield buffer, kernel.macs / REUSE / len(factors)


def _is_scratch(operand: Operand) -> bool:
    return isinstance(operand, Scratch) and operand.bytes > 0
