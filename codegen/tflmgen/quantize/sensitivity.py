"""Loss of accuracy by the quantisation of each web: one web at a time, by the error at the outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tflmgen.frontend import TensorKey
from tflmgen.frontend.tflite import Model
from tflmgen.input_sets import Vectors
from tflmgen.ir import DType
from tflmgen.quantize.evaluation import Evaluation, compare_runs, max_trips, run_sets
from tflmgen.quantize.observed_build import ObservedBuild
from tflmgen.quantize.range_choice import Affine, RangeMethod, affine_of, choose_range
from tflmgen.quantize.statistics import Calibration, TensorStatistics
from tflmgen.quantize.web_costs import operator_work

_WORK = 10**9
"""Products that compiled code computes in about a second."""


@dataclass(frozen=True, slots=True, eq=False)
class WebValues:
    """The tensors of one web, or of webs that share one scale, and the values of all of them together.

    root  the tensor that names the web
    """

    root: TensorKey
    members: tuple[TensorKey, ...]
    statistics: TensorStatistics


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Errors at the outputs where one web alone is in int8, by the method of its range."""

    root: TensorKey
    method: RangeMethod
    evaluation: Evaluation

    @property
    def badness(self) -> tuple[float, float]:
        """Flipped decisions first, which no other error is as bad as, then noise relative to the signal in decibels."""
        return 1 - self.evaluation.branch_agreement, -self.evaluation.balanced_db


def web_values(
    calibration: Calibration, members: Mapping[TensorKey, Sequence[TensorKey]]
) -> dict[TensorKey, WebValues]:
    """Values of each web by its root, from those of its tensors; webs that calibration did not reach are left out."""
    webs = {}
    for root, keys in members.items():
        statistics = calibration.merged(keys)
        if statistics is not None:
            webs[root] = WebValues(root, tuple(keys), statistics)
    return webs


def sets_within(model: Model, calibration: Calibration, runs: int, fewest: int, limit: int) -> int:
    """Number of sets on which so many runs each take about a second of compiled code, within bounds."""
    work = sum(operator_work(model, calibration).values()) // max(calibration.samples, 1)
    return min(max(_WORK // max(work * runs, 1), fewest), limit)


def measure_sensitivity(
    build: ObservedBuild,
    held_out: Vectors,
    webs: Sequence[WebValues],
    methods: Sequence[RangeMethod] = (RangeMethod.MIN_MAX,),
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> list[Sensitivity]:
    """Sensitivities of all webs with every method, in this order; `build` is of the float model.

    The values of one web are rounded and clipped while the float model runs, so that nothing is compiled anew.
    """
    reference = run_sets(build, held_out)
    limits = max_trips(build.model, reference, build.model)
    total = len(webs) * len(methods)
    measured: list[Sensitivity] = []
    for web in webs:
        done: dict[Affine, Evaluation] = {}
        for method in methods:
            progress(len(measured), total)
            affine = affine_of(*choose_range(web.statistics, DType.INT8, method), DType.INT8)
            if affine not in done:
                run = run_sets(build, held_out, dict.fromkeys(web.members, affine), max_trips=limits)
                done[affine] = compare_runs(build, held_out, reference, run, build.model)
            measured.append(Sensitivity(web.root, method, done[affine]))
    return measured
