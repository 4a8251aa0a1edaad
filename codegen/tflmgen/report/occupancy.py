"""How full the arena is at each step, and what its fullest step would be if one buffer were smaller."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

from tflmgen.report.steps import Json, Plan


@dataclass(frozen=True)
class Occupancy:
    """The arena's buffers over time; bytes that two of them share at a step count once."""

    plan: Plan

    @cached_property
    def buffers(self) -> list[Json]:
        return [b for b in self.plan["buffers"] if b["memory"] == "arena"]

    @cached_property
    def live(self) -> list[list[int]]:
        """For each step the numbers of the buffers that hold something."""
        found: list[list[int]] = [[] for _ in self.plan["steps"]]
        for number, buffer in enumerate(self.buffers):
            for first, last in buffer["ranges"]:
                for step in range(first, last + 1):
                    found[step].append(number)
        return found

    @cached_property
    def bytes(self) -> list[int]:
        """For each step the bytes of the arena that hold something."""
        return [self._union(numbers) for numbers in self.live]

    @property
    def peak(self) -> int:
        """The most bytes at one step."""
        return max(self.bytes, default=0)

    @property
    def fullest(self) -> list[int]:
        """The steps at which the arena holds the most."""
        return [step for step, size in enumerate(self.bytes) if size == self.peak and size]

    def alone(self, number: int, step: int) -> int:
        """The bytes at a step that only this buffer needs."""
        return self.bytes[step] - self._union([n for n in self.live[step] if n != number])

    def peak_with_half(self, number: int) -> int:
        """The most bytes at one step, were the buffer half as large."""
        first_last: Iterable[tuple[int, int]] = self.buffers[number]["ranges"]
        smaller = {s: self.alone(number, s) // 2 for first, last in first_last for s in range(first, last + 1)}
        return max((size - smaller.get(step, 0) for step, size in enumerate(self.bytes)), default=0)

    def _union(self, numbers: Collection[int]) -> int:
        total = end = 0
        for begin, size in sorted((self.buffers[n]["offset"], self.buffers[n]["bytes"]) for n in numbers):
            total += max(0, begin + size - max(begin, end))
            end = max(end, begin + size)
        return total
