"""Order of tasks with the lowest peak memory: exact unless there are too many orders.

The live values depend on the set of finished tasks, not on their order. The search therefore visits sets of finished
tasks by the lowest peak of a path to them (Dijkstra's algorithm with the maximum instead of the sum; Ahn et al.,
"Ordering chaos: memory-aware scheduling of irregularly wired neural networks", 2020, use dynamic programming over the
same sets). A ready task that does not increase the memory in use, and needs no more than the peak so far, is done at
once, since that is never worse. The need of any single task, and of the last one, is a lower bound of the peak.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tflmgen.kernels.costs import TUNING


@dataclass(frozen=True, slots=True)
class OrderTask:
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


class _Need:
    """Memory that one task needs and leaves; only which values die with it depends on the order.

    reads   (readers as a bit set, bytes) of each value that it reads
    shared  per written value: (readers as a bit set, bytes shared with the value that they read)
    during  bytes of what it writes, and further bytes needed during the task
    left    bytes of what it writes and somebody reads
    """

    __slots__ = ("during", "left", "reads", "shared")

    def __init__(self, task: OrderTask, sizes: Mapping[int, int], readers: Mapping[int, int]) -> None:
        self.reads = tuple((readers[v], sizes[v]) for v in task.reads)
        claims = ([(readers[v], size) for v, size in claims if v in task.reads] for claims in task.shared)
        self.shared = tuple(tuple(values) for values in claims if values)
        self.during = sum(sizes[v] for v in task.writes) + task.extra
        self.left = sum(sizes[v] for v in task.writes if readers[v])

    def after(self, to_do: int) -> tuple[int, int]:
        """(bytes beyond those in use that the task needs, bytes by which it changes those in use); to_do: bit set of
        the tasks that follow."""
        freed = saved = 0
        for readers, size in self.reads:
            if not readers & to_do:
                freed += size
        for claims in self.shared:
            saved += max((size for readers, size in claims if not readers & to_do), default=0)
        return self.during - saved, self.left - freed


class _State:
    """Memory needs of tasks, given the set of finished tasks."""

    def __init__(self, tasks: Sequence[OrderTask], sizes: Mapping[int, int], needed_after: frozenset[int]) -> None:
        self.tasks, self._sizes = tasks, sizes
        self.looks = 0
        self._readers = dict.fromkeys(sizes, 0)
        self._successors: list[list[int]] = [[] for _ in tasks]
        for i, task in enumerate(tasks):
            for value in task.reads:
                self._readers[value] |= 1 << i
            for before in _tasks_in(task.before):
                self._successors[before].append(i)
        for value in needed_after:
            self._readers[value] |= 1 << len(tasks)
        self._needs = [_Need(task, sizes, self._readers) for task in tasks]

    def entering(self, values: frozenset[int]) -> int:
        """Bytes in use before any task."""
        return sum(self._sizes[v] for v in values if self._readers[v])

    def doing(self, i: int, done: int, live: int) -> tuple[int, int]:
        """(bytes in use during task i, bytes in use after it); `live`: bytes in use before it."""
        during, left = self._needs[i].after(~(done | 1 << i))
        return live + during, live + left

    def lower_bound_of(self, i: int) -> int:
        """Bytes that task i needs in any order."""
        task = self.tasks[i]
        used = sum(self._sizes[v] for v in (*task.reads, *task.writes))
        return used + task.extra - sum(max((size for _, size in claims), default=0) for claims in task.shared)

    def bound_of_last(self, live: int) -> int:
        """Lower bound of the bytes during the last task, after which `live` bytes remain."""
        all_tasks = (1 << len(self.tasks)) - 1
        ends = [self.doing(i, all_tasks & ~(1 << i), 0) for i, after in enumerate(self._successors) if not after]
        return min((live - left + during for during, left in ends), default=0)

    def ready(self, done: int) -> int:
        """Bit set of the tasks that can be done next."""
        self.looks += len(self.tasks)
        return sum(1 << i for i, task in enumerate(self.tasks) if not (done >> i & 1 or task.before & ~done))

    def ready_after(self, i: int, ready: int, done: int) -> int:
        """Tasks that are ready after task i: `ready` are those before it, `done` includes it."""
        self.looks += len(self.tasks)
        ready &= ~(1 << i)
        for successor in self._successors[i]:
            if not self.tasks[successor].before & ~done:
                ready |= 1 << successor
        return ready

    def steps(self, done: int, live: int, peak: int) -> Iterator[tuple[tuple[int, ...], int, int, int]]:
        """Each ready task and those that are never worse done with it: (tasks, finished tasks, bytes in use, peak)."""
        ready = self.ready(done)
        for i in _tasks_in(ready):
            during, left = self.doing(i, done, live)
            highest = max(peak, during)
            tasks, done_after = [i], done | 1 << i
            following = self.ready_after(i, ready, done_after)
            while (harmless := self._harmless(following, done_after, highest - left)) is not None:
                tasks.append(harmless)
                done_after |= 1 << harmless
                _, left = self.doing(harmless, done_after, left)
                following = self.ready_after(harmless, following, done_after)
            yield tuple(tasks), done_after, left, highest

    def _harmless(self, ready: int, done: int, room: int) -> int | None:
        """The first task that does not raise the bytes in use, and needs at most `room` bytes beyond them meanwhile."""
        for i in _tasks_in(ready):
            during, left = self._needs[i].after(~(done | 1 << i))
            if during <= room and left <= 0:
                return i
        return None

    def greedy(self, done: int, live: int) -> list[int]:
        """All remaining tasks in greedy order: lowest need first, then fewest bytes afterwards."""
        order, ready = [], self.ready(done)
        while ready:
            _, live, i = min((*self.doing(i, done, live), i) for i in _tasks_in(ready))
            order.append(i)
            done |= 1 << i
            ready = self.ready_after(i, ready, done)
        return order

    def peak(self, order: Iterable[int], done: int, live: int) -> int:
        highest = live
        for i in order:
            during, live = self.doing(i, done, live)
            highest, done = max(highest, during), done | 1 << i
        return highest


def _tasks_in(bits: int) -> Iterator[int]:
    """The tasks of a bit set, by number."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def least_peak(
    tasks: Sequence[OrderTask],
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
    initial_peak = state.peak(range(len(tasks)), 0, begin)
    # heap: (peak, tasks left, index into `steps`, tasks done, bytes in use); steps: (last tasks, previous step)
    heap = [(lower_bound, len(tasks), 0, 0, begin)]
    steps: list[tuple[tuple[int, ...], int]] = [((), 0)]
    visited: set[int] = set()
    while heap and heap[0][0] < initial_peak:
        peak, _, number, done, live = heapq.heappop(heap)
        if done in visited:
            continue
        visited.add(done)
        if done == (1 << len(tasks)) - 1 or state.looks > effort:
            remaining = state.greedy(done, live)
            reached = max(peak, state.peak(remaining, done, live))
            if reached < initial_peak:
                return Order((*_path(steps, number), *remaining), reached, peak)
            return Order(tuple(range(len(tasks))), initial_peak, peak)
        for last, done_after, left, highest in state.steps(done, live, peak):
            steps.append((last, number))
            tasks_left = len(tasks) - done_after.bit_count()
            heapq.heappush(heap, (highest, tasks_left, len(steps) - 1, done_after, left))
    return Order(tuple(range(len(tasks))), initial_peak, initial_peak)


def _path(steps: Sequence[tuple[tuple[int, ...], int]], number: int) -> tuple[int, ...]:
    parts = []
    while number:
        part, number = steps[number]
        parts.append(part)
    return tuple(i for part in reversed(parts) for i in part)
