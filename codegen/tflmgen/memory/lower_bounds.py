"""How small an arena could be: what the plan is measured against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tflmgen.schedule import runs


def peak(
    blocks: Iterable[tuple[int, int]], steps: int, savings: Mapping[int, int] | None = None
) -> tuple[int, tuple[int, ...]]:
    """The largest sum of bytes that are live at one step, and the steps where it is reached.

    blocks: (bytes, live steps as a bit set); steps: how many there are; savings: step -> bytes that blocks live there
    may have in common. No packing of these blocks can be smaller.
    """
    change = [0] * (steps + 1)
    for size, live in blocks:
        for first, last in runs(live):
            change[first] += size
            change[last + 1] -= size
    best = now = 0
    where: list[int] = []
    for step in range(steps):
        now += change[step]
        needed = now - (savings or {}).get(step, 0)
        if needed >= best:
            where = [*where, step] if needed == best else [step]
            best = needed
    return best, tuple(where)
