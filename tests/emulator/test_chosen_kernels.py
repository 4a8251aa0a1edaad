"""The kernels that are chosen for whole models, by count, beside all others that compute the same."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest import mock

import pytest
from support.cost_corpus import SMALLEST, counted_models
from support.cost_samples import CHOOSERS
from support.counted_calls import CountedCall, DoesNotFitError, counted_calls
from support.sampling import sampled
from support.tools import requires_compiler, requires_qemu
from support.well_known import well_known
from tflmgen.ir.kernel import CostedKernel, Kernel, KernelChoice, Params, Target
from tflmgen.ir.program import KernelCall
from tflmgen.kernels.choice import choose_fastest

pytestmark = [pytest.mark.emulator, requires_compiler, requires_qemu]

BOARDS = ("mps2_an385_m0", "mps2_an385", "mps2_an386", "mps2_an500", "mps3_an547")
"""One of each core that has cost figures."""

SAMPLE = {
    "mps2_an385_m0": "mlperf_kws_int8",
    "mps2_an386": "mlperf_kws_int8",
    "mps3_an547": "tflm_micro_speech",
}
"""Small, with convolutions, depthwise ones and matrix products. Each candidate that is counted takes a build."""

CHOSEN_WITHIN = 0.005
"""How many cycles more than the best kernels the chosen ones may take, in sum over a board's models."""

MODEL_WITHIN = 0.05
"""Relative error of the estimate of a whole model."""

LAYER_WITHIN, FOLDED, FAR_OFF = 0.15, 100, 20
"""Relative error of the estimate of a layer; cycles that a compiler may fold; one of how many layers may be beyond."""

Call = tuple[str, Params | None]
"""What the cycles of a call depend on: C function and const struct. Equal ones are counted once on a board."""

Rankings = dict[Call, tuple[CostedKernel, ...]]
"""By the chosen kernel of an operator, that and the others that have an estimate, the best one first."""


def call_of(kernel: Kernel | KernelCall) -> Call:
    return kernel.function, kernel.params


@contextlib.contextmanager
def choosing_beside(counted: Set[Call]) -> Iterator[Rankings]:
    """Every operator gets the best kernel by estimate that is not counted yet, or the best one of all."""
    rankings: Rankings = {}

    def chooser(kernels: Iterable[Kernel], target: Target) -> KernelChoice:
        # From the first element to the last: of one kernel, one call.
        choice = choose_fastest([replace(kernel, backward=None) for kernel in kernels], target)
        ranking = (choice.chosen, *choice.considered)
        if choice.chosen.cycles:
            rankings[call_of(choice.chosen.kernel)] = ranking
        return KernelChoice(
            next((candidate for candidate in ranking if call_of(candidate.kernel) not in counted), choice.chosen)
        )

    with contextlib.ExitStack() as stack:
        for module in CHOOSERS:
            stack.enter_context(mock.patch.object(module, "choose_fastest", chooser))
        yield rankings


@dataclass(frozen=True, slots=True)
class Outcome:
    """One model on one board, in cycles: estimated and counted for the chosen kernels, counted for the best ones."""

    name: str
    expected: float
    chosen: float
    best: float

    @property
    def error(self) -> float:
        """Of the estimate, relative."""
        return self.expected / self.chosen - 1

    @property
    def is_near(self) -> bool:
        return abs(self.error) <= MODEL_WITHIN


@dataclass(slots=True)
class Counter:
    """Counts calls on a board, equal ones once. counted: their cycles. layers: of chosen kernels, the first call."""

    board: str
    counted: dict[Call, float] = field(default_factory=dict)
    layers: dict[Call, CountedCall] = field(default_factory=dict)

    def outcome(self, path: Path) -> Outcome:
        """The model by the chosen kernels, then by others until all that some operator could have are counted."""
        with choosing_beside(frozenset()) as rankings:
            calls = [layer for layer in self._count(path) if call_of(layer.call) in rankings]
        rankings = {call_of(layer.call): rankings[call_of(layer.call)] for layer in calls}
        candidates = {call: [call_of(candidate.kernel) for candidate in ranking] for call, ranking in rankings.items()}
        self.layers = {call_of(layer.call): layer for layer in calls} | self.layers
        tried = set(self.counted)
        while left := [
            next(call for call in calls if call not in tried) for calls in candidates.values() if {*calls} - tried
        ]:
            with choosing_beside(tried):
                self._count(path)
            tried.update(left)
        best = {
            call: min(self.counted[call] for call in calls if call in self.counted)
            for call, calls in candidates.items()
        }
        expected = sum(layer.expected for layer in calls)
        cycles = sum(layer.cycles for layer in calls)
        return Outcome(path.stem, expected, cycles, sum(best[call_of(layer.call)] for layer in calls))

    def _count(self, path: Path) -> list[CountedCall]:
        calls = counted_calls(path, self.board, "--optimize", "speed")
        for layer in calls:
            self.counted.setdefault(call_of(layer.call), layer.cycles)
        return calls

    @property
    def far_off(self) -> list[Call]:
        """Chosen kernels' calls whose estimates are beyond what is expected of them."""
        misses = {call: abs(layer.expected - layer.cycles) for call, layer in self.layers.items()}
        return [call for call, miss in misses.items() if miss > max(FOLDED, LAYER_WITHIN * self.layers[call].cycles)]


def excess(outcomes: Sequence[Outcome]) -> float:
    """By what part the chosen kernels take more cycles than the best ones, in sum."""
    return sum(outcome.chosen for outcome in outcomes) / sum(outcome.best for outcome in outcomes) - 1


@pytest.mark.parametrize("board", sampled([*SAMPLE], 3, first=1))
def test_small_models_take_the_best_kernels(board: str, tmp_path: Path) -> None:
    assert excess([Counter(board).outcome(well_known(SAMPLE[board], tmp_path))]) <= CHOSEN_WITHIN


@pytest.mark.sweep
@pytest.mark.parametrize("board", BOARDS)
def test_every_model_takes_the_best_kernels(board: str) -> None:
    counter = Counter(board)
    outcomes = []
    for path in counted_models(board):
        with contextlib.suppress(DoesNotFitError):
            outcomes.append(counter.outcome(path))
    # Some spend their cycles in branches not taken.
    outcomes = [outcome for outcome in outcomes if outcome.chosen >= SMALLEST]
    worst = sorted(outcomes, key=lambda outcome: -abs(outcome.error))[:8]
    far_off = counter.far_off
    print(f"{board}: {excess(outcomes):.2%} more cycles than the best kernels, {len(far_off)} of", end=" ")
    print(f"{len(counter.layers)} layers beyond {LAYER_WITHIN:.0%}; whole models:", end=" ")
    print(*(f"{outcome.name} {outcome.error:+.1%}" for outcome in worst))
    assert excess(outcomes) <= CHOSEN_WITHIN
    assert [outcome for outcome in outcomes if not outcome.is_near] == []
    assert len(far_off) * FAR_OFF <= len(counter.layers), far_off
