"""The order of tasks that needs the least memory at once: exact where there are not too many orders to tell apart.

Which values are live depends on which tasks are done, not on their order. So the search goes through the sets of tasks
that can be done, by the least peak on the way there (Dijkstra's algorithm with the maximum in place of the sum; Ahn et
al., "Ordering chaos: memory-aware scheduling of irregularly wired neural networks", 2020, use dynamic programming over
the same sets). A ready task that leaves no more memory in use than before and needs no more than the peak so far is
done at once, since that can never be worse; and no peak is less than what any one
task needs, or the last.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tflmgen.kernels import TUNING


@dataclass(frozen=True, slots=True)
class Task:
    """What must be done before (a bit set of tasks); values, by number, that it reads and writes; bytes beside them.

    shared: per value written, (value read, bytes that the two have in common if it is read for the last time).
    """

    before: int
    reads: frozenset[int]
    writes: tuple[int, ...]
    extra: int
    shared: tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True, slots=True)
class Order:
    """The tasks in order, its peak in bytes, and a peak below which no order stays."""

    tasks: tuple[int, ...]
    peak: int
    least: int


class _State:
    """Sizes of values and who reads them; what doing a task after others takes and leaves."""

    def __init__(self, tasks: Sequence[Task], sizes: Mapping[int, int], kept: frozenset[int]) -> None:
        self.tasks, self._sizes = tasks, sizes
        self._before = [(i, 1 << i, task.before) for i, task in enumerate(tasks)]
        self.looks = 0
        self._readers = dict.fromkeys(sizes, 0)
        for i, task in enumerate(tasks):
            for value in task.reads:
                self._readers[value] |= 1 << i
        for value in kept:
            self._readers[value] |= 1 << len(tasks)

    def entering(self, values: frozenset[int]) -> int:
        """Bytes in use before any task."""
        return sum(self._sizes[v] for v in values if self._readers[v])

    def doing(self, i: int, done: int, live: int) -> tuple[int, int]:
        """(bytes in use during task i, bytes in use after it), `live` of them before it."""
        task, done = self.tasks[i], done | 1 << i
        dead = {v for v in task.reads if not self._readers[v] & ~done}
        written = live + sum(self._sizes[v] for v in task.writes)
        saved = sum(max((size for v, size in claims if v in dead), default=0) for claims in task.shared)
        unread = sum(self._sizes[v] for v in task.writes if not self._readers[v])
        return written + task.extra - saved, written - unread - sum(self._sizes[v] for v in dead)

    def alone(self, i: int) -> int:
        """What task i needs whatever is done before."""
        task = self.tasks[i]
        used = sum(self._sizes[v] for v in (*task.reads, *task.writes))
        return used + task.extra - sum(max((size for _, size in claims), default=0) for claims in task.shared)

    def last(self, live: int) -> int:
        """What the last task needs at least, which leaves `live` bytes."""
        every = (1 << len(self.tasks)) - 1
        followed = 0
        for task in self.tasks:
            followed |= task.before
        ends = [self.doing(i, every & ~(1 << i), 0) for i in range(len(self.tasks)) if not followed >> i & 1]
        return min((live - left + during for during, left in ends), default=0)

    def ready(self, done: int) -> list[int]:
        self.looks += len(self.tasks)
        to_do = ~done
        return [i for i, bit, before in self._before if to_do & bit and not before & to_do]

    def harmless(self, done: int, live: int, peak: int) -> tuple[list[int], int, int]:
        """Tasks that can only be better done now, and what is done, and in use, after them."""
        found = []
        while True:
            for i in self.ready(done):
                during, left = self.doing(i, done, live)
                if during <= peak and left <= live:
                    found.append(i)
                    done, live = done | 1 << i, left
                    break
            else:
                return found, done, live

    def greedy(self, done: int, live: int) -> list[int]:
        """All other tasks, each time the one that needs least, and of these the one that leaves least."""
        found = []
        while ready := self.ready(done):
            _, live, i = min((*self.doing(i, done, live), i) for i in ready)
            found.append(i)
            done |= 1 << i
        return found

    def peak(self, order: Iterable[int], done: int, live: int) -> int:
        highest = live
        for i in order:
            during, live = self.doing(i, done, live)
            highest, done = max(highest, during), done | 1 << i
        return highest


def least_peak(
    tasks: Sequence[Task],
    sizes: Mapping[int, int],
    entering: frozenset[int],
    kept: frozenset[int],
    effort: int = TUNING.order_effort,
) -> Order:
    """The order of least peak; the given one where no other is better.

    sizes: bytes of each value. entering: values that exist before; kept: those that are needed afterwards. Once the
    effort is spent, the best order that is at hand, and what is proved by then.
    """
    state = _State(tasks, sizes, kept)
    begin = state.entering(entering)
    least = max([begin, state.last(sum(sizes[v] for v in kept)), *(state.alone(i) for i in range(len(tasks)))])
    given = state.peak(range(len(tasks)), 0, begin)
    every = (1 << len(tasks)) - 1
    # Peak, tasks left, index into `steps`, tasks done, bytes in use; steps: what was done last, and the step before.
    heap = [(least, len(tasks), 0, 0, begin)]
    steps: list[tuple[tuple[int, ...], int]] = [((), 0)]
    seen: set[int] = set()
    while heap and heap[0][0] < given:
        peak, _, number, done, live = heapq.heappop(heap)
        if done in seen:
            continue
        seen.add(done)
        if done == every or state.looks > effort:
            rest = state.greedy(done, live)
            reached = max(peak, state.peak(rest, done, live))
            found = (*_path(steps, number), *rest)
            return Order(found, reached, peak) if reached < given else Order(tuple(range(len(tasks))), given, peak)
        for i in state.ready(done):
            during, left = state.doing(i, done, live)
            harmless, now, left = state.harmless(done | 1 << i, left, max(peak, during))
            steps.append(((i, *harmless), number))
            to_do = len(tasks) - now.bit_count()
            heapq.heappush(heap, (max(peak, during), to_do, len(steps) - 1, now, left))
    return Order(tuple(range(len(tasks))), given, given)


def _path(steps: Sequence[tuple[tuple[int, ...], int]], number: int) -> tuple[int, ...]:
    parts = []
    while number:
        part, number = steps[number]
        parts.append(part)
    return tuple(i for part in reversed(parts) for i in part)
