"""The kernels that are chosen for whole models, by count, beside all others that compute the same."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
from support.commands import tflmgen
from support.corpus import corpus_models
from support.cost_samples import CHOOSERS
from support.tools import requires_compiler, requires_qemu
from support.well_known import well_known
from tflmgen.ir import CostedKernel, Kernel, KernelChoice, Target
from tflmgen.kernels.choice import choose_fastest

pytestmark = [pytest.mark.emulator, requires_compiler, requires_qemu]

BOARDS = ("mps2_an385_m0", "mps2_an385", "mps2_an386", "mps2_an500", "mps3_an547")
"""One of each core that has cost figures."""

SAMPLE = ("tflm_micro_speech", "mlperf_kws_int8")
"""Small, with convolutions, depthwise ones of small and large windows, and matrix products."""

LARGEST = 400_000
"""Bytes of a model's file in the sweep: larger ones take minutes in QEMU."""

CHOSEN_WITHIN = 0.005
"""How many cycles more than the best kernels the chosen ones may take, in sum over a board's models."""

MODEL_WITHIN, SLACK = 0.05, 2_000
"""Relative error of the estimate of a whole model; cycles of a model that is nothing to choose by."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A kernel in a model: estimated and counted cycles of one call."""

    function: str
    expected: int
    cycles: float


@contextlib.contextmanager
def next_best(rank: int) -> Iterator[None]:
    """Every operator gets the kernel of this rank by estimate, 0 the best one, or the last that has an estimate."""

    def chooser(kernels: Iterable[Kernel], target: Target) -> KernelChoice:
        choice = choose_fastest(kernels, target)
        ranking: tuple[CostedKernel, ...] = (choice.chosen, *choice.considered)
        return KernelChoice(ranking[min(rank, len(ranking) - 1)])

    with contextlib.ExitStack() as stack:
        for module in CHOOSERS:
            stack.enter_context(mock.patch.object(module, "fastest", chooser))
        yield


def count(path: Path, board: str, rank: int) -> dict[tuple[int, int], Counted]:
    """The kernels of this rank in a model, by subgraph and operator; those that nothing estimates are left out."""
    with next_best(rank):
        bench = tflmgen("bench", path, "--board", board, "--json", "--optimize", "speed")
    assert bench.code == 0, bench.err
    return {
        (one["subgraph"], one["operator"]): Counted(
            one["kernel"], one["expected"]["cycles"], one["cycles_estimated"] / one["executions"]
        )
        for one in bench.json["operators"]
        if one["executions"] and (one["expected"] or {}).get("cycles")
    }


def rankings(path: Path, board: str) -> list[dict[tuple[int, int], Counted]]:
    """A model by the chosen kernels, by the next best ones and so on, until none of them differs."""
    counted = [count(path, board, 0)]
    for rank in itertools.count(1):
        further = count(path, board, rank)
        if {k: c.function for k, c in further.items()} == {k: c.function for k, c in counted[-1].items()}:
            return counted
        counted.append(further)
    raise AssertionError


@dataclass(frozen=True, slots=True)
class Outcome:
    """One model on one board, in cycles: estimated and counted for the chosen kernels, counted for the best ones."""

    name: str
    expected: float
    chosen: float
    best: float

    @property
    def is_near(self) -> bool:
        return abs(self.expected - self.chosen) <= max(SLACK, MODEL_WITHIN * self.chosen)


def outcome(path: Path, board: str) -> Outcome:
    first, *others = rankings(path, board)
    best = sum(min(ranking[key].cycles for ranking in (first, *others) if key in ranking) for key in first)
    counted = first.values()
    return Outcome(path.stem, sum(c.expected for c in counted), sum(c.cycles for c in counted), best)


def excess(outcomes: Sequence[Outcome]) -> float:
    """By what part the chosen kernels take more cycles than the best ones, in sum."""
    return sum(one.chosen for one in outcomes) / sum(one.best for one in outcomes) - 1


@pytest.mark.parametrize("board", ["mps2_an385_m0", "mps2_an386", "mps3_an547"])
def test_small_models_take_the_best_kernels(board: str, tmp_path: Path) -> None:
    assert excess([outcome(well_known(name, tmp_path), board) for name in SAMPLE]) <= CHOSEN_WITHIN


@pytest.mark.sweep
@pytest.mark.parametrize("board", BOARDS)
def test_every_model_takes_the_best_kernels(board: str) -> None:
    paths = [path for path in corpus_models() if path.stat().st_size <= LARGEST and runs(path, board)]
    outcomes = [outcome(path, board) for path in paths]
    assert excess(outcomes) <= CHOSEN_WITHIN
    assert not [one for one in outcomes if not one.is_near]


def runs(path: Path, board: str) -> bool:
    """Whether a model runs by itself: some want a plug-in, bounds of dimensions, or inputs with a meaning."""
    return tflmgen("bench", path, "--board", board, "--json").code == 0
