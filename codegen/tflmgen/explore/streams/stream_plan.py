"""Plans row streaming: places line buffers in one scratch buffer, and lists the kernel calls.

Each inner tensor has a line buffer for the rows that exist at the same time; when it is full, the rows still needed
move to its front. Line buffers and kernel scratch that are not in use at the same ticks share bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tflmgen.explore.streams.lines import Lines, lay_lines
from tflmgen.explore.streams.row_kernels import KernelRanks, RowKernels
from tflmgen.explore.streams.row_order import INPUT, RowOrder, RowProgress, Wiring, order_rows
from tflmgen.explore.streams.row_slices import row_bytes
from tflmgen.ir.kernel import CostedKernel, Kernel, Scratch
from tflmgen.ir.streams import LineBuffer, LineMove, MovingPointer, RowCall
from tflmgen.kernels import scratch_bytes
from tflmgen.kernels.costs import TUNING, cycles_of
from tflmgen.memory import PlacedBlock, peak, place

WORD = 4
"""Alignment in bytes of a stream's line buffers."""


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """Plan of a stream.

    calls     distinct calls
    order     indices into `calls`, in execution order
    work      bytes of line buffers and kernel scratch
    distance  bytes by which the output must begin before the input to overlap it
    """

    calls: tuple[RowCall, ...]
    order: tuple[int, ...]
    work: int
    distance: int
    macs: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimate of a stream with kernels of these ranks: `work` is a lower bound in bytes; `cycles` of the kernels."""

    ranks: KernelRanks
    work: int
    distance: int
    cycles: int


def plan_stream(wiring: Wiring, kernels: RowKernels, ranks: KernelRanks) -> StreamPlan | None:
    """Plan of a stream; None if an operator has no kernel for single rows."""
    planner = _Planner(wiring, kernels)
    kernels_of_ticks = planner.kernels(ranks)
    return planner.plan([costed.kernel for costed in kernels_of_ticks]) if kernels_of_ticks is not None else None


def estimates(wiring: Wiring, kernels: RowKernels) -> Iterator[Estimate]:
    """Estimates with the fastest kernels, then with slower ones, each of less work than the one before.

    In each step, the operators with scratch at the peak of the work memory get their next slower kernel.
    """
    planner = _Planner(wiring, kernels)
    ranks = [0] * len(wiring.operators)
    smallest: int | None = None
    while (kernels_of_ticks := planner.kernels(ranks)) is not None:
        blocks = planner.blocks([costed.kernel for costed in kernels_of_ticks]).blocks
        work, fullest = peak(((b.bytes, b.steps) for b in blocks), len(kernels_of_ticks))
        if smallest is None or work < smallest:
            smallest = work
            cycles = sum(map(cycles_of, kernels_of_ticks))
            yield Estimate(tuple(ranks), work, planner.distance(), cycles)
        slower = {planner.stage(tick) for tick in fullest if scratch_bytes(kernels_of_ticks[tick].kernel)}
        slower = {stage for stage in slower if ranks[stage] < planner.last_rank(stage)}
        if not slower:
            return
        for stage in slower:
            ranks[stage] += 1


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Blocks to place: line buffers by tensor, kernel scratch by operator and operand position."""

    blocks: tuple[PlacedBlock, ...]
    lines: Lines
    placed: Mapping[int, int]
    scratch: Mapping[tuple[int, int], int]


