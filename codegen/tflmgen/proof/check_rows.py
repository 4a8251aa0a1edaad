"""Proves what runs inside a stream: every row is whole where it is read, and nothing leaves its memory.

The stream's calls are run one after another on memory that holds nothing but tags: (tensor, row) with the offset at
which the row begins. Shares no code with the stage that proposed the stream; the only trust is in which rows a kernel
reads for each row that it makes.
"""

from __future__ import annotations

from collections.abc import Iterator

from tflmgen.errors import InternalError
from tflmgen.ir.program import (
    InputArgument,
    Instruction,
    KernelCall,
    OutputArgument,
    ProgramFunction,
    Rename,
    RowCallAt,
    RowProgram,
    RowStageAt,
    Transfer,
    Work,
)
from tflmgen.ir.streams import LineBuffer, MovingPointer

_INPUT = -1
"""Stands for the stream's input where stages are numbered."""
_SUMS = -1
"""Row number that stands for an operator's scratch."""
_Tag = tuple[int, int, int]
"""Tensor, row, and the offset of the row's first byte."""


def check_rows(call: KernelCall, rows: RowProgram) -> None:
    """Raises InternalError, naming the stream's step, where a row would be read that is not there, or not any more."""
    _Rows(call, rows).run()


def check_waiting(function: ProgramFunction) -> None:
    """Raises InternalError where a stream that takes a row in each invoke does not come first.

    What runs before it would run again for each row.
    """
    for before, instruction in enumerate(function.body):
        waits = isinstance(instruction, KernelCall) and instruction.rows is not None and instruction.error
        if waits and not all(map(_is_free, function.body[:before])):
            raise InternalError(f"step {instruction.step}: a stream that waits for rows does not come first")


def _is_free(instruction: Instruction) -> bool:
    """Whether an instruction is no code."""
    return isinstance(instruction, Rename) or (isinstance(instruction, Transfer) and not instruction.copies)


