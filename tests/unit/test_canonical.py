"""The search over canonical packings, where all packings can be tried."""

from __future__ import annotations

import random

import numpy as np
import pytest
from support.brute_force import smallest_arena
from support.planner_instances import is_legal
from tflmgen.memory.canonical import Rule, pack_within
from tflmgen.memory.packing_problem import Instance, instance_of
from tflmgen.memory.placement_blocks import Block, constraints_of, shared_bytes

STEPS = 12
MANY = 100_000


def live(first: int, last: int) -> int:
    """The bit set of the steps from `first` to `last`."""
    return (1 << (last + 1)) - (1 << first)


def some_blocks(chance: random.Random, count: int) -> list[Block]:
    firsts = [chance.randrange(STEPS - 5) for _ in range(count)]
    steps = [live(first, first + chance.randint(1, 5)) for first in firsts]
    return [Block(4 * chance.randint(1, 16), chance.choice((4, 4, 8)), live) for live in steps]


def instance(blocks: list[Block]) -> Instance:
    return instance_of(blocks, STEPS, constraints_of(blocks, {}), {})


@pytest.mark.parametrize("rule", Rule)
@pytest.mark.parametrize("count", [1, 4, 5])
def test_finds_the_least_and_proves_that_there_is_no_less(rule: Rule, count: int) -> None:
    chance = random.Random(count)
    for _ in range(15):
        blocks = some_blocks(chance, count)
        least = smallest_arena(blocks)
        packed = instance(blocks)
        priority = np.array(chance.sample(range(count), count))
        packing = pack_within(packed, least, priority, rule, MANY)
        assert packing.offsets is not None
        chosen = [blocks[i] for i in packed.blocks]
        assert is_legal(chosen, packing.offsets.tolist())
        assert all(at % block.alignment == 0 for at, block in zip(packing.offsets.tolist(), chosen, strict=True))
        assert max(at + block.bytes for at, block in zip(packing.offsets.tolist(), chosen, strict=True)) == least
        below = pack_within(packed, least - 1, priority, rule, MANY)
        assert below.offsets is None
        assert below.is_proved


def test_ends_at_its_limit() -> None:
    chance = random.Random(1)
    packed = instance(some_blocks(chance, 40))
    outcome = pack_within(packed, int(packed.weight.sum(0).max()), np.arange(40), Rule.LOWEST, nodes=7)
    assert (outcome.offsets, outcome.nodes, outcome.is_proved) == (None, 7, False)
    assert 0 < outcome.left <= 40


def test_blocks_of_different_times_are_packed_on_their_own() -> None:
    """Where one of two groups has no packing, none of the other's are gone through."""
    easy = [Block(4, 4, live(6, 11)) for _ in range(10)]
    tight = [Block(8, 4, live(0, 1)), Block(8, 4, live(1, 2)), Block(8, 4, live(2, 3)), Block(12, 4, live(0, 3))]
    outcome = pack_within(instance([*easy, *tight]), 27, np.arange(14), Rule.LOWEST, MANY)
    assert outcome.is_proved
    assert outcome.nodes < 100


def test_an_instance_does_not_depend_on_the_order_of_its_blocks() -> None:
    blocks = some_blocks(random.Random(3), 20)
    first, other = instance(blocks), instance(blocks[::-1])
    for name in ("size", "alignment", "live", "weight", "above", "first", "last"):
        assert (getattr(first, name) == getattr(other, name)).all()
    assert sorted(other.blocks) == list(range(20))


def test_steps_where_fewer_live_are_left_out() -> None:
    blocks = [Block(4, 4, live(0, 2)), Block(8, 4, live(1, 4)), Block(4, 4, live(4, 5))]
    assert instance(blocks).live.T.tolist() == [[True, True, False], [False, True, True]]


def test_an_output_takes_only_what_it_does_not_share() -> None:
    blocks = [Block(16, 4, live(0, 1)), Block(12, 4, live(1, 2))]
    overlaps = {(1, 0): (4, 16)}
    packed = instance_of(blocks, 3, constraints_of(blocks, overlaps), shared_bytes(blocks, overlaps))
    assert packed.weight[:, 0].tolist() == [16, 12 - shared_bytes(blocks, overlaps)[1, 1]]
    assert packed.above[1, 0] == 4
    outcome = pack_within(packed, 20, np.arange(2), Rule.LOWEST, MANY)
    assert outcome.offsets is not None
    assert outcome.offsets.tolist() == [4, 0]
