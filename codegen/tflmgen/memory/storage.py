"""SSA destruction over the schedule: values that share a home, and copies of bytes where they cannot.

Views and loop outputs are other names of one value. Then each boundary's (value, source) pair, deepest loop and largest
first, and each element-wise operator's (output, dying input) pair are merged into one home where their live ranges
meet at that one step only (aggressive coalescing after Chaitin, with the "copies do not interfere" rule of Boissinot
et al., 2009). What cannot be merged is moved: a parallel move, put in order, with one temporary per cycle.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from tflmgen.ir.graph import Value
from tflmgen.ir.kernel import Kernel, Pieces, Scratch, View
from tflmgen.ir.streams import Called, Computation
from tflmgen.kernels import Selection
from tflmgen.memory.homes import HomeBuffer, Homes, Spot
from tflmgen.memory.liveness import Liveness
from tflmgen.memory.moves import Copy, sequence_copies
from tflmgen.memory.overlap import Overlaps, claimed_inputs, find_overlaps
from tflmgen.memory.rotation import plan_rotations
from tflmgen.memory.schedule_tree import Boundary, Schedule, ScheduleItem, Step, WhileStep, boundaries, walk_items

Join = Literal["cheap", "all", "none"]
JOINS: tuple[Join, ...] = ("cheap", "all", "none")


@dataclass(frozen=True, slots=True)
class Move:
    """Data movement at a boundary: copies in order, then a rotation of pointers (both are often empty).

    rotation: (buffer, the buffer whose place it takes). Afterwards each value has its source's contents.
    """

    boundary: Boundary
    copies: tuple[Copy, ...]
    rotation: tuple[tuple[int, int], ...]
    in_loop: bool


@dataclass(frozen=True, slots=True)
class Storage:
    """Every decision on homes. Buffers whose live ranges meet must be disjoint in the arena.

    home: value -> spot in a buffer. scratch: (step, operand position) -> buffer. moves: boundary step -> Move. groups:
    the buffers that change places with one another. overlaps: the pairs that need not be disjoint.
    """

    buffers: tuple[HomeBuffer, ...]
    home: Mapping[Value, Spot]
    scratch: Mapping[tuple[int, int], int]
    moves: Mapping[int, Move]
    groups: tuple[tuple[int, ...], ...]
    overlaps: Overlaps


def assign(
    schedule: Schedule,
    selection: Selection,
    liveness: Liveness,
    variables: Collection[Value] = (),
    join: Join = "cheap",
    separate_backward: bool = False,
    by_multiples: bool = False,
) -> Storage:
    """Homes for all values, `variables` among them, and scratch of a program, and the moves that remain.

    join               pieces (outputs of a SPLIT, operands of a CONCATENATION) that lie in the whole tensor: those for
    which it is cheap by bytes times steps, all possible, or none
    separate_backward  outputs of kernels that can go backward get homes of their own, before or behind their inputs
    by_multiples       see find_overlaps
    """
    items = [pair for f in schedule.functions for pair in walk_items(f.body)]
    homes = Homes(liveness)
    for item, _ in items:
        _join_names(homes, item, selection)
    moved = list(_boundary_pairs(homes, schedule, liveness))
    in_place = list(_in_place_pairs(homes, items, selection, liveness, separate_backward))
    pieces = list(_pieces(homes, items, selection, liveness))
    _merge(homes, moved)
    if join != "none":
        for parts in pieces:
            homes.merge_all(parts, only_if_cheap=join == "cheap")
    _merge(homes, in_place)
    buffers, home = _buffers(homes, variables)
    scratch = _add_scratch(buffers, items, selection)
    rotations = plan_rotations(schedule, buffers, home, liveness)
    moves = {
        boundary.index: _move(boundary, home, buffers, rotations.cycles.get(boundary.index, {}), depth > 0)
        for boundary, depth in boundaries(schedule)
    }
    fixed = frozenset(i for group in rotations.groups for i in group)
    fixed |= {i for i, b in enumerate(buffers) if b.memory != "arena"}
    overlaps = find_overlaps((item for item, _ in items), selection, liveness, buffers, home, fixed, by_multiples)
    return Storage(tuple(buffers), home, scratch, moves, rotations.groups, overlaps)


def _buffers(homes: Homes, variables: Collection[Value]) -> tuple[list[HomeBuffer], dict[Value, Spot]]:
    """The finished homes, and where in them each value lies."""
    finished = homes.finished()
    spots = {
        value: Spot(index, at - begin)
        for index, home in enumerate(finished)
        for begin, _ in (home.span,)
        for group, at in home.offsets.items()
        for value in group.values
    }
    return [home.buffer(variables) for home in finished], spots


def _move(
    boundary: Boundary,
    home: Mapping[Value, Spot],
    buffers: list[HomeBuffer],
    rotation: Mapping[int, int],
    in_loop: bool,
) -> Move:
    copies = sequence_copies(boundary, home, buffers, rotation)
    return Move(boundary, copies, tuple(sorted(rotation.items())), in_loop)


def _merge(homes: Homes, pairs: list[_Pair]) -> None:
    for pair in sorted(pairs, key=lambda p: (-p.depth, -p.bytes, p.step)):
        homes.merge(pair.value, pair.source)


def _pieces(
    homes: Homes, items: list[tuple[ScheduleItem, int]], selection: Selection, liveness: Liveness
) -> list[list[tuple[Value, Value, int]]]:
    """(output, input, offset) of values that could share a home, for each operator made of pieces.

    Operators in the innermost loops and the largest ones come first.
    """
    candidates = []
    for item, depth in items:
        kernel = selection.of(item.op) if isinstance(item, Step) else None
        if not isinstance(item, Step) or not isinstance(kernel, Pieces):
            continue
        pieces = []
        for part in kernel.parts:
            source, output = item.op.inputs[part.input], item.op.outputs[part.output]
            if source is None or source.is_constant:
                continue
            pieces.append((output, source, part.input_offset - part.output_offset))
            homes.is_piece(*pieces[-1])
            if len(kernel.parts) == 1:
                # One part alone may move within its home: nothing else is overwritten before it is read.
                homes.may_share(item.index, output, {source}, liveness.dying[item.index], is_move=True)
        candidates.append((-depth, -sum(p.bytes for p in kernel.parts), item.index, pieces))
    return [pieces for *_, pieces in sorted(candidates, key=lambda candidate: candidate[:3])]


def _join_names(homes: Homes, item: ScheduleItem, selection: Selection) -> None:
    if isinstance(item, WhileStep):
        for output, variable in zip(item.node.outputs, item.node.variables, strict=True):
            homes.join_names(output, variable)
    elif isinstance(item, Step):
        kernel = selection.of(item.op)
        if isinstance(kernel, View):
            source = item.op.inputs[kernel.input]
            assert source is not None
            homes.join_names(item.op.outputs[0], source)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two values that had better share a home: a move, or an operator in place, `depth` loops deep."""

    value: Value
    source: Value
    step: int
    depth: int

    @property
    def bytes(self) -> int:
        return self.value.type.bytes


