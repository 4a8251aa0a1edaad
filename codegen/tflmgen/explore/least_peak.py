"""Order of tasks with the lowest peak memory: exact unless there are too many orders.

The live values depend on the set of finished tasks, not on their order. The search therefore visits sets of finished
tasks by the lowest peak of a path to them (Dijkstra's algorithm with the maximum instead of the sum; Ahn et al.,
"Ordering chaos: memory-aware scheduling of irregularly wired neural networks", 2020, use dynamic programming over the
same sets). A ready task that does not increase the memory in use, and needs no more than the peak so far, is done at
once, since that is never worse. The need of any single task, and of the last one, is a lower bound of the peak.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tflmgen.kernels import TUNING


@dataclass(frozen=True, slots=True)
class Task:
    """One task.

    before         bit set of the tasks that must precede it
    reads, writes  numbers of values
    extra          further bytes needed during the task
    shared         per written value: (read value, bytes that both share if it is read for the last time)
    """

    before: int
    reads: frozenset[int]
    writes: tuple[int, ...]
    extra: int
    shared: tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True, slots=True)
class Order:
    """An order of tasks, its peak in bytes, and a lower bound on the peak of every order."""

    tasks: tuple[int, ...]
    peak: int
    lower_bound: int


class _State:
    """Memory needs of tasks, given the set of finished tasks."""

    def __init__(self, tasks: Sequence[Task], sizes: Mapping[int, int], needed_after: frozenset[int]) -> None:
        self.tasks, self._sizes = tasks, sizes
        self._before = [(i, 1 << i, task.before) for i, task in enumerate(tasks)]
        self.looks = 0
        self._readers = dict.fromkeys(sizes, 0)
        for i, task in enumerate(tasks):
            for value in task.reads:
                self._readers[value] |= 1 << i
        for value in needed_after:
            self._readers[value] |= 1 << len(tasks)

    def entering(self, values: frozenset[int]) -> int:
        """Bytes in use before any task."""
        return sum(self._sizes[v] for v in values if self._readers[v])

    def doing(self, i: int, done: int, live: int) -> tuple[int, int]:
        """(bytes in use during task i, bytes in use after it); `live`: bytes in use before it."""
        task, done = self.tasks[i], done | 1 << i
        dead = {v for v in task.reads if not self._readers[v] & ~done}
        written = live + sum(self._sizes[v] for v in task.writes)
        saved = sum(max((size for v, size in claims if v in dead), default=0) for claims in task.shared)
        unread = sum(self._sizes[v] for v in task.writes if not self._readers[v])
        return written + task.extra - saved, written - unread - sum(self._sizes[v] for v in dead)

    def lower_bound_of(self, i: int) -> int:
        """Bytes that task i needs in any order."""
        task = self.tasks[i]
        used = sum(self._sizes[v] for v in (*task.reads, *task.writes))
        return used + task.extra - sum(max((size for _, size in claims), default=0) for claims in task.shared)

    def bound_of_last(self, live: int) -> int:
        """Lower bound of the bytes during the last task, after which `live` bytes remain."""
        all_tasks = (1 << len(self.tasks)) - 1
        followed = 0
        for task in self.tasks:
            followed |= task.before
        ends = [self.doing(i, all_tasks & ~(1 << i), 0) for i in range(len(self.tasks)) if not followed >> i & 1]
        return min((live - left + during for during, left in ends), default=0)

    def ready(self, done: int) -> list[int]:
        self.looks += len(self.tasks)
        to_do = ~done
        return [i for i, bit, before in self._before if to_do & bit and not before & to_do]

    def harmless(self, done: int, live: int, peak: int) -> tuple[list[int], int, int]:
        """Tasks that are never worse done now; the finished tasks, and the bytes in use, after them."""
        tasks = []
        while True:
            for i in self.ready(done):
                during, left = self.doing(i, done, live)
                if during <= peak and left <= live:
                    tasks.append(i)
                    done, live = done | 1 << i, left
                    break
            else:
                return tasks, done, live

    def greedy(self, done: int, live: int) -> list[int]:
        """All remaining tasks in greedy order: lowest need first, then fewest bytes afterwards."""
        order = []
        while ready := self.ready(done):
            _, live, i = min((*self.doing(i, done, live), i) for i in ready)
            order.append(i)
            done |= 1 << i
        return order

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
    needed_after: frozenset[int],
    effort: int = TUNING.order_effort,
) -> Order:
    """Order of lowest peak; the given one if no other is better.

    sizes         bytes of each value
    entering      values that exist before the first task
    needed_after  values that must exist after the last task
    effort        tasks looked at before the search ends with a greedy order and the bound proved so far
    """
    state = _State(tasks, sizes, needed_after)
    begin, end = state.entering(entering), state.bound_of_last(sum(sizes[v] for v in needed_after))
    lower_bound = max([begin, end, *(state.lower_bound_of(i) for i in range(len(tasks)))])
    given_peak = state.peak(range(len(tasks)), 0, begin)
    # heap: (peak, tasks left, index into `steps`, tasks done, bytes in use); steps: (last tasks, previous step)
    heap = [(lower_bound, len(tasks), 0, 0, begin)]
    steps: list[tuple[tuple[int, ...], int]] = [((), 0)]
    visited: set[int] = set()
    while heap and heap[0][0] < given_peak:
        peak, _, number, done, live = heapq.heappop(heap)
        if done in visited:
            continue
        visited.add(done)
        if done == (1 << len(tasks)) - 1 or state.looks > effort:
            remaining = state.greedy(done, live)
            reached = max(peak, state.peak(remaining, done, live))
            if reached < given_peak:
                return Order((*_path(steps, number), *remaining), reached, peak)
            return Order(tuple(range(len(tasks))), given_peak, peak)
        for i in state.ready(done):
            during, left = state.doing(i, done, live)
            harmless, done_after, left = state.harmless(done | 1 << i, left, max(peak, during))
            steps.append(((i, *harmless), number))
            tasks_left = len(tasks) - done_after.bit_count()
            heapq.heappush(heap, (max(peak, during), tasks_left, len(steps) - 1, done_after, left))
    return Order(tuple(range(len(tasks))), given_peak, given_peak)


def _path(steps: Sequence[tuple[tuple[int, ...], int]], number: int) -> tuple[int, ...]:
    parts = []
    while number:
        part, number = steps[number]
        parts.append(part)
    return tuple(i for part in reversed(parts) for i in part)
