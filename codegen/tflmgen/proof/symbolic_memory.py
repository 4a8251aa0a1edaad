"""Proves a Program: every read finds its value intact. Shares no code with the stages that proposed it.

A segment of memory carries tags: (value, base) says that the segment still holds its part of `value`, whose first byte
lies at `base`. The Program is run symbolically: kernels kill the tags of the bytes that they write and set those of
their outputs, copies carry tags along, an exchange of pointers exchanges the tags of slots, a Branch keeps what both
sides agree on, a Loop runs to a fixpoint from above, a function is analysed once with nothing but its inputs known.
The only trust is in the kernels' declared operands and overlaps, which have tests of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from tflmgen.errors import InternalError
from tflmgen.ir.graph import Value
from tflmgen.ir.program import (
    Access,
    Assembly,
    Branch,
    ByteCopy,
    Fixed,
    Flash,
    InputArgument,
    Instruction,
    Invoke,
    KernelCall,
    Loop,
    OutputArgument,
    Place,
    Prefetch,
    PrefetchWait,
    Program,
    ProgramFunction,
    Rename,
    Slot,
    Transfer,
    Work,
)
from tflmgen.proof.byte_segments import Segments, Span
from tflmgen.proof.check_rows import check_rows, check_waiting
from tflmgen.proof.memory_tags import (
    Arriving,
    State,
    Summary,
    Tag,
    arrived,
    base_of,
    check_arrivals,
    check_cover,
    forget,
    meet,
    whole,
)
from tflmgen.proof.refusals import refusing


@refusing
def check_memory(program: Program, constants: Mapping[str, bytes]) -> None:
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
        self._memory = Segments(program)
        self._summaries: dict[str, Summary] = {}
        self._written: set[int] = set()
        self._variables = tuple(v.access for v in program.state)

    def function(self, function: ProgramFunction) -> None:
        check_waiting(function)
        check_arrivals(function.body)
        self._memory.enter(function)
        self._written = set()
        known = (*function.inputs, *self._variables) if function.is_entry else function.inputs
        self._disjoint(0, function.name, known)
        state: State = (frozenset(),) * self._memory.count
        for access in known:
            state = self._define(state, access)
        state = self._run(function.body, state)
        left = (*function.results, *self._variables) if function.is_entry else function.results
        for access in left:
            self._read(state, access, -1, f"the end of '{function.name}'")
        self._summaries[function.name] = Summary(frozenset(self._written), function.results)

    # -- tags

    def _span(self, access: Access) -> Span:
        if isinstance(access.place, Flash):
            raise InternalError(f"'{access.value.name}' is written to flash")
        span = self._memory.span(access.place, access.bytes)
        for offset in self._memory.offsets(access.place):
            if offset % max(1, access.value.type.dtype.bits // 8):
                raise InternalError(f"'{access.value.name}' is not aligned at {offset}")
        return span

    def _write(self, state: State, span: Span, tags: frozenset[Tag]) -> State:
        changed = list(state)
        if any(isinstance(tag, Arriving) for segment in span.segments for tag, _ in state[segment]):
            raise InternalError(f"{span} is written while an array arrives there")
        for segment in self._spoiled(span):
            changed[segment] = frozenset()
        for segment in span.segments:
            changed[segment] = tags
        self._written |= span.real
        return tuple(changed)

    def _spoiled(self, span: Span) -> Iterable[int]:
        """The segments that a write may change apart from its own: homes behind slots, and slots before homes."""
        for group in self._memory.groups:
            if group.homes & span.real and group is not span.group:
                yield from group.slots
        if span.slot is not None:
            yield from span.real

    def _define(self, state: State, access: Access) -> State:
        span = self._span(access)
        state = forget(state, frozenset({access.value}))
        return self._write(state, span, frozenset({(access.value, span.start)}))

    def _name(self, state: State, access: Access) -> State:
        """Adds a name to the bytes at a place, without changing them."""
        if isinstance(access.place, Flash):
            return state
        span = self._span(access)
        named = list(state)
        for segment in span.segments:
            named[segment] = named[segment] | {(access.value, span.start)}
        return tuple(named)

    def _read(self, state: State, access: Access, step: int, reader: str) -> None:
        if isinstance(access.place, Flash):
            if not self._is_whole(access.place, access.value):
                raise InternalError(f"step {step}: {reader} reads '{access.value.name}' from flash, where it is not")
            return
        span = self._span(access)
        if any((access.value, span.start) not in state[s] for s in span.segments):
            place = access.place
            raise InternalError(
                f"step {step}: {reader} reads '{access.value.name}' at {place}, which no longer holds it"
            )

    def _is_whole(self, place: Flash, value: Value) -> bool:
        """Whether an array, from its first byte to its last, is a constant value."""
        data = self._program.constants[place.name].data
        return place.offset == 0 and value.constant is not None and data == self._constants[value.constant]

    def _disjoint(self, step: int, holder: str, accesses: Sequence[Access]) -> None:
        spans = [self._span(a) for a in accesses if not isinstance(a.place, Flash)]
        if any(span.meets(other) for span, other in combinations(spans, 2)):
            raise InternalError(f"step {step}: {holder} has two values in the same bytes")

    # -- instructions

    def _run(self, body: Sequence[Instruction], state: State) -> State:
        for instruction in body:
            if isinstance(instruction, KernelCall):
                state = self._kernel(instruction, state)
            elif isinstance(instruction, Rename):
                state = self._rename(instruction, state)
            elif isinstance(instruction, Prefetch):
                state = self._prefetch(instruction, state)
            elif isinstance(instruction, PrefetchWait):
                state = arrived(state)
            elif isinstance(instruction, Assembly):
                state = self._assembly(instruction, state)
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
        if call.rows is not None:
            check_rows(call, call.rows)
        inputs = [a for a in call.arguments if isinstance(a, InputArgument)]
        outputs = [a for a in call.arguments if isinstance(a, OutputArgument)]
        for argument in inputs:
            self._read(state, argument.access, call.step, call.function)
        works = [a for a in call.arguments if isinstance(a, Work)]
        fetched = [self._fetched(state, a, call) for a in works if a.copy_of is not None]
        own = [a for a in works if a.copy_of is None]
        scratch = [self._memory.span(a.place, a.bytes) for a in own if isinstance(a.place, Fixed | Slot)]
        read = [*fetched, *(self._span(a.access) for a in inputs if not isinstance(a.access.place, Flash))]
        written = [self._span(a.access) for a in outputs]
        if any(span.meets(other) for span, other in combinations([*written, *scratch], 2)):
            raise InternalError(f"step {call.step}: {call.function} writes two things to the same bytes")
        if any(span.meets(other) for span in scratch for other in read):
            raise InternalError(f"step {call.step}: the scratch of {call.function} lies over what it reads")
        if any(span.meets(other) for span in written for other in fetched):
            raise InternalError(f"step {call.step}: {call.function} writes over an array that it reads")
        for output in outputs:
            for argument in inputs:
                self._overlap(call, output, argument)
        for span in scratch:
            state = self._write(state, span, frozenset())
        for output in outputs:
            state = self._define(state, output.access)
        return state

    def _fetched(self, state: State, argument: Work, call: KernelCall) -> Span:
        """The place of an array that was prefetched, where it has arrived whole."""
        place, source = argument.place, argument.copy_of
        if not isinstance(place, Fixed) or source is None:
            raise InternalError(f"step {call.step}: {call.function} reads an array where none is copied to")
        span = self._memory.span(place, argument.bytes)
        if any((source, span.start) not in state[s] for s in span.segments):
            raise InternalError(f"step {call.step}: {call.function} reads '{source.name}' at {place}, where it is not")
        return span

    def _prefetch(self, fetch: Prefetch, state: State) -> State:
        """Until it is waited for, an array arrives at its place, whose bytes nobody else may have."""
        source = fetch.source
        if not 0 <= source.offset <= len(self._program.constants[source.name].data) - fetch.bytes:
            raise InternalError(f"step {fetch.step}: a prefetch reads past '{source.name}'")
        span = self._memory.span(fetch.destination, fetch.bytes)
        return self._write(state, span, frozenset({(Arriving(source), span.start)}))

    def _overlap(self, call: KernelCall, output: OutputArgument, argument: InputArgument) -> None:
        if isinstance(argument.access.place, Flash):
            return
        output_span, input_span = self._span(output.access), self._span(argument.access)
        if not output_span.meets(input_span):
            return
        claims = [o for o in call.overlaps if (o.input, o.output) == (argument.index, output.index)]
        ahead = input_span.start - output_span.start
        if output_span.slot != input_span.slot or not any(claim.allows(ahead) for claim in claims):
            name = argument.access.value.name
            raise InternalError(f"step {call.step}: {call.function} overwrites '{name}' as it reads it")

    def _rename(self, rename: Rename, state: State) -> State:
        if rename.value.place != rename.source.place:
            raise InternalError(f"step {rename.step}: '{rename.value.value.name}' is elsewhere than what it renames")
        self._read(state, rename.source, rename.step, "a view")
        return self._name(forget(state, frozenset({rename.value.value})), rename.value)

    def _assembly(self, assembly: Assembly, state: State) -> State:
        """Every part is in place or copied there, from where the input holds it, and the parts cover the outputs."""
        subject = "an assembly of pieces"
        for access in assembly.inputs:
            if access is not None:
                self._read(state, access, assembly.step, subject)
        copies: dict[tuple[Place, Place], int] = {(c.destination, c.source): c.bytes for c in assembly.copies}
        covered: list[tuple[int, int, int]] = []
        for part in assembly.parts:
            source, output = assembly.inputs[part.input], assembly.outputs[part.output]
            if source is None or not 0 <= part.input_offset <= source.bytes - part.bytes:
                raise InternalError(f"step {assembly.step}: {subject} reads past its input")
            target = replace(output.place, offset=output.place.offset + part.output_offset)
            origin = replace(source.place, offset=source.place.offset + part.input_offset)
            if target != origin and copies.pop((target, origin), None) != part.bytes:
                raise InternalError(f"step {assembly.step}: a piece of '{output.value.name}' is not where it belongs")
            covered.append((part.output, part.output_offset, part.bytes))
        if copies:
            raise InternalError(f"step {assembly.step}: a copy moves what is no piece")
        check_cover(assembly, covered)
        for copy in assembly.copies:
            state = self._copy_piece(assembly, copy, state)
        for part in assembly.parts:
            source, output = assembly.inputs[part.input], assembly.outputs[part.output]
            assert source is not None
            if isinstance(output.place, Flash):
                raise InternalError(f"step {assembly.step}: {subject} writes to flash")
            if isinstance(source.place, Flash) or source.place.offset + part.input_offset != (
                output.place.offset + part.output_offset
            ):
                continue
            if type(source.place) is type(output.place) and base_of(source.place) == base_of(output.place):
                self._holds_piece(assembly, source, part.input_offset, part.bytes, state)
        self._disjoint(assembly.step, subject, assembly.outputs)
        state = forget(state, frozenset(a.value for a in assembly.outputs))
        for access in assembly.outputs:
            self._span(access)
            state = self._name(state, access)
        return state

    def _copy_piece(self, assembly: Assembly, copy: ByteCopy, state: State) -> State:
        target = self._memory.span(copy.destination, copy.bytes)
        if not isinstance(copy.source, Flash):
            overlaps = self._memory.span(copy.source, copy.bytes).meets(target)
            if overlaps and (len(assembly.parts) > 1 or base_of(copy.source) != base_of(copy.destination)):
                raise InternalError(f"step {assembly.step}: a piece overlaps its own copy")
            for source in assembly.inputs:
                if source is not None and not isinstance(source.place, Flash):
                    offset = copy.source.offset - source.place.offset
                    same = base_of(source.place) == base_of(copy.source)
                    if same and offset >= 0 and offset + copy.bytes <= source.bytes:
                        self._holds_piece(assembly, source, offset, copy.bytes, state)
                        break
            else:
                raise InternalError(f"step {assembly.step}: a copy reads what is no input")
        return self._write(state, target, frozenset())

    def _holds_piece(self, assembly: Assembly, source: Access, offset: int, size: int, state: State) -> None:
        base = self._span(source).start
        if any((source.value, base) not in state[s] for s in self._memory.at(base + offset, size)):
            raise InternalError(f"step {assembly.step}: '{source.value.name}' is overwritten before it is copied")

    def _transfer(self, transfer: Transfer, state: State) -> State:
        subject = f"boundary '{transfer.kind}'"
        for copy in transfer.copies:
            target = self._memory.span(copy.destination, copy.bytes)
            if isinstance(copy.source, Flash):
                tags = frozenset(
                    v
                    for v, a in zip(transfer.sources, transfer.values, strict=True)
                    if a.place == copy.destination and copy.bytes == a.bytes and self._is_whole(copy.source, v)
                )
            else:
                source = self._memory.span(copy.source, copy.bytes)
                if source.meets(target) and base_of(copy.source) != base_of(copy.destination):
                    raise InternalError(f"step {transfer.step}: a copy may overlap itself behind a pointer")
                tags = whole(state, source)
            state = self._write(state, target, frozenset((v, target.start) for v in tags))
        state = self._exchange(transfer, state)
        for access, source_value in zip(transfer.values, transfer.sources, strict=True):
            self._read(state, Access(access.place, source_value), transfer.step, subject)
        self._disjoint(transfer.step, subject, transfer.values)
        state = forget(state, frozenset(a.value for a in transfer.values))
        for access in transfer.values:
            state = self._name(state, access)
        return state

    def _exchange(self, transfer: Transfer, state: State) -> State:
        """Slot `one` now points to where `other` pointed: its segments take the other's tags."""
        pairs = dict(transfer.rotation)
        if not pairs:
            return state
        if sorted(pairs) != sorted(pairs.values()):
            raise InternalError(f"step {transfer.step}: pointers are lost, this is no permutation")
        changed = list(state)
        for target, other in pairs.items():
            home = self._memory.slot(target), self._memory.slot(other)
            if home[0].group is not home[1].group:
                raise InternalError(f"step {transfer.step}: slots of different groups change places")
            for segment in home[0].segments:
                changed[segment] = frozenset()
            for value, base in self._inside(state, home[1]):
                start = home[0].start + base - home[1].start
                for segment in self._memory.at(start, value.type.bytes):
                    changed[segment] = changed[segment] | {(value, start)}
        return tuple(changed)

    def _inside(self, state: State, span: Span) -> frozenset[tuple[Value, int]]:
        """The values that lie whole within a span."""
        candidates = frozenset(tag for segment in span.segments for tag in state[segment])
        return frozenset(
            (value, base)
            for value, base in candidates
            if isinstance(value, Value)
            and all((value, base) in state[s] for s in self._memory.at(base, value.type.bytes))
        )

    def _branch(self, branch: Branch, state: State) -> State:
        self._read(state, branch.condition, branch.step, "IF")
        return meet(self._run(branch.then, state), self._run(branch.orelse, state))

    def _loop(self, loop: Loop, state: State) -> State:
        head = state
        while True:
            leaving = self._run(loop.condition, head)
            if loop.test is not None:
                self._read(leaving, loop.test, loop.step, "WHILE")
            next_state = meet(head, self._run(loop.body, leaving))
            if next_state == head:
                return leaving
            head = next_state

    def _invoke(self, call: Invoke, state: State) -> State:
        summary = self._summaries.get(call.function)
        if summary is None:
            raise InternalError(f"step {call.step}: it is unknown what '{call.function}' does: callees come first")
        inputs = self._program.function(call.function).inputs
        if any(isinstance(access.place, Slot) for access in (*inputs, *summary.results)):
            raise InternalError(f"step {call.step}: it is unknown where the slots of '{call.function}' point")
        for access in inputs:
            self._read(state, access, call.step, f"'{call.function}'")
        changed = list(state)
        spoiled = {s for g in self._memory.groups if g.homes & summary.written for s in g.slots}
        for segment in summary.written | spoiled:
            changed[segment] = frozenset()
        self._written |= summary.written
        state = forget(tuple(changed), frozenset(a.value for a in summary.results))
        for access in summary.results:
            state = self._name(state, access)
        return state
