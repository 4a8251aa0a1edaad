"""Which values share a home, and which bytes must move where they don't: SSA destruction over the schedule.

Views and loop outputs are other names of one value. Then each boundary's (value, source) pair, deepest loop and largest
first, and each element-wise operator's (output, dying input) pair are merged into one home where their live ranges
meet at that one step only (aggressive coalescing after Chaitin, with the "copies do not interfere" rule of Boissinot
et al., 2009). What cannot be merged is moved: a parallel move, put in order, with one temporary per cycle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tflmgen.graph import Value
from tflmgen.homes import Homes
from tflmgen.kernel import Kernel, Scratch, View
from tflmgen.liveness import Liveness, runs
from tflmgen.schedule import Boundary, Schedule, ScheduleItem, Step, WhileStep, boundaries_of, walk_items
from tflmgen.select import Selection


@dataclass(frozen=True, slots=True)
class Buffer:
    """A home in the arena: `bytes` (a multiple of 4), live at `steps` (a bit set), holding `values` in turn."""

    name: str
    bytes: int
    alignment: int
    steps: int
    values: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Copy:
    """`bytes` move from a buffer, or from flash where the source is constant, to a buffer."""

    destination: int
    source: int | Value
    bytes: int
    why: str


@dataclass(frozen=True, slots=True)
class Move:
    """What happens at a boundary: copies in order (often none), after which each value has its source's contents."""

    boundary: Boundary
    copies: tuple[Copy, ...]
    in_loop: bool


@dataclass(frozen=True, slots=True)
class Storage:
    """Every decision on homes. Buffers whose live ranges meet must be disjoint in the arena.

    home: value -> buffer. scratch: (step, operand position) -> buffer. moves: boundary step -> Move.
    """

    buffers: tuple[Buffer, ...]
    home: Mapping[Value, int]
    scratch: Mapping[tuple[int, int], int]
    moves: Mapping[int, Move]


def assign(schedule: Schedule, selection: Selection, liveness: Liveness) -> Storage:
    """Homes for all values and scratch of a program, and the moves that remain."""
    items = [pair for f in schedule.functions for pair in walk_items(f.body)]
    homes = Homes(liveness)
    for item, _ in items:
        _join_names(homes, item, selection)
    for boundary, _ in sorted(_boundaries(items), key=lambda pair: (-pair[1], -_bytes(pair[0]), pair[0].index)):
        for value, source in zip(boundary.values, boundary.sources, strict=True):
            if not source.is_constant:
                homes.merge_at(boundary.index, value, {source}, liveness.dying[boundary.index])
    for item, _ in sorted(items, key=lambda pair: (-pair[1], _index(pair[0]))):
        if isinstance(item, Step):
            _merge_in_place(homes, item, selection, liveness)
    buffers = [Buffer(h.name, h.bytes, h.alignment, h.steps, h.values) for h in homes.all()]
    home = {value: index for index, buffer in enumerate(buffers) for value in buffer.values}
    scratch = _add_scratch(buffers, items, selection)
    moves = {
        boundary.index: Move(boundary, _copies(boundary, home, buffers), depth > 0)
        for boundary, depth in _boundaries(items)
    }
    return Storage(tuple(buffers), home, scratch, moves)


def _index(item: ScheduleItem) -> int:
    return item.index


def _bytes(boundary: Boundary) -> int:
    return max((v.type.bytes for v in boundary.values), default=0)


def _boundaries(items: list[tuple[ScheduleItem, int]]) -> Iterator[tuple[Boundary, int]]:
    """Every boundary with its loop depth; a loop's back edge belongs to the loop."""
    for item, depth in items:
        for boundary in boundaries_of(item):
            yield boundary, depth + (boundary.what == "next")


def _join_names(homes: Homes, item: ScheduleItem, selection: Selection) -> None:
    if isinstance(item, WhileStep):
        for output, variable in zip(item.node.outputs, item.node.variables, strict=True):
            homes.same(output, variable)
    elif isinstance(item, Step):
        kernel = selection.of(item.op)
        if isinstance(kernel, View):
            source = item.op.inputs[kernel.input]
            assert source is not None
            homes.same(item.op.outputs[0], source)


def _merge_in_place(homes: Homes, step: Step, selection: Selection, liveness: Liveness) -> None:
    kernel = selection.of(step.op)
    if isinstance(kernel, View):
        return
    for overlap in kernel.overlaps:
        output = step.op.outputs[overlap.output]
        allowed = {step.op.inputs[o.input] for o in kernel.overlaps if o.output == overlap.output and o.distance == 0}
        source = step.op.inputs[overlap.input]
        if source is None or source.is_constant or overlap.distance or homes.size(source) != homes.size(output):
            continue
        sources = {v for v in allowed if v is not None and not v.is_constant}
        if homes.merge_at(step.index, output, sources & homes.names(source), liveness.dying[step.index]):
            return


def _add_scratch(
    buffers: list[Buffer], items: list[tuple[ScheduleItem, int]], selection: Selection
) -> dict[tuple[int, int], int]:
    scratch = {}
    for item, _ in items:
        kernel = selection.of(item.op) if isinstance(item, Step) else None
        if not isinstance(item, Step) or not isinstance(kernel, Kernel):
            continue
        for position, operand in enumerate(kernel.operands):
            if isinstance(operand, Scratch) and operand.bytes:
                scratch[item.index, position] = len(buffers)
                name = f"scratch of {item.op.origin.operator_name} {item.op.origin.operator}"
                buffers.append(Buffer(name, -(-operand.bytes // 4) * 4, operand.alignment, 1 << item.index))
    return scratch


def _copies(boundary: Boundary, home: Mapping[Value, int], buffers: list[Buffer]) -> tuple[Copy, ...]:
    """The parallel move of a boundary as a sequence: a home is overwritten only after its last reader."""
    pending: dict[int, Copy] = {}
    for value, source in zip(boundary.values, boundary.sources, strict=True):
        destination = home[value]
        if source.is_constant:
            pending[destination] = Copy(destination, source, value.type.bytes, "a constant is stored")
        elif home[source] != destination:
            why = _reason(value, source, buffers[destination], buffers[home[source]], boundary.index)
            pending[destination] = Copy(destination, home[source], value.type.bytes, why)
    ordered: list[Copy] = []
    while pending:
        read = {copy.source for copy in pending.values() if isinstance(copy.source, int)}
        free = [d for d in pending if d not in read]
        if free:
            ordered += [pending.pop(d) for d in free]
            continue
        # Only cycles are left: save the smallest member, then its home may be overwritten.
        saved = min(pending, key=lambda d: (pending[d].bytes, d))
        size = next(c.bytes for c in pending.values() if c.source == saved)
        temporary = len(buffers)
        name = f"temporary of {boundary.what} {boundary.index}"
        buffers.append(Buffer(name, -(-size // 4) * 4, buffers[saved].alignment, 1 << boundary.index))
        ordered.append(Copy(temporary, saved, size, "breaks a cycle of variables that change places"))
        for destination, copy in pending.items():
            if copy.source == saved:
                pending[destination] = Copy(destination, temporary, copy.bytes, copy.why)
    return tuple(ordered)


def _reason(value: Value, source: Value, here: Buffer, there: Buffer, boundary: int) -> str:
    """The two values and the step at which both are live and differ."""
    both = here.steps & there.steps & ~(1 << boundary)
    if not both:
        return f"'{value.name}' and '{source.name}' are kept apart by another value at step {boundary}"
    first = next(runs(both))[0]
    return f"'{value.name}' and '{source.name}' are both live at step {first}"
