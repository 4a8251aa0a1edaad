"""Measures against quantisation noise, each tried on held-out sets and kept where it lowers the error at the outputs.

The order is: wider ranges, ranges of all webs by one method, equalised channels, a method for each web, corrected
biases, weights rounded with compensation. What one measure gains is judged with those before it in place, by compiling
and running the quantised model, whose integers are those of TFLite Micro. A measure must lower the noise of the typical
set, and must not raise that of all sets together, in which a few sets may outweigh the others. Ranges and factors of
channels, which help one model and harm the next, must gain more than chance would. Where requantised operands promise
to lower the noise, all measures are tried with them, too: they move what the others start from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend import TensorKey
from tflmgen.input_sets import Vectors
from tflmgen.ir import DType
from tflmgen.quantize.calibration import measure
from tflmgen.quantize.calibration_data import CalibrationData
from tflmgen.quantize.element_types import Range
from tflmgen.quantize.equalization import ChannelWatcher, equalized, find_pairs
from tflmgen.quantize.evaluation import Array, EvaluatedRun, Evaluation, compare_runs, max_trips, run_sets
from tflmgen.quantize.group_ranges import range_choice
from tflmgen.quantize.layer_inputs import LayerWatcher
from tflmgen.quantize.model_quantization import QuantizationChoice, QuantizedModel, quantize_model
from tflmgen.quantize.observed_build import ObservedBuild, observed_variant
from tflmgen.quantize.range_choice import RangeMethod
from tflmgen.quantize.sensitivity import Sensitivity, WebValues, measure_sensitivity, sets_within
from tflmgen.quantize.statistics import Calibration
from tflmgen.quantize.weight_rounding import corrected_layers
from tflmgen.terminal import Progress

Floats = NDArray[np.float64]

_RANGE_SETS, _FEWEST_RANGE_SETS = 8, 2
"""Held-out sets on which the methods are compared for one web alone, of a small model and of a large one."""

_TOLERATED_DB = 0.5
"""Rise of the noise of all sets together, above the least of the models so far, that is put down to single sets."""

_FLOOR, _LEAST_NOISE = 0.01, 1e-30
"""Added to a set's noise power: part of the mean noise, and what keeps logarithms finite."""

_LEAST_VARIANCE = 1e-3
"""Part of an output's largest variance that each element has at least: what hardly varies is no aim of its own."""

_SHARES = (1 / 4, 1 / 2)
"""Parts of a group's range below which operands with other readers are requantised: these lose two or one of eight bits
otherwise. The smaller part has fewer conversions, and comes first."""

_WORTH_CONVERSIONS_DB = 0.2
"""Mean gain at the outputs from which on requantised operands are worth their instructions: a twentieth of a bit is
less than what other measures gain for nothing."""

_ROOM = 1.2
"""Factor of ranges that is tried: its larger steps make 1.6 dB more noise. 1.1 and 1.35 gained less on random nets."""

_LAYER_SETS = 128
"""Sets in which layers' inputs are measured: more change the covariances little."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A measure that was tried, the errors of the model with it and with those used before it.

    is_range_method  it is one method of ranges for all webs
    """

    measure: str
    evaluation: Evaluation
    is_used: bool
    is_range_method: bool = False


@dataclass(slots=True)
class Refinement:
    """The best quantised model so far, with all that it was made of.

    build   of the float model that is quantised, perhaps with equalised channels
    method  of ranges; of webs in `methods`, by their least tensor, another one
    noise_db  noise power of each held-out set and output, as `_Search` has it
    held_out  what calibration says of the held-out sets alone, and of the others, whose ranges the measures were
              chosen with; None where no sets were held out
    room      factor of ranges of int8
    peak      of this model and those that it replaced, the one of least noise of all sets together; few flips first
    """

    build: ObservedBuild
    calibration: Calibration
    choice: QuantizationChoice
    quantized: QuantizedModel
    evaluation: Evaluation
    method: RangeMethod
    methods: Mapping[TensorKey, RangeMethod] = field(default_factory=dict)
    trials: list[Trial] = field(default_factory=list)
    noise_db: Floats = field(default_factory=lambda: np.zeros(0))
    held_out: tuple[Calibration, Calibration] | None = None
    room: float = 1.0
    peak: Evaluation = field(init=False)

    def __post_init__(self) -> None:
        self.peak = self.evaluation


