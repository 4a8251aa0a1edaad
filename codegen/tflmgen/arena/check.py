"""Proves a Program: every read finds its value intact. Shares no code with the stages that proposed it.

The arena is cut into segments at every boundary of any access. A segment carries tags: (value, base) says that the
segment still holds its part of `value`, whose first byte lies at `base`. The Program is run symbolically: kernels kill
the tags of the bytes that they write and set those of their outputs, copies carry tags along, a Branch keeps what both
sides agree on, a Loop runs to a fixpoint from above, a function is analysed once with nothing but its inputs known.
The only trust is in the kernels' declared operands and overlaps, which have tests of their own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tflmgen.errors import InternalError
from tflmgen.graph import Value
from tflmgen.program import (
    Access,
    Branch,
    Fixed,
    InputArgument,
    Instruction,
    Invoke,
    KernelCall,
    Loop,
    OutputArgument,
    Program,
    ProgramFunction,
    Rename,
    Transfer,
    Work,
)

Tag = tuple[Value, int]
State = tuple[frozenset[Tag], ...]


@dataclass(frozen=True, slots=True)
class _Summary:
    """What a call of a function does: the segments it may change, and where its results are."""

    written: frozenset[int]
    results: tuple[Access, ...]


def check(program: Program, constants: Mapping[str, bytes]) -> None:
    """Raises InternalError, naming step and value, where a plan would compute something else than its model.

    `constants` are the module's: key -> raw bytes.
    """
    checker = _Checker(program, constants)
    for function in program.functions:
        checker.function(function)


class _Checker:
    def __init__(self, program: Program, constants: Mapping[str, bytes]) -> None:
        self._program = program
        self._constants = constants
        self._cuts = sorted({0, program.arena_bytes, *chain_cuts(program)})
        self._summaries: dict[str, _Summary] = {}
        self._written: set[int] = set()
        if self._cuts[0] < 0 or self._cuts[-1] > program.arena_bytes:
            raise InternalError(f"the plan leaves the arena of {program.arena_bytes} bytes")

    def function(self, function: ProgramFunction) -> None:
        self._written = set()
        state: State = (frozenset(),) * (len(self._cuts) - 1)
        self._disjoint(0, function.name, [a for a in function.inputs if isinstance(a.place, Fixed)])
        for access in function.inputs:
            state = self._define(state, access)
        state = self._run(function.body, state)
        for access in function.results:
            self._read(state, access, -1, f"the results of '{function.name}'")
        self._summaries[function.name] = _Summary(frozenset(self._written), function.results)

    # -- segments and tags

    def _segments(self, offset: int, size: int) -> range:
        return range(bisect_left(self._cuts, offset), bisect_left(self._cuts, offset + size))

    def _change(self, state: State, segments: Iterable[int], tags: frozenset[Tag]) -> State:
        changed = list(state)
        for segment in segments:
            changed[segment] = tags
            self._written.add(segment)
        return tuple(changed)

    @staticmethod
    def _forget(state: State, values: frozenset[Value]) -> State:
        """A value that is defined anew is no longer anywhere else."""
        return tuple(
            frozenset(t for t in tags if t[0] not in values) if any(t[0] in values for t in tags) else tags
            for tags in state
        )

    def _define(self, state: State, access: Access) -> State:
        if not isinstance(access.place, Fixed):
            raise InternalError(f"'{access.value.name}' is written to flash")
        self._aligned(access)
        state = self._forget(state, frozenset({access.value}))
        offset = access.place.offset
        return self._change(state, self._segments(offset, access.bytes), frozenset({(access.value, offset)}))

    def _name(self, state: State, access: Access) -> State:
        """Adds a name to the bytes at a place, without changing them."""
        if not isinstance(access.place, Fixed):
            return state
        named = list(state)
        for segment in self._segments(access.place.offset, access.bytes):
            named[segment] = named[segment] | {(access.value, access.place.offset)}
        return tuple(named)

    def _read(self, state: State, access: Access, step: int, what: str) -> None:
        if not isinstance(access.place, Fixed):
            if not self._holds(access.place.name, access.value):
                raise InternalError(f"step {step}: {what} reads '{access.value.name}' from flash, where it is not")
            return
        self._aligned(access)
        offset = access.place.offset
        if any((access.value, offset) not in state[s] for s in self._segments(offset, access.bytes)):
            raise InternalError(
                f"step {step}: {what} reads '{access.value.name}' at {offset}, which no longer holds it"
            )

    def _holds(self, name: str, value: Value) -> bool:
        """Whether the array `name` has the bytes of a constant value."""
        return value.constant is not None and self._program.constants[name].data == self._constants[value.constant]

    @staticmethod
    def _aligned(access: Access) -> None:
        if isinstance(access.place, Fixed) and access.place.offset % max(1, access.value.type.dtype.bits // 8):
            raise InternalError(f"'{access.value.name}' is not aligned at {access.place.offset}")

    @staticmethod
    def _disjoint(step: int, what: str, accesses: Sequence[Access]) -> None:
        spans = sorted((a.place.offset, a.bytes) for a in accesses if isinstance(a.place, Fixed))
        for (offset, size), (following, _) in pairwise(spans):
            if offset + size > following:
                raise InternalError(f"step {step}: {what} has two values in the same bytes at {following}")

    # -- instructions

    def _run(self, body: Sequence[Instruction], state: State) -> State:
        for instruction in body:
            if isinstance(instruction, KernelCall):
                state = self._kernel(instruction, state)
            elif isinstance(instruction, Rename):
                state = self._rename(instruction, state)
            elif isinstance(instruction, Transfer):
                state = self._transfer(instruction, state)
            elif isinstance(instruction, Branch):
                state = self._branch(instruction, state)
            elif isinstance(instruction, Loop):
                state = self._loop(instruction, state)
            else:
                state = self._invoke(instruction, state)
        return state

    def _kernel(self, call: KernelCall, state: State) -> State:
        inputs = [a for a in call.arguments if isinstance(a, InputArgument)]
        outputs = [a for a in call.arguments if isinstance(a, OutputArgument)]
        scratch = [a for a in call.arguments if isinstance(a, Work) and isinstance(a.place, Fixed)]
        for argument in inputs:
            self._read(state, argument.access, call.step, call.function)
        for output in outputs:
            for argument in inputs:
                self._overlap(call, output, argument)
        spans = [_span(a.access) for a in outputs] + [_work_span(w) for w in scratch]
        private = spans + [_span(a.access) for a in inputs if isinstance(a.access.place, Fixed)]
        for i, (offset, size) in enumerate(spans):
            against = private if i >= len(outputs) else spans
            for j, (other, length) in enumerate(against):
                if i != j and offset < other + length and other < offset + size:
                    raise InternalError(
                        f"step {call.step}: {call.function} writes two things to byte {max(offset, other)}"
                    )
        for work in scratch:
            state = self._change(state, self._segments(*_work_span(work)), frozenset())
        for output in outputs:
            state = self._define(state, output.access)
        return state

    @staticmethod
    def _overlap(call: KernelCall, output: OutputArgument, argument: InputArgument) -> None:
        if not isinstance(argument.access.place, Fixed) or not isinstance(output.access.place, Fixed):
            return
        here, there = output.access.place.offset, argument.access.place.offset
        if here >= there + argument.access.bytes or there >= here + output.access.bytes:
            return
        allowed = [o.distance for o in call.overlaps if (o.input, o.output) == (argument.index, output.index)]
        if not allowed or here + min(allowed) > there:
            raise InternalError(
                f"step {call.step}: {call.function} overwrites '{argument.access.value.name}' as it reads it"
            )

    def _rename(self, rename: Rename, state: State) -> State:
        if rename.value.place != rename.source.place:
            raise InternalError(f"step {rename.step}: '{rename.value.value.name}' is elsewhere than what it renames")
        self._read(state, rename.source, rename.step, "a view")
        return self._name(self._forget(state, frozenset({rename.value.value})), rename.value)

    def _transfer(self, transfer: Transfer, state: State) -> State:
        for copy in transfer.copies:
            start, segments = copy.destination.offset, self._segments(copy.destination.offset, copy.bytes)
            if isinstance(copy.source, Fixed):
                if abs(copy.source.offset - start) < copy.bytes:
                    raise InternalError(
                        f"step {transfer.step}: a copy of {copy.bytes} bytes at {start} overlaps itself"
                    )
                tags = self._whole(state, copy.source.offset, copy.bytes)
            else:
                constant = copy.source
                tags = frozenset(
                    v
                    for v, a in zip(transfer.sources, transfer.values, strict=True)
                    if a.place == copy.destination and copy.bytes == a.bytes and self._holds(constant.name, v)
                )
            state = self._change(state, segments, frozenset((v, start) for v in tags))
        for access, source in zip(transfer.values, transfer.sources, strict=True):
            self._read(state, Access(access.place, source), transfer.step, f"boundary '{transfer.what}'")
        self._disjoint(transfer.step, f"boundary '{transfer.what}'", transfer.values)
        state = self._forget(state, frozenset(a.value for a in transfer.values))
        for access in transfer.values:
            state = self._name(state, access)
        return state

    def _whole(self, state: State, offset: int, size: int) -> frozenset[Value]:
        """The values that lie whole and alone in these bytes."""
        common: frozenset[Tag] | None = None
        for segment in self._segments(offset, size):
            common = state[segment] if common is None else common & state[segment]
        return frozenset(v for v, base in common or () if base == offset and v.type.bytes == size)

    def _branch(self, branch: Branch, state: State) -> State:
        self._read(state, branch.condition, branch.step, "IF")
        then = self._run(branch.then, state)
        orelse = self._run(branch.orelse, state)
        return _meet(then, orelse)

    def _loop(self, loop: Loop, state: State) -> State:
        head = state
        while True:
            leaving = self._run(loop.condition, head)
            self._read(leaving, loop.test, loop.step, "WHILE")
            again = _meet(head, self._run(loop.body, leaving))
            if again == head:
                return leaving
            head = again

    def _invoke(self, call: Invoke, state: State) -> State:
        summary = self._summaries[call.function]
        for access in self._program.function(call.function).inputs:
            self._read(state, access, call.step, f"'{call.function}'")
        state = self._change(state, summary.written, frozenset())
        state = self._forget(state, frozenset(a.value for a in summary.results))
        for access in summary.results:
            state = self._name(state, access)
        return state


def _meet(one: State, other: State) -> State:
    return tuple(a & b for a, b in zip(one, other, strict=True))


def _span(access: Access) -> tuple[int, int]:
    assert isinstance(access.place, Fixed)
    return access.place.offset, access.bytes


def _work_span(work: Work) -> tuple[int, int]:
    assert isinstance(work.place, Fixed)
    return work.place.offset, work.bytes


def chain_cuts(program: Program) -> Iterator[int]:
    """Where any access, scratch or copy of the program begins or ends."""
    for function in program.functions:
        yield from _access_cuts((*function.inputs, *function.results))
        yield from _body_cuts(function.body)


def _access_cuts(accesses: Iterable[Access]) -> Iterator[int]:
    for access in accesses:
        if isinstance(access.place, Fixed):
            yield from (access.place.offset, access.place.offset + access.bytes)


def _body_cuts(body: Sequence[Instruction]) -> Iterator[int]:
    for instruction in body:
        if isinstance(instruction, KernelCall):
            for argument in instruction.arguments:
                if isinstance(argument, Work):
                    if isinstance(argument.place, Fixed):
                        yield from (argument.place.offset, argument.place.offset + argument.bytes)
                else:
                    yield from _access_cuts([argument.access])
        elif isinstance(instruction, Rename):
            yield from _access_cuts([instruction.value, instruction.source])
        elif isinstance(instruction, Transfer):
            yield from _access_cuts(instruction.values)
            for copy in instruction.copies:
                yield from (copy.destination.offset, copy.destination.offset + copy.bytes)
                if isinstance(copy.source, Fixed):
                    yield from (copy.source.offset, copy.source.offset + copy.bytes)
        elif isinstance(instruction, Branch):
            yield from _access_cuts([instruction.condition])
            yield from _body_cuts(instruction.then)
            yield from _body_cuts(instruction.orelse)
        elif isinstance(instruction, Loop):
            yield from _access_cuts([instruction.test])
            yield from _body_cuts(instruction.condition)
            yield from _body_cuts(instruction.body)