def _boundary_pairs(homes: Homes, schedule: Schedule, liveness: Liveness) -> Iterator[_Pair]:
    for boundary, depth in boundaries(schedule):
        for value, source in zip(boundary.values, boundary.sources, strict=True):
            if not source.is_constant:
                homes.may_share(boundary.index, value, {source}, liveness.dying[boundary.index], is_move=True)
                yield _Pair(value, source, boundary.index, depth)


def _in_place_pairs(
    homes: Homes,
    items: list[tuple[ScheduleItem, int]],
    selection: Selection,
    liveness: Liveness,
    separate_backward: bool,
) -> Iterator[_Pair]:
    for item, depth in items:
        kernel = selection.of(item.op) if isinstance(item, Step) else None
        if (
            not isinstance(item, Step)
            or not isinstance(kernel, Called)
            or (separate_backward and _can_go_backward(kernel))
        ):
            continue
        dying = liveness.dying[item.index]
        for overlap in kernel.overlaps:
            output, source = item.op.outputs[overlap.output], item.op.inputs[overlap.input]
            if overlap.distance or source not in dying or homes.size(source) != homes.size(output):
                continue
            allowed = claimed_inputs(item.op, kernel, overlap.output, max_distance=0)
            if source not in allowed:
                continue
            homes.may_share(item.index, output, {v for v in allowed if v in homes.names(source)}, dying)
            yield _Pair(output, source, item.index, depth)


def _add_scratch(
    buffers: list[HomeBuffer], items: list[tuple[ScheduleItem, int]], selection: Selection
) -> dict[tuple[int, int], int]:
    scratch = {}
    for step, position, operand in scratch_operands((item for item, _ in items), selection):
        scratch[step.index, position] = len(buffers)
        name = f"scratch of {step.op.origin.operator_name} {step.op.origin.operator}"
        buffers.append(HomeBuffer(name, -(-operand.bytes // 4) * 4, operand.alignment, 1 << step.index))
    return scratch


def scratch_operands(items: Iterable[ScheduleItem], selection: Selection) -> Iterator[tuple[Step, int, Scratch]]:
    """Scratch that the kernels of operators need: step, position among the kernel's operands, and the operand."""
    for item in items:
        kernel = selection.of(item.op) if isinstance(item, Step) else None
        if isinstance(item, Step) and isinstance(kernel, Called):
            for position, operand in enumerate(kernel.operands):
                if isinstance(operand, Scratch) and operand.bytes:
                    yield item, position, operand


def has_pieces(selection: Selection) -> bool:
    """Whether `join` makes a difference."""
    return any(isinstance(kernel, Pieces) for kernel in selection.computations)


def has_backward(selection: Selection) -> bool:
    """Whether `separate_backward` makes a difference."""
    return any(_can_go_backward(kernel) for kernel in selection.computations)


def _can_go_backward(kernel: Computation) -> bool:
    """Whether a kernel may take its elements from the last to the first."""
    return isinstance(kernel, Kernel) and kernel.backward is not None


def copied_in_loops(storage: Storage) -> int:
    """Bytes that the back edges of all loops, and other boundaries inside them, move from variable to variable."""
    return sum(c.bytes for m in storage.moves.values() if m.in_loop for c in m.copies if isinstance(c.source, Spot))
