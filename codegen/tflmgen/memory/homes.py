"""Coalescing of values into homes: groups of aliased values, and groups that share a home without interfering.

A group is a set of values that are the same bytes by definition. A home (a coalesced web of SSA destruction) is a set
of groups at offsets. Two groups may overlap in a home unless they interfere: unless both are live at some step. They do
not interfere at a step that reads one for the last time while it writes the other (`may_share`), nor if one is by
definition a piece of the other, at this offset (`is_piece`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from tflmgen.ir.graph import Value
from tflmgen.ir.kernel import Memory
from tflmgen.memory.liveness import Liveness


@dataclass(frozen=True, slots=True)
class HomeBuffer:
    """A finished home.

    bytes   multiple of 4
    steps   live range as a bit set
    values  hosted in turn
    memory  state if it holds a persistent variable, whose contents outlive the invoke
    """

    name: str
    bytes: int
    alignment: int
    steps: int
    values: tuple[Value, ...] = ()
    memory: Memory = "arena"


@dataclass(frozen=True, slots=True)
class Spot:
    """A byte offset within a buffer."""

    buffer: int
    offset: int = 0


@dataclass(eq=False, slots=True)
class ValueGroup:
    """Values that are the same bytes by definition, such as a view and its source."""

    values: set[Value]
    steps: int

    @property
    def bytes(self) -> int:
        """Bytes of the largest of its values, a multiple of 4."""
        return -(-max(v.type.bytes for v in self.values) // 4) * 4

    @property
    def first(self) -> int:
        """Least id of its values, by which groups are ordered."""
        return min(v.id for v in self.values)


@dataclass(eq=False, slots=True)
class Home:
    """Groups at byte offsets, which may be negative until the home is finished; `steps`: union of their live ranges."""

    offsets: dict[ValueGroup, int]
    steps: int = field(init=False)

    def __post_init__(self) -> None:
        self.steps = 0
        for group in self.offsets:
            self.steps |= group.steps

    @property
    def span(self) -> tuple[int, int]:
        """First byte and the byte behind the last, relative to the home's origin."""
        return min(self.offsets.values()), max(offset + g.bytes for g, offset in self.offsets.items())

    @property
    def bytes(self) -> int:
        """Bytes from the first group's begin to the last one's end."""
        begin, end = self.span
        return end - begin

    @property
    def area(self) -> int:
        """Bytes times live steps: cost of the home, independent of its placement."""
        return self.bytes * self.steps.bit_count()

    def buffer(self, variables: Collection[Value]) -> HomeBuffer:
        """The home as a buffer for placement, in the state if it holds a variable; aligned to its largest element, or
        to 4."""
        values = sorted((v for g in self.offsets for v in g.values), key=lambda v: v.id)
        name = max(values, key=lambda v: (v.type.bytes, -v.id)).name
        alignment = max(4, max(v.type.dtype.bits // 8 for v in values))
        memory: Memory = "state" if any(v in variables for v in values) else "arena"
        return HomeBuffer(name, self.bytes, alignment, self.steps, tuple(values), memory)


class Homes:
    """Union-find on two levels: `join_names` joins aliases of one value, `merge` coalesces values into a home."""

    def __init__(self, liveness: Liveness) -> None:
        self._ranges = liveness.ranges
        self._group: dict[Value, ValueGroup] = {}
        self._home: dict[ValueGroup, Home] = {}
        self._in_place: dict[frozenset[ValueGroup], int] = {}
        self._moved: dict[frozenset[ValueGroup], int] = {}
        self._pieces: dict[tuple[ValueGroup, ValueGroup], int] = {}
        for value, steps in liveness.ranges.items():
            group = ValueGroup({value}, steps)
            self._group[value] = group
            self._home[group] = Home({group: 0})

    def finished(self) -> list[Home]:
        """Every home, in order of first use."""
        unique = {id(home): home for home in self._home.values()}
        return sorted(unique.values(), key=lambda h: (h.steps & -h.steps, min(g.first for g in h.offsets)))

    def names(self, value: Value) -> set[Value]:
        """Aliases of `value`, itself included."""
        return self._group[value].values

    def home(self, value: Value) -> Home:
        """The home that the value is in."""
        return self._home[self._group[value]]

    def size(self, value: Value) -> int:
        """Bytes of the group that the value is in."""
        return self._group[value].bytes

    def join_names(self, name: Value, other_name: Value) -> None:
        """Joins two aliases of one value. Both must be alone in their homes. Ignores constants, which have none."""
        if name not in self._group or other_name not in self._group:
            return
        group, absorbed = self._group[name], self._group[other_name]
        if group is absorbed:
            return
        group.values |= absorbed.values
        group.steps |= absorbed.steps
        for value in absorbed.values:
            self._group[value] = group
        del self._home[absorbed]
        self._home[group] = Home({group: 0})

    def may_share(
        self, step: int, value: Value, sources: set[Value], dying: frozenset[Value], is_move: bool = False
    ) -> None:
        """Records that `step` writes `value` and is the last to read `sources`, aliases of one value.

        At this step they may share bytes: at equal offsets, or with `is_move` at any offsets. Has no effect if another
        alias of the sources stays live.
        """
        group, source_group = self._group[value], self._group[next(iter(sources))]
        bit = 1 << step
        at_step = {v for v in source_group.values if self._ranges[v] & bit}
        if group is not source_group and at_step <= sources and at_step <= dying:
            permissions = self._moved if is_move else self._in_place
            key = frozenset((group, source_group))
            permissions[key] = permissions.get(key, 0) | bit

    def is_piece(self, value: Value, source: Value, offset: int) -> None:
        """Records that `value` lies `offset` bytes (perhaps negative) into `source` by definition."""
        group, source_group = self._group[value], self._group[source]
        if group is not source_group and (group, source_group) not in self._pieces:
            self._pieces[group, source_group] = offset
            self._pieces[source_group, group] = -offset

    def merge(self, value: Value, source: Value, offset: int = 0) -> bool:
        """Coalesces both homes with `value` `offset` bytes after `source`; returns False if groups interfere."""
        group_of_value, source_group = self._group[value], self._group[source]
        home, target = self._home[group_of_value], self._home[source_group]
        shift = target.offsets[source_group] + offset - home.offsets[group_of_value]
        if home is target:
            return shift == 0
        shared_steps = home.steps & target.steps
        if shared_steps:
            own, others = (
                [(group, at) for group, at in joined_home.offsets.items() if group.steps & shared_steps]
                for joined_home in (home, target)
            )
            if not all(self._compatible(a, at + shift, b, at_b) for a, at in own for b, at_b in others):
                return False
        joined = Home(
            {**target.offsets, **{group: offset_in_home + shift for group, offset_in_home in home.offsets.items()}}
        )
        for group in joined.offsets:
            self._home[group] = joined
        return True

    def merge_all(self, pieces: Iterable[tuple[Value, Value, int]], only_if_cheap: bool) -> None:
        """Merges each (value, source, offset) if possible; `only_if_cheap`: undoes all if bytes times steps grow."""
        pending = list(pieces)
        before = {id(h): h for first, second, _ in pending for h in (self.home(first), self.home(second))}
        cost = sum(home.area for home in before.values())
        for value, source, offset in pending:
            self.merge(value, source, offset)
        after = {id(h): h for first, second, _ in pending for h in (self.home(first), self.home(second))}
        if only_if_cheap and sum(home.area for home in after.values()) > cost:
            for home in before.values():
                for group in home.offsets:
                    self._home[group] = home

    def _compatible(self, first: ValueGroup, first_offset: int, second: ValueGroup, second_offset: int) -> bool:
        """Whether two groups do not interfere at these offsets of one home."""
        shared_steps = first.steps & second.steps
        if (
            not shared_steps
            or first_offset + first.bytes <= second_offset
            or second_offset + second.bytes <= first_offset
        ):
            return True
        if self._pieces.get((first, second)) == first_offset - second_offset:
            return True
        key = frozenset((first, second))
        shared_steps &= ~self._moved.get(key, 0)
        if first_offset == second_offset:
            shared_steps &= ~self._in_place.get(key, 0)
        return not shared_steps
