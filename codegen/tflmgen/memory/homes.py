"""Homes under construction: values that are one by name, and names that share a home without interfering.

A group is a set of values that are the same bytes by definition. A home is groups at offsets. Two groups may overlap
in a home unless they are live together at a step where that matters; it does not matter at a step that reads the one
for the last time as it writes the other (noted by `may_share`), nor where the one is by definition a piece of the
other and lies just there (noted by `is_piece`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from tflmgen.ir import Memory, Value
from tflmgen.schedule import Liveness


@dataclass(frozen=True, slots=True)
class Buffer:
    """A home: `bytes` (a multiple of 4), live at `steps` (a bit set), holding `values` in turn.

    A home that a variable has a share in is `state`: its contents outlive the invocation.
    """

    name: str
    bytes: int
    alignment: int
    steps: int
    values: tuple[Value, ...] = ()
    memory: Memory = "arena"


@dataclass(frozen=True, slots=True)
class Spot:
    """A place within a buffer, in bytes from its beginning."""

    buffer: int
    offset: int = 0


@dataclass(eq=False, slots=True)
class Group:
    """Values that are the same bytes by definition (a view and what it views)."""

    values: set[Value]
    steps: int

    @property
    def bytes(self) -> int:
        return -(-max(v.type.bytes for v in self.values) // 4) * 4

    @property
    def first(self) -> int:
        return min(v.id for v in self.values)


@dataclass(eq=False, slots=True)
class Home:
    """Groups at offsets, which may be negative until the home is finished; `steps` at which any of them lives."""

    offsets: dict[Group, int]
    steps: int = field(init=False)

    def __post_init__(self) -> None:
        self.steps = 0
        for group in self.offsets:
            self.steps |= group.steps

    @property
    def span(self) -> tuple[int, int]:
        return min(self.offsets.values()), max(at + g.bytes for g, at in self.offsets.items())

    @property
    def bytes(self) -> int:
        begin, end = self.span
        return end - begin

    @property
    def area(self) -> int:
        """Bytes times steps: what the home costs, whatever its place."""
        return self.bytes * self.steps.bit_count()

    def buffer(self, variables: Collection[Value]) -> Buffer:
        values = sorted((v for g in self.offsets for v in g.values), key=lambda v: v.id)
        name = max(values, key=lambda v: (v.type.bytes, -v.id)).name
        alignment = max(4, max(v.type.dtype.bits // 8 for v in values))
        memory: Memory = "state" if any(v in variables for v in values) else "arena"
        return Buffer(name, self.bytes, alignment, self.steps, tuple(values), memory)


class Homes:
    """Union-find in two levels: `same` joins names of one value, `merge` lets values share a home."""

    def __init__(self, liveness: Liveness) -> None:
        self._ranges = liveness.ranges
        self._group: dict[Value, Group] = {}
        self._home: dict[Group, Home] = {}
        self._in_place: dict[frozenset[Group], int] = {}
        self._moved: dict[frozenset[Group], int] = {}
        self._pieces: dict[tuple[Group, Group], int] = {}
        for value, steps in liveness.ranges.items():
            group = Group({value}, steps)
            self._group[value] = group
            self._home[group] = Home({group: 0})

    def finished(self) -> list[Home]:
        """Every home, in order of first use."""
        unique = {id(home): home for home in self._home.values()}
        return sorted(unique.values(), key=lambda h: (h.steps & -h.steps, min(g.first for g in h.offsets)))

    def names(self, value: Value) -> set[Value]:
        """The values that are the same bytes as `value`, itself included."""
        return self._group[value].values

    def home(self, value: Value) -> Home:
        return self._home[self._group[value]]

    def size(self, value: Value) -> int:
        return self._group[value].bytes

    def same(self, one: Value, other: Value) -> None:
        """Joins two names of one value. Both must be alone in their homes. Constants have none."""
        if one not in self._group or other not in self._group:
            return
        into, gone = self._group[one], self._group[other]
        if into is gone:
            return
        into.values |= gone.values
        into.steps |= gone.steps
        for value in gone.values:
            self._group[value] = into
        del self._home[gone]
        self._home[into] = Home({into: 0})

    def may_share(
        self, step: int, value: Value, sources: set[Value], dying: frozenset[Value], is_move: bool = False
    ) -> None:
        """Notes that `step` writes `value` and is the last to read `sources`, names of one value.

        At this step alone the two may be live in the same bytes; if it only moves them, even at another offset. Without
        effect if another name of the sources lives on.
        """
        here, there = self._group[value], self._group[next(iter(sources))]
        bit = 1 << step
        at_step = {v for v in there.values if self._ranges[v] & bit}
        if here is not there and at_step <= sources and at_step <= dying:
            noted = self._moved if is_move else self._in_place
            key = frozenset((here, there))
            noted[key] = noted.get(key, 0) | bit

    def is_piece(self, value: Value, source: Value, offset: int) -> None:
        """Notes that `value` lies `offset` bytes into `source` by definition (before it, where that is negative)."""
        here, there = self._group[value], self._group[source]
        if here is not there and (here, there) not in self._pieces:
            self._pieces[here, there] = offset
            self._pieces[there, here] = -offset

    def merge(self, value: Value, source: Value, offset: int = 0) -> bool:
        """Lets `value` begin `offset` bytes after `source`, in one home, unless something there interferes."""
        here, there = self._group[value], self._group[source]
        home, other = self._home[here], self._home[there]
        shift = other.offsets[there] + offset - home.offsets[here]
        if home is other:
            return shift == 0
        if home.steps & other.steps and not all(
            self._compatible(one, at + shift, two, place)
            for one, at in home.offsets.items()
            for two, place in other.offsets.items()
        ):
            return False
        joined = Home({**other.offsets, **{group: at + shift for group, at in home.offsets.items()}})
        for group in joined.offsets:
            self._home[group] = joined
        return True

    def merge_all(self, pieces: Iterable[tuple[Value, Value, int]], only_if_cheap: bool) -> None:
        """Merges what can be of (value, source, offset); `only_if_cheap` if that costs no more bytes times steps."""
        wanted = list(pieces)
        before = {id(h): h for one, other, _ in wanted for h in (self.home(one), self.home(other))}
        cost = sum(home.area for home in before.values())
        for value, source, offset in wanted:
            self.merge(value, source, offset)
        after = {id(h): h for one, other, _ in wanted for h in (self.home(one), self.home(other))}
        if only_if_cheap and sum(home.area for home in after.values()) > cost:
            for home in before.values():
                for group in home.offsets:
                    self._home[group] = home

    def _compatible(self, one: Group, at: int, other: Group, place: int) -> bool:
        """Whether two groups may be at these offsets of one home."""
        together = one.steps & other.steps
        if not together or at + one.bytes <= place or place + other.bytes <= at:
            return True
        if self._pieces.get((one, other)) == at - place:
            return True
        key = frozenset((one, other))
        together &= ~self._moved.get(key, 0)
        if at == place:
            together &= ~self._in_place.get(key, 0)
        return not together
