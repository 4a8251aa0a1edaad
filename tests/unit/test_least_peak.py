"""The order of least peak against every order there is."""

from __future__ import annotations

import random
from itertools import permutations

from tflmgen.explore.least_peak import OrderTask, least_peak


def random_tasks(
    chance: random.Random, count: int
) -> tuple[list[OrderTask], dict[int, int], frozenset[int], frozenset[int]]:
    """`count` tasks of one or two outputs that read what earlier ones wrote; value 0 is there from the start."""
    sizes, producers = {0: 4 * chance.randrange(1, 20)}, {0: -1}
    tasks = []
    for i in range(count):
        reads = frozenset(chance.sample(sorted(sizes), min(len(sizes), chance.randrange(1, 4))))
        writes = tuple(range(len(sizes), len(sizes) + chance.randrange(1, 3)))
        shared = tuple(
            tuple((v, 4 * chance.randrange(sizes[v] // 4 + 1)) for v in sorted(reads) if chance.random() < 0.4)
            for _ in writes
        )
        before = sum({1 << producers[v] for v in reads if producers[v] >= 0})
        for value in writes:
            sizes[value], producers[value] = 4 * chance.randrange(1, 20), i
        shared = tuple(
            tuple((v, min(size, sizes[w])) for v, size in claims) for w, claims in zip(writes, shared, strict=True)
        )
        tasks.append(OrderTask(before, reads, writes, 4 * chance.randrange(5), shared))
    read = frozenset().union(*(task.reads for task in tasks))
    return tasks, sizes, frozenset({0}), frozenset(v for v in sizes if v not in read or chance.random() < 0.1)


def peak_of(order: tuple[int, ...], tasks: list[OrderTask], sizes: dict[int, int], kept: frozenset[int]) -> int | None:
    """Simulated value by value; None where a task comes before what it needs."""
    live = {0} if any(0 in task.reads for task in tasks) or 0 in kept else set()
    highest = sum(sizes[v] for v in live)
    for position, i in enumerate(order):
        task, later = tasks[i], [tasks[j] for j in order[position + 1 :]]
        if any(task.before >> j & 1 for j in order[position:]):
            return None
        live |= set(task.writes)
        dying = {v for v in task.reads if v not in kept and not any(v in other.reads for other in later)}
        saved = sum(max((n for v, n in claims if v in dying), default=0) for claims in task.shared)
        highest = max(highest, sum(sizes[v] for v in live) + task.extra - saved)
        live = {v for v in live - dying if v in kept or any(v in other.reads for other in later)}
    return highest


def test_no_order_has_less() -> None:
    chance = random.Random(1)
    for _ in range(150):
        tasks, sizes, entering, kept = random_tasks(chance, chance.randrange(1, 7))
        best = least_peak(tasks, sizes, entering, kept)
        peaks = [p for o in permutations(range(len(tasks))) if (p := peak_of(o, tasks, sizes, kept)) is not None]
        assert best.peak == best.lower_bound == min(peaks)
        assert peak_of(best.tasks, tasks, sizes, kept) == best.peak


def test_the_given_order_stays_where_none_is_better() -> None:
    chance = random.Random(2)
    for _ in range(100):
        tasks, sizes, entering, kept = random_tasks(chance, 6)
        best = least_peak(tasks, sizes, entering, kept)
        written_order = tuple(range(len(tasks)))
        assert (best.tasks == written_order) == (peak_of(written_order, tasks, sizes, kept) == best.peak)


def test_forty_independent_chains_of_two_are_exact() -> None:
    """Each chain makes much and leaves little, so that one must be ended before the next begins: 3^40 sets of tasks."""
    count = 40
    wide, narrow = list(range(1, 2 * count, 2)), list(range(2, 2 * count + 1, 2))
    sizes = {0: 4, **dict.fromkeys(wide, 1000), **dict.fromkeys(narrow, 8)}
    first = [OrderTask(0, frozenset({0}), (v,), 0, ((),)) for v in wide]
    second = [
        OrderTask(1 << i, frozenset({v}), (w,), 0, ((),)) for i, (v, w) in enumerate(zip(wide, narrow, strict=True))
    ]
    best = least_peak([*first, *second], sizes, frozenset({0}), frozenset(narrow))
    assert best.peak == best.lower_bound == 1000 + 8 * count


def test_beyond_the_effort_a_bound_is_given() -> None:
    chance = random.Random(3)
    for _ in range(50):
        tasks, sizes, entering, kept = random_tasks(chance, 9)
        exact, hasty = (least_peak(tasks, sizes, entering, kept, effort) for effort in (10**6, 10))
        assert hasty.lower_bound <= exact.peak <= hasty.peak
        assert peak_of(hasty.tasks, tasks, sizes, kept) == hasty.peak