class _Rows:
    def __init__(self, call: KernelCall, rows: RowProgram) -> None:
        self._step = call.step
        self._rows = rows
        scratch = [a for a in call.arguments if isinstance(a, Work)]
        inputs = [a for a in call.arguments if isinstance(a, InputArgument)]
        outputs = [a for a in call.arguments if isinstance(a, OutputArgument)]
        if not len(scratch) == len(inputs) == len(outputs) == 1:
            raise self._error("takes one input, one output and one scratch")
        self._memory: list[_Tag | None] = [None] * scratch[0].bytes
        self._input_bytes = inputs[0].access.bytes
        self._output_bytes = outputs[0].access.bytes
        self._distance = min((o.distance for o in call.overlaps), default=None)
        self._ticks = [0] * len(rows.stages)
        self._rows_written = [0] * len(rows.stages)
        self._written = 0
        self._pointers: dict[int, int] = {}

    def _error(self, text: str) -> InternalError:
        return InternalError(f"step {self._step}: the stream {text}")

    def run(self) -> None:
        for number in self._rows.order:
            if not 0 <= number < len(self._rows.calls):
                raise self._error(f"has no call {number}")
            self._call(self._rows.calls[number])
        last = len(self._rows.stages) - 1
        if self._rows_written[last] * self._rows.stages[last].row_bytes != self._output_bytes:
            raise self._error("does not make its whole output")

    def _call(self, call: RowCallAt) -> None:
        stage = self._rows.stages[call.stage]
        tick = self._ticks[call.stage]
        if tick == len(stage.needs):
            raise self._error(f"runs operator {call.stage} too often")
        for move in call.moves:
            self._inside(move.destination, move.bytes)
            self._inside(move.source, move.bytes)
            moved = self._memory[move.source : move.source + move.bytes]
            shift = move.destination - move.source
            self._memory[move.destination : move.destination + move.bytes] = [
                None if tag is None else (tag[0], tag[1], tag[2] + shift) for tag in moved
            ]
        for source, place in zip(stage.sources, call.reads, strict=True):
            self._read(call, source, place, stage.needs[tick])
        for place, size in call.scratch:
            self._inside(place.offset, size)
            self._check_line_disjoint(call, stage, tick, place.offset, size)
            # An operator that makes no row of each tick keeps its sums in its scratch.
            sums = (call.stage, _SUMS, place.offset)
            if (
                tick
                and not all(stage.rows)
                and any(t != sums for t in self._memory[place.offset : place.offset + size])
            ):
                raise self._error(f"overwrites the sums of operator {call.stage}")
            self._fill(place.offset, size, sums)
        self._write(call, stage, tick)
        self._ticks[call.stage] += 1
        self._rows_written[call.stage] += stage.rows[tick]
        for place in dict.fromkeys((*call.reads, call.write)):
            if isinstance(place, MovingPointer):
                self._pointers[place.pointer] = self._pointers.get(place.pointer, 0) + place.advance

    def _inside(self, offset: int, size: int) -> None:
        if offset < 0 or offset + size > len(self._memory):
            raise self._error("leaves its scratch")

    def _fill(self, offset: int, size: int, tag: _Tag | None) -> None:
        self._memory[offset : offset + size] = [tag] * size

    def _row_bytes(self, tensor: int) -> int:
        return self._rows.input_row_bytes if tensor == _INPUT else self._rows.stages[tensor].row_bytes

    def _read(self, call: RowCallAt, tensor: int, place: LineBuffer | MovingPointer, needed: tuple[int, int]) -> None:
        size = self._row_bytes(tensor)
        first, end = needed
        if isinstance(place, MovingPointer):
            at = self._pointers.get(place.pointer, 0)
            if tensor != _INPUT or place.pointer == 0 or at != first * size or end * size > self._input_bytes:
                raise self._error(f"has operator {call.stage} read its input elsewhere")
            self._input_is_whole(at, self._written)
            return
        self._inside(place.offset, (end - first) * size)
        for row in range(first, end):
            start = place.offset + (row - first) * size
            if any(tag != (tensor, row, start) for tag in self._memory[start : start + size]):
                raise self._error(f"has operator {call.stage} read row {row} of tensor {tensor}, which is not there")

    def _input_is_whole(self, at: int, written: int) -> None:
        """Whether the input from `at` on survived `written` bytes of an output that may lie over it."""
        if self._distance is not None and written > at + self._distance:
            raise self._error("overwrites rows of its input that it still reads")

    def _check_line_disjoint(self, call: RowCallAt, stage: RowStageAt, tick: int, offset: int, size: int) -> None:
        """Scratch lies beside what the call reads."""
        for start, length in self._read_lines(call, stage, tick):
            if start < offset + size and offset < start + length:
                raise self._error(f"has the scratch of operator {call.stage} over what it reads")

    def _read_lines(self, call: RowCallAt, stage: RowStageAt, tick: int) -> Iterator[tuple[int, int]]:
        first, end = stage.needs[tick]
        for source, place in zip(stage.sources, call.reads, strict=True):
            if isinstance(place, LineBuffer):
                yield place.offset, (end - first) * self._row_bytes(source)

    def _write(self, call: RowCallAt, stage: RowStageAt, tick: int) -> None:
        size = stage.row_bytes * stage.rows[tick]
        if isinstance(call.write, MovingPointer):
            if call.stage != len(self._rows.stages) - 1 or call.write.pointer != 0:
                raise self._error(f"has operator {call.stage} write into its output")
            at = self._pointers.get(0, 0)
            if at != self._written or at + size > self._output_bytes:
                raise self._error("writes its output elsewhere")
            self._written = at + size
            for source, place in zip(stage.sources, call.reads, strict=True):
                if source == _INPUT and isinstance(place, MovingPointer):
                    self._input_is_whole(self._pointers.get(place.pointer, 0), self._written if size else 0)
            return
        at = call.write.offset
        self._inside(at, size)
        lines = list(self._read_lines(call, stage, tick))
        for index, (start, length) in enumerate(lines):
            allowed = any(o.input == index and o.allows(start - at) for o in call.overlaps)
            if start < at + size and at < start + length and not allowed:
                raise self._error(f"has operator {call.stage} overwrite what it reads")
        for place, length in call.scratch:
            if place.offset < at + size and at < place.offset + length:
                raise self._error(f"has operator {call.stage} write into its scratch")
        self._fill(at, size, (call.stage, self._rows_written[call.stage], at))
