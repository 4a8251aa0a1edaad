"""Placing random blocks: always legal, never below the bound, most often optimal."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.brute_force import smallest_arena
from tflmgen.memory.first_fit import PlacedBlock
from tflmgen.memory.placement import place

STEPS = 24


def interval(first: int, length: int) -> int:
    return ((1 << length) - 1) << first


intervals = st.builds(interval, st.integers(0, STEPS - 8), st.integers(1, 8))
bit_sets = st.integers(1, (1 << STEPS) - 1)
sizes = st.integers(1, 64).map(lambda n: 4 * n)
blocks = st.lists(
    st.builds(PlacedBlock, sizes, st.sampled_from([4, 4, 8, 16]), st.one_of(intervals, bit_sets)), max_size=25
)


@settings(max_examples=150, deadline=None)
@given(blocks)
def test_every_plan_is_legal(drawn: list[PlacedBlock]) -> None:
    plan = place(drawn, STEPS, effort=20_000)
    spans = [(at, at + b.bytes, b) for at, b in zip(plan.offsets, drawn, strict=True)]
    for number, (start, end, block) in enumerate(spans):
        assert start >= 0
        assert start % block.alignment == 0
        for other_start, other_end, other in spans[:number]:
            assert not block.steps & other.steps or end <= other_start or other_end <= start
    assert plan.bytes == max((end for _, end, _ in spans), default=0)
    assert plan.bytes >= plan.lower_bound
    assert sum(b.bytes for b in drawn if b.steps >> plan.peak_step & 1) == plan.lower_bound
    assert place(drawn, STEPS, effort=20_000) == plan


@settings(max_examples=100, deadline=None)
@given(blocks, st.randoms(use_true_random=False))
def test_more_effort_is_never_worse(drawn: list[PlacedBlock], chance: random.Random) -> None:
    effort = chance.randrange(50_000)
    assert place(drawn, STEPS, effort=effort * 2).bytes <= place(drawn, STEPS, effort=effort).bytes


@settings(max_examples=150, deadline=None)
@given(blocks, st.randoms(use_true_random=False))
def test_outputs_lie_over_inputs_only_as_far_as_they_may(drawn: list[PlacedBlock], chance: random.Random) -> None:
    overlaps = {}
    for output in range(len(drawn)):
        for source in range(output):
            if chance.random() < 0.3:
                pair = (output, source) if chance.random() < 0.5 else (source, output)
                overlaps[pair] = 4 * chance.randrange(20), 4 * chance.randrange(40)
    plan = place(drawn, STEPS, overlaps, effort=20_000)
    for i, block in enumerate(drawn):
        for j, other in enumerate(drawn[:i]):
            begin, other_begin = plan.offsets[i], plan.offsets[j]
            disjoint = begin + block.bytes <= other_begin or other_begin + other.bytes <= begin
            allowed = False
            for pair, ahead in (((i, j), other_begin - begin), ((j, i), begin - other_begin)):
                if pair in overlaps:
                    before, after = overlaps[pair]
                    allowed = before <= ahead or after <= -ahead
            assert not block.steps & other.steps or disjoint or allowed
    assert plan.bytes == max((at + b.bytes for at, b in zip(plan.offsets, drawn, strict=True)), default=0)
    assert plan.lower_bound <= plan.bytes
    assert place(drawn, STEPS, overlaps, effort=20_000) == plan


@pytest.mark.parametrize("count", [3, 4, 5])
def test_small_instances_are_optimal(count: int) -> None:
    chance = random.Random(count)
    for _ in range(40):
        drawn = [PlacedBlock(4 * chance.randint(1, 16), chance.choice((4, 4, 8)), _steps(chance)) for _ in range(count)]
        assert place(drawn, 12).bytes == smallest_arena(drawn), drawn


def _steps(chance: random.Random) -> int:
    if chance.random() < 0.5:
        return interval(chance.randrange(8), chance.randint(1, 4))
    return chance.randrange(1, 1 << 12)
