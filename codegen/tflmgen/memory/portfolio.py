"""Portfolio of searches for a packing: capacities, priority orders, and limits.

The duration of a search has a heavy-tailed distribution: one order finds a packing within a few nodes per block,
another none within millions. Many orders are therefore tried briefly, then again for longer (Gomes et al.,
"Heavy-tailed phenomena in satisfiability and constraint satisfaction problems", 2000; Moffitt's MiniMalloc alternates
too).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from tflmgen.kernels import TUNING
from tflmgen.memory.canonical import Rule, pack_within
from tflmgen.memory.packing_problem import FAR, Instance, Ints

ORDERS = ("degree end", "size", "area", "load length area", "length", "degree start")
RULES = (Rule.LOWEST_TIGHT, Rule.BALANCED, Rule.MOSTLY_LOWEST, Rule.LOWEST_SECTION, Rule.LOWEST)

TURNS = tuple(
    (order, RULES[(turn + place) % len(RULES)]) for turn in range(len(RULES)) for place, order in enumerate(ORDERS)
)
"""All pairs (order, rule); every order occurs once before any occurs twice."""


@dataclass(frozen=True, slots=True)
class Tightened:
    """Best packing below the known one: offsets int64[n] of the instance's blocks, or None."""

    offsets: Ints | None
    bytes: int


def tighten(instance: Instance, known_bytes: int, bound: int, nodes: int) -> Tightened:
    """Looks for packings of less than `known_bytes`, down to `bound`, within a total number of nodes.

    More nodes continue where fewer end: the result is never worse.
    """
    search = _Tightening(instance, known_bytes, bound, nodes)
    for number in count():
        if not search.round(number):
            break
    return Tightened(search.best, search.bytes)


class _Tightening:
    def __init__(self, instance: Instance, known_bytes: int, bound: int, nodes: int) -> None:
        self._instance = instance
        self._left = nodes
        self._keys = _keys(instance)
        self._fewest = [len(instance.size)] * len(TURNS)
        self.best: Ints | None = None
        self.bytes = known_bytes
        self.least = bound

    def round(self, number: int) -> bool:
        """Tries the bound, then capacities below the best packing; returns whether further rounds can gain."""
        if not self._try(self.least, number) and number:
            (self._descend if number > 1 else self._halve)(number)
        return self._left > 0 and self.bytes > self.least

    def _halve(self, number: int) -> None:
        """Bisection from twice the bound, independent of the known packing, so that equal problems behave equally."""
        low, high = self.least, 2 * self.least
        while self._left > 0 and high - low > max(1, self.least // TUNING.packing_grain[0]):
            capacity = (low + high) // 2
            if capacity >= self.bytes or self._try(capacity, number):
                high = min(capacity, self.bytes)
            else:
                low = capacity

    def _descend(self, number: int) -> None:
        granule = step = max(1, self.least // TUNING.packing_grain[1])
        while self._left > 0 and self.bytes > self.least:
            if self._try(max(self.least, self.bytes - step), number):
                step *= 2
            elif step == granule:
                break
            else:
                step = granule

    def _try(self, capacity: int, number: int) -> bool:
        """Whether one of a round's turns finds a packing within `capacity` bytes."""
        cycle, at = divmod(number, len(TUNING.packing_noise))
        patience = max(8, int(TUNING.packing_patience * len(self._instance.size))) << cycle + number % 2
        generator = random.Random(number)
        for turn in self._turns(number):
            if self._left <= 0:
                return False
            order, rule = TURNS[turn]
            priority = self._priority(order, TUNING.packing_noise[at], generator)
            outcome = pack_within(self._instance, capacity, priority, rule, self._left, patience)
            self._left -= outcome.nodes + 1
            if outcome.offsets is not None:
                self.best = outcome.offsets
                self.bytes = int((outcome.offsets + self._instance.size).max())
                return True
            if outcome.is_proved:
                self.least = max(self.least, capacity + 1)
                return False
            self._fewest[turn] = min(self._fewest[turn], outcome.left)
        return False

    def _turns(self, number: int) -> Sequence[int]:
        """Indices of a round's turns, the most promising first; in odd rounds only these, several times each."""
        by_promise = sorted(range(len(TURNS)), key=lambda turn: (self._fewest[turn], turn))
        turns, times = TUNING.packing_retries
        return by_promise[:turns] * times if number % 2 else by_promise

    def _priority(self, order: str, noise: float, generator: random.Random) -> Ints:
        first, *further = (self._keys[name] for name in order.split())
        shifted = first * np.array([1 + noise * generator.random() for _ in first])
        return np.lexsort([*(-key for key in reversed(further)), -shifted])


def _keys(instance: Instance) -> dict[str, Ints]:
    length = instance.live.sum(1)
    load = instance.weight.sum(0)
    return {
        "size": instance.size,
        "length": length,
        "area": instance.size * length,
        "degree": (instance.above > -FAR).sum(1),
        "load": (instance.live * load).max(1),
        "end": instance.last,
        "start": -instance.first,
    }
