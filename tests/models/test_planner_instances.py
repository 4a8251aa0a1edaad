"""MiniMalloc's instances: packed into the capacity for which they were published, whatever their order and scale."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from support.planner_instances import Problem, is_legal, read_problem, requires_instances
from tflmgen.arena.place import place

SOON = "ABCEFGHK"
"""These take less than a second; I takes two, and D and J use all the effort, as their bound may be out of reach."""


def arena(problem: Problem) -> int:
    blocks, steps = problem.blocks()
    plan = place(blocks, steps)
    assert is_legal(blocks, plan.offsets)
    assert plan.bytes == max(at + block.bytes for at, block in zip(plan.offsets, blocks, strict=True))
    return plan.bytes


@requires_instances
@pytest.mark.parametrize("name", SOON)
def test_soon_within_capacity(name: str) -> None:
    problem = read_problem(name)
    assert arena(problem) <= problem.capacity


@requires_instances
@pytest.mark.sweep
@pytest.mark.parametrize("name", "ABCDEFGHIJK")
def test_within_capacity(name: str) -> None:
    problem = read_problem(name)
    assert arena(problem) <= problem.capacity


@requires_instances
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", SOON)
def test_order_and_scale_do_not_matter(name: str, seed: int) -> None:
    problem = read_problem(name)
    chance = random.Random(seed)
    rows = list(problem.rows)
    chance.shuffle(rows)
    stretch, factor = chance.randrange(2, 9), chance.randrange(2, 9)
    other = tuple((stretch * lower + 5, stretch * upper + 5, factor * size) for lower, upper, size in rows)
    assert arena(replace(problem, rows=other)) == factor * arena(problem)


@requires_instances
@pytest.mark.parametrize("name", "ACHK")
def test_time_may_run_backward(name: str) -> None:
    problem = read_problem(name)
    mirrored = replace(problem, rows=tuple((-upper, -lower, size) for lower, upper, size in problem.rows))
    assert arena(mirrored) <= problem.capacity