def refined(
    stack: ExitStack,
    build: ObservedBuild,
    data: CalibrationData,
    calibration: Calibration,
    choice: QuantizationChoice,
    progress: Progress,
    reference: EvaluatedRun | None = None,
) -> Refinement:
    """The quantised model with those measures that lower its error on held-out sets, and ranges that hold all sets.

    stack      keeps what else is compiled loaded
    reference  what the held-out sets are to give; None: what the model of `build` gives
    """
    search = _Search(build, data, reference or run_sets(build, data.held_out), progress)
    first = search.first(calibration, choice)
    promising = search.promising_requantised(first) if choice.activations is DType.INT8 else ()
    best = search.with_measures(first, stack)
    for name, other in promising:
        best = search.better_whole(best, search.with_measures(other, stack), name)
    search.take_all_sets(best)
    return best


class _Search:
    """Tries measures one after the other."""

    def __init__(
        self, build: ObservedBuild, data: CalibrationData, reference: EvaluatedRun, progress: Progress
    ) -> None:
        self._build, self._data, self._reference, self._progress = build, data, reference, progress
        self._floors: list[float] = []
        self._weights: dict[tuple[int, tuple[int, ...]], Floats] = {}

    def first(self, calibration: Calibration, choice: QuantizationChoice) -> Refinement:
        method = RangeMethod.MIN_MAX
        choice = replace(choice, choose_range=range_choice(calibration, method))
        self._progress(f"Quantising, ranges by {method.value}")
        quantized, evaluation, noise_db = self._evaluated(self._build, calibration, choice)
        trial = Trial(f"ranges by {method.value}", evaluation, True, True)
        return Refinement(self._build, calibration, choice, quantized, evaluation, method, {}, [trial], noise_db)

    def promising_requantised(self, first: Refinement) -> list[tuple[str, Refinement]]:
        """Models that operands of CONCATENATION and the like with scales of their own make better, by measure."""
        promising = []
        types = first.quantized.assignment.types
        for share in _SHARES:
            choice = replace(first.choice, requantised=share)
            if quantize_model(first.build.model, first.calibration, choice).assignment.types == types:
                continue
            other = self.first(first.calibration, choice)
            types = other.quantized.assignment.types
            if self._is_better(first, other.evaluation, other.noise_db, least_db=_WORTH_CONVERSIONS_DB):
                promising.append((f"requantised operands below 1/{1 / share:.0f}", other))
        return promising

    def with_measures(self, best: Refinement, stack: ExitStack) -> Refinement:
        """The model with those of the other measures that make it better."""
        is_int8 = best.choice.activations is DType.INT8
        if is_int8:
            self.try_room(best)
            self.try_method(best, RangeMethod.MSE)
        self.try_equalized(best, stack)
        if is_int8:
            self.try_methods_by_web(best)
        self.try_constants(best)
        return best

    def better_whole(self, best: Refinement, other: Refinement, name: str) -> Refinement:
        """The better one of two models that each have their measures; `name` is that of the other one."""
        is_better = self._is_better(best, other.evaluation, other.noise_db, least_db=_WORTH_CONVERSIONS_DB)
        chosen = other if is_better else best
        chosen.trials.append(Trial(name, other.evaluation, is_better))
        return chosen

    def try_room(self, best: Refinement) -> None:
        """Wider ranges, kept where held-out samples that end at the others' ranges make more noise than larger steps.

        The sum over all sets decides: few of them reach so far, and so do few of those that the model will see. Where
        classes are all that there is, of which few differ, they are kept without a measurable gain. Margins that the
        user gives say more.
        """
        if self._data.fit is self._data.everything or best.choice.margins:
            return
        choice = replace(best.choice, choose_range=range_choice(best.calibration, best.method, room=_ROOM))
        self._progress("Quantising, wider ranges")
        quantized, evaluation, noise_db = self._evaluated(best.build, best.calibration, choice)
        is_quieter = evaluation.balanced_db > best.evaluation.balanced_db or math.isinf(evaluation.balanced_db)
        is_better = is_quieter and not _has_more_flips(evaluation, best.evaluation)
        best.trials.append(Trial("wider ranges", evaluation, is_better))
        if is_better:
            best.choice, best.room, best.quantized = choice, _ROOM, quantized
            best.evaluation, best.noise_db, best.peak = evaluation, noise_db, evaluation

    def try_method(self, best: Refinement, method: RangeMethod) -> None:
        choice = replace(best.choice, choose_range=range_choice(best.calibration, method, room=best.room))
        if self._try(best, f"ranges by {method.value}", best.build, best.calibration, choice):
            best.trials[0] = replace(best.trials[0], is_used=False)
            best.method = method
        best.trials[-1] = replace(best.trials[-1], is_range_method=True)

    def try_equalized(self, best: Refinement, stack: ExitStack) -> None:
        pairs = find_pairs(best.build.model)
        if not pairs:
            return
        self._progress("Measuring channels between layers")
        watcher = ChannelWatcher(frozenset((pair.subgraph, pair.tensor) for pair in pairs))
        best.build.run(self._data.fit.sets, self._data.fit.stateful, watcher)
        model = equalized(best.build.model, pairs, watcher)
        if model is best.build.model:
            return
        build = stack.enter_context(observed_variant(self._build, model))
        calibration = measure(build, self._data.fit)
        choice = replace(best.choice, choose_range=range_choice(calibration, best.method, room=best.room))
        self._try(best, "equalised channels", build, calibration, choice)

    def try_methods_by_web(self, best: Refinement) -> None:
        groups: list[WebValues] = []

        def choose(keys: Iterable[TensorKey], dtype: DType, bounds: Range) -> Range:
            group = sorted(keys)
            statistics = best.calibration.merged(group)
            if group and dtype is DType.INT8 and statistics is not None:
                groups.append(WebValues(group[0], tuple(group), statistics))
            return best.choice.choose_range(group, dtype, bounds)

        quantize_model(best.build.model, best.calibration, replace(best.choice, choose_range=choose))
        groups = list({group.root: group for group in groups}.values())
        runs = len(groups) * len(RangeMethod)
        sets = sets_within(best.build.model, best.calibration, runs, _FEWEST_RANGE_SETS, _RANGE_SETS)
        subset = replace(self._data.held_out, sets=self._data.held_out.sets[:sets])
        measured = measure_sensitivity(
            best.build,
            subset,
            groups,
            methods=tuple(RangeMethod),
            progress=lambda done, total: self._progress(f"Comparing ranges: {done + 1} of {total}", done, total),
        )
        methods = _least_bad(measured, best.method)
        if methods:
            choose_range = range_choice(best.calibration, best.method, methods, best.room)
            choice = replace(best.choice, choose_range=choose_range)
            if self._try(best, "a method of ranges for each web", best.build, best.calibration, choice):
                best.methods = methods

    def try_constants(self, best: Refinement) -> None:
        self._progress("Measuring inputs of layers")
        watcher = LayerWatcher(best.build.model)
        sets = self._data.fit.sets[:_LAYER_SETS]
        best.build.run(sets, self._data.fit.stateful, watcher)
        for is_compensated, name in ((False, "corrected biases"), (True, "compensated rounding")):
            constants = corrected_layers(watcher.layers, is_compensated)
            if constants:
                choice = replace(best.choice, constants=constants)
                self._try(best, name, best.build, best.calibration, choice, errors=0.0)

    def take_all_sets(self, best: Refinement) -> None:
        """Measures ranges on all sets, the held-out ones too, once these have served to choose measures."""
        if self._data.fit is self._data.everything:
            return
        self._progress("Calibrating with the held-out sets")
        fit, held_out = best.calibration, measure(best.build, self._data.held_out)
        best.held_out = held_out, fit
        best.calibration = fit.joined(held_out)
        choose_range = range_choice(best.calibration, best.method, best.methods, best.room)
        best.choice = replace(best.choice, choose_range=choose_range)
        best.quantized, best.evaluation, best.noise_db = self._evaluated(best.build, best.calibration, best.choice)

    def _try(
        self,
        best: Refinement,
        name: str,
        build: ObservedBuild,
        calibration: Calibration,
        choice: QuantizationChoice,
        errors: float = 1.0,
    ) -> bool:
        """Whether a measure is better than the best without it, which it then replaces; errors as in `_is_better`."""
        self._progress(f"Quantising, {name}")
        quantized, evaluation, noise_db = self._evaluated(build, calibration, choice)
        is_better = self._is_better(best, evaluation, noise_db, errors)
        best.trials.append(Trial(name, evaluation, is_better))
        if is_better:
            best.build, best.calibration, best.choice = build, calibration, choice
            best.quantized, best.evaluation, best.noise_db = quantized, evaluation, noise_db
            best.peak = max(best.peak, evaluation, key=lambda errors: (errors.branch_agreement, errors.balanced_db))
        return is_better

    @staticmethod
    def _is_better(
        best: Refinement, evaluation: Evaluation, noise_db: Floats, errors: float = 1.0, least_db: float = 0.0
    ) -> bool:
        """Whether a model of these errors is better than the best one.

        errors    standard errors by which the mean gain must exceed 0
        least_db  mean gain below which it is not worth what it costs
        """
        flips = evaluation.branch_agreement - best.evaluation.branch_agreement
        is_near = evaluation.balanced_db >= best.peak.balanced_db - _TOLERATED_DB
        return flips > 0 or (flips == 0 and is_near and _is_lower(noise_db, best.noise_db, errors, least_db))

    def _evaluated(
        self, build: ObservedBuild, calibration: Calibration, choice: QuantizationChoice
    ) -> tuple[QuantizedModel, Evaluation, Floats]:
        """The model, its errors, and its noise power in dB."""
        quantized = quantize_model(build.model, calibration, choice)
        held_out: Vectors = self._data.held_out
        with observed_variant(self._build, quantized.model) as compiled:
            run = run_sets(compiled, held_out, max_trips=max_trips(self._build.model, self._reference, quantized.model))
        evaluation = compare_runs(self._build, held_out, self._reference, run, quantized.model)
        return quantized, evaluation, self._noise_db(run)

    def _noise_db(self, run: EvaluatedRun) -> Floats:
        """Noise power of each output and set in dB.

        Sets that are all but exact, such as those of a saturated SOFTMAX, count as at least 1 % of the mean noise of
        the first model that was tried.
        """
        self._weights = self._weights or _element_weights(self._reference)
        noises: dict[int, list[float]] = {}
        for expected, actual in zip(self._reference.outputs, run.outputs, strict=True):
            for place, (wanted, got) in enumerate(zip(expected, actual, strict=True)):
                noises.setdefault(place, []).append(_noise(wanted, got, self._weights.get((place, wanted.shape))))
        if not self._floors:
            self._floors = [_FLOOR * float(np.mean(own)) + _LEAST_NOISE for own in noises.values()]
        decibels = [10 * np.log10(np.array(own) + f) for own, f in zip(noises.values(), self._floors, strict=True)]
        return np.concatenate(decibels) if decibels else np.zeros(0)


