"""The memory that the checker reasons about: one line of bytes, cut where any access begins or ends.

First the arena, then the state, then every slot of every function, as if what a slot points to were a place of its own.
Where it really points is one of its group's homes; which one is not tracked. So a write through a slot counts as a
write to all homes of its group, and a write to any of these homes as one to all slots of the group.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tflmgen.errors import InternalError
from tflmgen.ir.program import (
    Assembly,
    Fixed,
    Instruction,
    KernelCall,
    Place,
    Prefetch,
    Program,
    ProgramFunction,
    Slot,
    Transfer,
    Work,
    accesses_of,
    walk_instructions,
)


@dataclass(frozen=True, slots=True)
class SlotGroup:
    """Slots of one function that may exchange their homes: the segments of either."""

    slots: frozenset[int]
    homes: frozenset[int]


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes at a position of the line. `real` are the segments of memory that they may be."""

    start: int
    bytes: int
    segments: range
    real: frozenset[int]
    slot: int | None
    group: SlotGroup | None = None

    def meets(self, other: Span) -> bool:
        """Whether two spans may have a byte in common."""
        if self.slot == other.slot:
            return self.start < other.start + other.bytes and other.start < self.start + self.bytes
        if self.group is not None and self.group is other.group:
            return False
        return bool(self.real & other.real)


class Segments:
    """The geometry of a program's memory. Raises InternalError where an access leaves its memory."""

    def __init__(self, program: Program) -> None:
        self._base = {"arena": 0, "state": program.arena_bytes}
        self._end = {"arena": program.arena_bytes, "state": program.arena_bytes + program.state_bytes}
        self._arrays = program.arena_starts
        self._slot_base: dict[str, list[int]] = {}
        end = self._end["state"]
        for function in program.functions:
            self._slot_base[function.name] = []
            for home in function.slots:
                if home.place.offset < 0 or self._start(None, home.place) + home.bytes > self._end[home.place.memory]:
                    raise InternalError(f"a slot of '{function.name}' leaves the {home.place.memory}")
                self._require_one_array(home.place, home.bytes)
                self._slot_base[function.name].append(end)
                end += home.bytes
        self._cuts = sorted({0, program.arena_bytes, self._end["state"], end, *self._all_cuts(program)})
        self._groups = {f.name: tuple(self._group(f, g) for g in f.groups) for f in program.functions}
        self._function = program.functions[0] if program.functions else None

    @property
    def count(self) -> int:
        """Number of segments of the whole line."""
        return len(self._cuts) - 1

    @property
    def groups(self) -> tuple[SlotGroup, ...]:
        """Groups of pointers of the function that is being checked."""
        assert self._function is not None
        return self._groups[self._function.name]

    def enter(self, function: ProgramFunction) -> None:
        """Makes `function` the one whose slots are meant from now on."""
        self._function = function

    def span(self, place: Fixed | Slot, size: int) -> Span:
        """The segments of `size` bytes at a place."""
        start = self._start(self._function, place)
        if isinstance(place, Fixed):
            if start + size > self._end[place.memory] or place.offset < 0:
                raise InternalError(f"the plan leaves the {place.memory} at {place.offset}, {size} bytes")
            self._require_one_array(place, size)
            segments = self._range(start, size)
            return Span(start, size, segments, frozenset(segments), None)
        assert self._function is not None
        if place.offset < 0 or place.offset + size > self._function.slots[place.index].bytes:
            raise InternalError(f"the plan leaves slot {place.index} of '{self._function.name}'")
        segments = self._range(start, size)
        group = next(g for g in self.groups if self._first_segment(place) in g.slots)
        return Span(start, size, segments, group.homes, place.index, group)

    def _require_one_array(self, place: Fixed, size: int) -> None:
        """Raises InternalError for bytes that begin in one array of the arena and end in another."""
        if place.memory == "arena" and any(place.offset < start < place.offset + size for start in self._arrays):
            raise InternalError(f"{size} bytes at {place.offset} of the arena lie in two memories")

    def offsets(self, place: Fixed | Slot) -> tuple[int, ...]:
        """Offsets at which bytes at `place` may begin in their memory."""
        if isinstance(place, Fixed):
            return (place.offset,)
        assert self._function is not None
        group = next(g for g in self._function.groups if place.index in g)
        return tuple(self._function.slots[i].place.offset for i in group)

    def slot(self, index: int) -> Span:
        """All of a slot."""
        assert self._function is not None
        return self.span(Slot(index), self._function.slots[index].bytes)

    def at(self, start: int, size: int) -> range:
        """The segments of bytes at a position of the line."""
        return self._range(start, size)

    def _first_segment(self, slot: Slot) -> int:
        return bisect_left(self._cuts, self._start(self._function, slot))

    def _start(self, function: ProgramFunction | None, place: Fixed | Slot) -> int:
        if isinstance(place, Fixed):
            return self._base[place.memory] + place.offset
        assert function is not None
        if place.index >= len(function.slots):
            raise InternalError(f"'{function.name}' has no slot {place.index}")
        return self._slot_base[function.name][place.index] + place.offset

    def _range(self, start: int, size: int) -> range:
        return range(bisect_left(self._cuts, start), bisect_left(self._cuts, start + size))

    def _group(self, function: ProgramFunction, members: Sequence[int]) -> SlotGroup:
        slots: set[int] = set()
        homes: set[int] = set()
        size = function.slots[members[0]].bytes
        for index in members:
            home = function.slots[index]
            taken = set(self._range(self._start(function, home.place), home.bytes))
            if taken & homes or home.bytes != size:
                raise InternalError(f"'{function.name}' has slots that must not change places")
            homes |= taken
            slots |= set(self._range(self._start(function, Slot(index)), home.bytes))
        return SlotGroup(frozenset(slots), frozenset(homes))

    def _all_cuts(self, program: Program) -> Iterator[int]:
        for function in program.functions:
            places = [(a.place, a.bytes) for a in (*function.inputs, *function.results)]
            places += [(home.place, home.bytes) for home in function.slots]
            for place, size in [*places, *_places(function.body)]:
                if isinstance(place, Fixed | Slot):
                    start = self._start(function, place)
                    yield from (start, start + size)
        for variable in program.state:
            place = variable.access.place
            if isinstance(place, Fixed):
                start = self._start(None, place)
                yield from (start, start + variable.access.bytes)


def _places(body: Iterable[Instruction]) -> Iterator[tuple[Place | None, int]]:
    for instruction in walk_instructions(body):
        yield from ((access.place, access.bytes) for access in accesses_of(instruction))
        if isinstance(instruction, KernelCall):
            yield from ((a.place, a.bytes) for a in instruction.arguments if isinstance(a, Work))
        elif isinstance(instruction, Prefetch):
            yield instruction.destination, instruction.bytes
        elif isinstance(instruction, Assembly | Transfer):
            for copy in instruction.copies:
                yield copy.destination, copy.bytes
                yield copy.source, copy.bytes