class _Planner:
    def __init__(self, wiring: Wiring, kernels: RowKernels) -> None:
        self._wiring = wiring
        self._source = kernels
        self._last = len(wiring.operators) - 1
        self._bytes = [row_bytes(operator.op.outputs[0]) for operator in wiring.operators]
        self._input_bytes = _input_row_bytes(wiring)
        self._order: RowOrder = order_rows(wiring)
        self._ticks = [0] * len(wiring.operators)
        for tick in self._order.ticks:
            self._ticks[tick.stage] += 1
        self._live = self._live_ticks()
        self._aligned = [self._is_aligned(stage) for stage in range(len(wiring.operators))]

    def stage(self, tick: int) -> int:
        return self._order.ticks[tick].stage

    def last_rank(self, stage: int) -> int:
        """Highest rank of an operator's kernels."""
        return self._source.last_rank(self._wiring.operators[stage], self._aligned[stage])

    def kernels(self, ranks: Sequence[int]) -> list[CostedKernel] | None:
        """Kernel of each tick; None if one has none."""
        of_stages = zip(self._wiring.operators, self._ticks, self._aligned, ranks, strict=True)
        by_stage = [self._source.kernels(*of_stage) for of_stage in of_stages]
        kernels = [by_stage[tick.stage][tick.index] for tick in self._order.ticks]
        complete = [kernel for kernel in kernels if kernel is not None]
        return complete if len(complete) == len(kernels) else None

    def plan(self, kernels: Sequence[Kernel]) -> StreamPlan:
        needed = self.blocks(kernels)
        packed = place(needed.blocks, len(kernels), effort=TUNING.stream_packing_effort)
        calls = list(self._calls(kernels, packed.offsets, needed))
        distinct = list(dict.fromkeys(calls))
        index = {call: i for i, call in enumerate(distinct)}
        macs = sum(kernel.macs for kernel in kernels)
        return StreamPlan(tuple(distinct), tuple(index[c] for c in calls), packed.bytes, self.distance(), macs)

    def _is_aligned(self, stage: int) -> bool:
        """Whether all rows that an operator reads and writes are word-aligned, as fast kernels require."""
        operator = self._wiring.operators[stage]
        is_single_row = stage == self._last and operator.height == 1
        starts = [] if is_single_row else [self._bytes[stage]]
        for tensor in self._wiring.sources[stage]:
            if tensor == INPUT:
                starts += [operator.needs[tick][0] * self._input_bytes for tick in range(operator.ticks)]
            elif self._order.capacity[tensor] > 1:
                starts.append(self._bytes[tensor])
        return all(start % WORD == 0 for start in starts)

    def _live_ticks(self) -> list[int]:
        """Per inner tensor, the bit set of ticks that compute a row of it or before which needed rows exist."""
        rows = RowProgress(self._wiring)
        live = [0] * len(self._wiring.operators)
        since: dict[int, int] = {}
        for number, tick in enumerate(self._order.ticks):
            rows.advance(tick.stage)
            live[tick.stage] |= 1 << number
            for tensor in {tick.stage, *self._wiring.sources[tick.stage]} - {INPUT}:
                if rows.written[tensor] > rows.first_needed(tensor):
                    since.setdefault(tensor, number + 1)
                elif tensor in since:
                    live[tensor] |= (1 << number + 1) - (1 << since.pop(tensor))
        for tensor, first in since.items():
            live[tensor] |= (1 << len(self._order.ticks)) - (1 << first)
        return live

    def blocks(self, kernels: Sequence[Kernel]) -> _Blocks:
        live = list(self._live)
        scratch_bytes: dict[tuple[int, int], int] = {}
        scratch_live: dict[tuple[int, int], int] = {}
        for number, (tick, kernel) in enumerate(zip(self._order.ticks, kernels, strict=True)):
            bit = 1 << number
            for position, operand in enumerate(kernel.operands):
                if isinstance(operand, Scratch) and operand.bytes:
                    key = tick.stage, position
                    scratch_bytes[key] = max(scratch_bytes.get(key, 0), operand.bytes)
                    scratch_live[key] = scratch_live.get(key, 0) | bit
        blocks: list[PlacedBlock] = []
        placed: dict[int, int] = {}
        lines = lay_lines(self._wiring, self._order, kernels, self._bytes)
        for stage, guest in lines.guests.items():
            live[guest.host] |= live[stage]
        visitors = {guest.host: (guest.lead, self._bytes[stage]) for stage, guest in lines.guests.items()}
        for tensor in range(self._last):
            if tensor not in lines.guests:
                placed[tensor] = len(blocks)
                lead, visitor = visitors.get(tensor, (0, 0))
                size = max(lead + lines.slots[tensor] * self._bytes[tensor], visitor)
                blocks.append(PlacedBlock(_words(size), WORD, live[tensor]))
        scratch: dict[tuple[int, int], int] = {}
        for key, size in scratch_bytes.items():
            scratch[key] = len(blocks)
            steps = scratch_live[key]
            if self._wiring.operators[key[0]].reduces:
                steps = _from_first_to_last(steps)
            blocks.append(PlacedBlock(_words(size), WORD, steps))
        return _Blocks(tuple(blocks), lines, placed, scratch)

    def _calls(self, kernels: Sequence[Kernel], offsets: Sequence[int], needed: _Blocks) -> Iterator[RowCall]:
        lines = needed.lines
        begins = {tensor: offsets[block] for tensor, block in needed.placed.items()}
        for stage, guest in lines.guests.items():
            begins[stage] = begins[guest.host]
        for guest in lines.guests.values():
            begins[guest.host] += guest.lead

        def line(tensor: int, slot: int | None) -> LineBuffer:
            return LineBuffer(begins[tensor] + (slot or 0) * self._bytes[tensor])

        for tick, kernel, slots in zip(self._order.ticks, kernels, lines.ticks, strict=True):
            stage = tick.stage
            operator = self._wiring.operators[stage]
            moves: tuple[LineMove, ...] = ()
            if slots.move is not None:
                to, source, count = slots.move
                moves = (LineMove(line(stage, to).offset, line(stage, source).offset, count * self._bytes[stage]),)
            write: LineBuffer | MovingPointer = (
                line(stage, slots.write) if stage < self._last else MovingPointer(0, self._bytes[stage])
            )
            if stage == self._last and operator.height == 1:
                write = MovingPointer(0, 0)
            reads: list[LineBuffer | MovingPointer] = []
            for tensor, slot in zip(self._wiring.sources[stage], slots.reads, strict=True):
                if tensor == INPUT:
                    first, following = (
                        operator.needs[min(t, operator.ticks - 1)][0] for t in (tick.index, tick.index + 1)
                    )
                    reads.append(MovingPointer(1 + self._pointer(stage), (following - first) * self._input_bytes))
                else:
                    reads.append(line(tensor, slot))
            spots = {p: offsets[i] for (s, p), i in needed.scratch.items() if s == stage}
            places = tuple(
                LineBuffer(spots[position]) if position in spots else None for position in range(len(kernel.operands))
            )
            yield RowCall(stage, kernel, moves, tuple(reads), write, places)

    def _pointer(self, stage: int) -> int:
        """Index of an operator's pointer into the input; each reader has its own."""
        return [s for s, sources in enumerate(self._wiring.sources) if INPUT in sources].index(stage)

    def distance(self) -> int:
        rows = RowProgress(self._wiring)
        distance = 0
        for tick in self._order.ticks:
            needed = rows.first_needed(INPUT) * self._input_bytes
            if rows.advance(tick.stage) and tick.stage == self._last:
                distance = max(distance, rows.written[tick.stage] * self._bytes[tick.stage] - needed)
        return distance


def _input_row_bytes(wiring: Wiring) -> int:
    for operator, sources in zip(wiring.operators, wiring.sources, strict=True):
        if INPUT in sources:
            value = operator.op.inputs[operator.data[sources.index(INPUT)]]
            assert value is not None
            return row_bytes(value)
    raise AssertionError("a stream has an input")


def _words(size: int) -> int:
    return -(-size // WORD) * WORD


def _from_first_to_last(steps: int) -> int:
    first = steps & -steps
    return (1 << steps.bit_length()) - first
