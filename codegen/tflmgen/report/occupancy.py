"""Occupancy of the arena per step, and its peak if one buffer were smaller."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

from tflmgen.report.steps import Json, Plan


@dataclass(frozen=True)
class Occupancy:
    """The arena's buffers over time. Bytes shared by overlapping buffers count once."""

    plan: Plan

    @cached_property
    def buffers(self) -> list[Json]:
        """Entries of plan.json for buffers in the arena; those in the state are left out."""
        return [b for b in self.plan["buffers"] if b["memory"] == "arena"]

    @cached_property
    def live(self) -> list[list[int]]:
        """Indices of the live buffers, per step."""
        live_buffers: list[list[int]] = [[] for _ in self.plan["steps"]]
        for number, buffer in enumerate(self.buffers):
            for first, last in buffer["ranges"]:
                for step in range(first, last + 1):
                    live_buffers[step].append(number)
        return live_buffers

    @cached_property
    def bytes(self) -> list[int]:
        """Live bytes of the arena, per step."""
        return [self._union(numbers) for numbers in self.live]

    @property
    def peak(self) -> int:
        """Maximum of the live bytes over all steps."""
        return max(self.bytes, default=0)

    @property
    def fullest(self) -> list[int]:
        """Steps at which the live bytes are at their maximum."""
        return [step for step, size in enumerate(self.bytes) if size == self.peak and size]

    def alone(self, number: int, step: int) -> int:
        """Live bytes at a step that belong to this buffer only."""
        return self.bytes[step] - self._union([n for n in self.live[step] if n != number])

    def peak_with_half(self, number: int) -> int:
        """Maximum of the live bytes if this buffer had half its size."""
        first_last: Iterable[tuple[int, int]] = self.buffers[number]["ranges"]
        smaller = {s: self.alone(number, s) // 2 for first, last in first_last for s in range(first, last + 1)}
        return max((size - smaller.get(step, 0) for step, size in enumerate(self.bytes)), default=0)

    def _union(self, numbers: Collection[int]) -> int:
        total = end = 0
        for begin, size in sorted((self.buffers[n]["offset"], self.buffers[n]["bytes"]) for n in numbers):
            total += max(0, begin + size - max(begin, end))
            end = max(end, begin + size)
        return total
