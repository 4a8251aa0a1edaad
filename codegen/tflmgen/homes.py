"""Homes under construction: values that are one by name, and names that share a home without interfering."""

from __future__ import annotations

from dataclasses import dataclass, field

from tflmgen.graph import Value
from tflmgen.kernel import Memory
from tflmgen.liveness import Liveness


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


@dataclass(slots=True)
class Home:
    """A set of values that live in one place, at `steps` in all."""

    steps: int
    values: tuple[Value, ...]
    groups: list[_Group] = field(default_factory=list)

    @property
    def name(self) -> str:
        return max(self.values, key=lambda v: (v.type.bytes, -v.id)).name

    @property
    def bytes(self) -> int:
        return -(-max(v.type.bytes for v in self.values) // 4) * 4

    @property
    def alignment(self) -> int:
        return max(4, max(v.type.dtype.bits // 8 for v in self.values))


@dataclass(slots=True)
class _Group:
    """Values that are the same bytes by definition (a view and what it views)."""

    values: set[Value]
    steps: int


class Homes:
    """Union-find in two levels: `same` joins names of one value, `merge` lets two values share a home."""

    def __init__(self, liveness: Liveness) -> None:
        self._ranges = liveness.ranges
        self._group: dict[Value, _Group] = {}
        self._home: dict[int, Home] = {}
        self._shared_steps: dict[tuple[int, int], int] = {}
        for value, steps in liveness.ranges.items():
            group = _Group({value}, steps)
            self._group[value] = group
            self._home[id(group)] = Home(steps, (value,), [group])

    def all(self) -> list[Home]:
        """Every home, in order of first use."""
        unique = {id(home): home for home in self._home.values()}
        return sorted(unique.values(), key=lambda h: (h.steps & -h.steps, min(v.id for v in h.values)))

    def names(self, value: Value) -> set[Value]:
        """The values that are the same bytes as `value`, itself included."""
        return self._group[value].values

    def size(self, value: Value) -> int:
        return self._home[id(self._group[value])].bytes

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
        del self._home[id(gone)]
        home = self._home[id(into)]
        home.values = tuple(sorted(into.values, key=lambda v: v.id))
        home.steps = into.steps

    def may_share(self, step: int, value: Value, sources: set[Value], dying: frozenset[Value]) -> None:
        """Notes that `step` writes `value` and is the last to read `sources`, names of one value: at this step alone
        the two may be live in the same bytes. Without effect if another name of the sources lives on."""
        here, there = self._group[value], self._group[next(iter(sources))]
        bit = 1 << step
        at_step = {v for v in there.values if self._ranges[v] & bit}
        if here is not there and at_step <= sources and at_step <= dying:
            for key in ((id(here), id(there)), (id(there), id(here))):
                self._shared_steps[key] = self._shared_steps.get(key, 0) | bit

    def merge(self, value: Value, source: Value) -> bool:
        """Lets two values share a home, unless something in one is live together with something in the other."""
        home, other = self._home[id(self._group[value])], self._home[id(self._group[source])]
        if home is other:
            return True
        if home.steps & other.steps and any(
            one.steps & two.steps & ~self._shared_steps.get((id(one), id(two)), 0)
            for one in home.groups
            for two in other.groups
        ):
            return False
        home.groups += other.groups
        home.values = tuple(sorted({*home.values, *other.values}, key=lambda v: v.id))
        home.steps |= other.steps
        for group in other.groups:
            self._home[id(group)] = home
        return True
