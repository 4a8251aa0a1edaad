"""Planning problems with a known answer, packed into their capacity, whatever their order and scale."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from support.planner_instances import THOROUGH, Problem, is_legal, published, tiling
from tflmgen.memory.placement import place

TILINGS = [tiling(seed) for seed in range(8)]
SOON = [*TILINGS, *published("ABCEFGHK")]
"""These take less than a second; I takes two, and D and J use all the effort, as their bound may be out of reach."""

each_problem = pytest.mark.parametrize("problem", SOON, ids=lambda problem: problem.name)


def arena(problem: Problem) -> int:
    blocks, steps = problem.blocks()
    plan = place(blocks, steps, effort=THOROUGH)
    assert is_legal(blocks, plan.offsets)
    assert plan.bytes == max(at + block.bytes for at, block in zip(plan.offsets, blocks, strict=True))
    return plan.bytes


@each_problem
def test_soon_within_capacity(problem: Problem) -> None:
    assert arena(problem) <= problem.capacity


@pytest.mark.sweep
@pytest.mark.parametrize("problem", published("ABCDEFGHIJK"), ids=lambda problem: problem.name)
def test_within_capacity(problem: Problem) -> None:
    assert arena(problem) <= problem.capacity


@pytest.mark.parametrize("seed", range(2))
@each_problem
def test_order_and_scale_do_not_matter(problem: Problem, seed: int) -> None:
    chance = random.Random(seed)
    rows = list(problem.rows)
    chance.shuffle(rows)
    stretch, factor = chance.randrange(2, 9), chance.randrange(2, 9)
    other = tuple((stretch * lower + 5, stretch * upper + 5, factor * size) for lower, upper, size in rows)
    assert arena(replace(problem, rows=other)) == factor * arena(problem)


@pytest.mark.parametrize("problem", [*TILINGS, *published("ACHK")], ids=lambda problem: problem.name)
def test_time_may_run_backward(problem: Problem) -> None:
    mirrored = replace(problem, rows=tuple((-upper, -lower, size) for lower, upper, size in problem.rows))
    assert arena(mirrored) <= problem.capacity
