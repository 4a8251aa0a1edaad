"""Placing blocks in the arena: hand-made cases with known answers."""

from __future__ import annotations

import pytest
from tflmgen.memory.first_fit import PlacedBlock
from tflmgen.memory.lower_bounds import peak
from tflmgen.memory.placement import place


def live(first: int, last: int) -> int:
    """The bit set of the steps from `first` to `last`."""
    return (1 << (last + 1)) - (1 << first)


def chain(sizes: list[int]) -> list[PlacedBlock]:
    """A network without branches: each tensor is written by one step and read by the next."""
    return [PlacedBlock(size, 4, live(i, i + 1)) for i, size in enumerate(sizes)]


def test_nothing() -> None:
    plan = place([], 1)
    assert (plan.offsets, plan.bytes, plan.lower_bound) == ((), 0, 0)


def test_one_block_lies_at_the_bottom() -> None:
    assert place([PlacedBlock(12, 4, 1)], 1).offsets == (0,)


def test_blocks_that_never_meet_share() -> None:
    assert place([PlacedBlock(8, 4, live(0, 1)), PlacedBlock(12, 4, live(2, 3))], 4).bytes == 12


def test_blocks_that_meet_do_not() -> None:
    plan = place([PlacedBlock(8, 4, live(0, 2)), PlacedBlock(12, 4, live(2, 3))], 4)
    assert plan.bytes == plan.lower_bound == 20
    assert plan.peak_step == 2


def test_a_range_with_holes_lets_others_in() -> None:
    branches = [PlacedBlock(100, 4, 0b10010), PlacedBlock(100, 4, 0b01100)]
    assert place(branches, 5).bytes == 100


@pytest.mark.parametrize(
    "sizes",
    [
        # Activation sizes of MLPerf Tiny's four models, in bytes.
        [490, 8000, 8000, 8000, 8000, 8000, 8000, 8000, 8000, 8000, 64, 12, 12],
        [27648, 18432, 18432, 36864, 9216, 18432, 18432, 18432, 4608, 9216, 9216, 9216, 2304, 4608, 4608, 1152, 2304],
        [3072, 16384, 16384, 8192, 8192, 4096, 4096, 64, 12, 12],
        [640, 128, 128, 128, 128, 8, 128, 128, 128, 128, 640],
    ],
)
def test_chains_reach_the_bound(sizes: list[int]) -> None:
    plan = place(chain([-(-s // 4) * 4 for s in sizes]), len(sizes) + 1)
    assert plan.bytes == plan.lower_bound


def test_alignment_costs_what_it_must() -> None:
    blocks = [PlacedBlock(4, 4, 1), PlacedBlock(8, 8, 1), PlacedBlock(4, 4, 1)]
    plan = place(blocks, 1)
    assert plan.offsets[1] % 8 == 0
    assert plan.bytes == 16


def test_residual_connection() -> None:
    skip, inner = PlacedBlock(64, 4, live(0, 3)), [PlacedBlock(32, 4, live(1, 2)), PlacedBlock(64, 4, live(2, 3))]
    plan = place([skip, *inner], 4)
    assert plan.bytes == plan.lower_bound == 160


def test_effort_ends_the_search() -> None:
    """A hard instance (its bound is out of reach) still comes to an end, no worse with more effort."""
    blocks = [PlacedBlock(4 * (1 + i * 7 % 11), 4, live(i * 5 % 13, i * 5 % 13 + 3)) for i in range(40)]
    hasty, patient = place(blocks, 20, effort=1), place(blocks, 20, effort=100_000)
    assert hasty.lower_bound <= patient.bytes <= hasty.bytes


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([], (0, (0, 1, 2))),
        ([(4, 0b1), (8, 0b10)], (8, (1,))),
        ([(4, 0b11), (8, 0b10)], (12, (1,))),
        ([(4, 0b101), (1, 0b010)], (4, (0, 2))),
    ],
)
def test_peak(blocks: list[tuple[int, int]], expected: tuple[int, tuple[int, ...]]) -> None:
    assert peak(blocks, 3) == expected