def _has_more_flips(evaluation: Evaluation, other: Evaluation) -> bool:
    """Whether more decisions or classes differ from the float model's than in another evaluation."""
    own, others = ((e.branch_agreement, e.class_agreement) for e in (evaluation, other))
    return own[0] < others[0] or own[1] < others[1]


def _is_lower(noise_db: Floats, other: Floats, errors: float, least_db: float = 0.0) -> bool:
    """Whether the mean of paired differences is below zero by more than this many standard errors, and than `least_db`.

    Models with infinite noise, whose loops do not end, are judged by their decisions.
    """
    if noise_db.shape != other.shape or not noise_db.size or not np.isfinite([noise_db, other]).all():
        return False
    gains = other - noise_db
    error = gains.std(ddof=1) / np.sqrt(gains.size) if gains.size > 1 else 0.0
    return bool(gains.mean() > max(errors * error, least_db))


def _element_weights(reference: EvaluatedRun) -> dict[tuple[int, tuple[int, ...]], Floats]:
    """Weight of a squared error of each element, by the output's place and shape: relative to its variance."""
    groups: dict[tuple[int, tuple[int, ...]], list[Array]] = {}
    for outputs in reference.outputs:
        for place, array in enumerate(outputs):
            groups.setdefault((place, array.shape), []).append(array.astype(np.float64))
    weights = {}
    for key, arrays in groups.items():
        finite = np.where(np.isfinite(arrays), arrays, 0.0)
        variance = finite.var(axis=0)
        # Of a shape that occurs once, which has no variance, the power counts.
        largest = variance.max(initial=0) or float(np.mean(np.square(finite))) or 1.0
        weights[key] = 1 / (variance + _LEAST_VARIANCE * largest)
    return weights


def _noise(wanted: Array, got: Array, weights: Floats | None = None) -> float:
    """Sum of the squared differences of finite values; infinite if shapes differ, or values became undefined."""
    if wanted.shape != got.shape or (np.isnan(got) & ~np.isnan(wanted)).any():
        return float("inf")
    squares = (got.astype(np.float64) - wanted.astype(np.float64)) ** 2
    return float((squares if weights is None else squares * weights)[np.isfinite(squares)].sum())


def _least_bad(measured: Iterable[Sensitivity], usual: RangeMethod) -> dict[TensorKey, RangeMethod]:
    """Method of each web that another one than the usual suits better."""
    webs: dict[TensorKey, dict[RangeMethod, Sensitivity]] = {}
    for sensitivity in measured:
        webs.setdefault(sensitivity.root, {})[sensitivity.method] = sensitivity
    chosen = {}
    for root, own in webs.items():
        method = min(own, key=lambda method: (own[method].badness, method is not usual))
        if own[method].badness < own[usual].badness:
            chosen[root] = method
    return chosen
