"""The whole way from a float model and calibration data to a quantised file: measure, choose, rewrite, evaluate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from tflmgen.frontend import Shape, TensorKey
from tflmgen.frontend.tflite import Model
from tflmgen.input_sets import arrays_by_name, shapes_of_inputs
from tflmgen.ir import DType
from tflmgen.options import Activations, QuantizedIo, QuantizeOptions, SourceOptions
from tflmgen.quantize.calibration import measure
from tflmgen.quantize.calibration_data import CalibrationData, read_calibration
from tflmgen.quantize.cycle_estimates import TypeCost, cost_of_invoke
from tflmgen.quantize.element_spread import SpreadWatcher
from tflmgen.quantize.element_types import Range
from tflmgen.quantize.evaluation import EvaluatedRun, Evaluation, compare_runs, max_trips, run_sets
from tflmgen.quantize.exact_ends import exact_ends
from tflmgen.quantize.fed_back_outputs import fed_back_outputs
from tflmgen.quantize.float_simplification import lstm_loops_of
from tflmgen.quantize.held_out_ranges import saturated_evaluation
from tflmgen.quantize.mask_constants import with_bounded_masks
from tflmgen.quantize.model_quantization import QuantizationChoice, QuantizedModel, prepare_float, quantize_model
from tflmgen.quantize.observed_build import ObservedBuild, moved_shapes, observed_build, observed_variant
from tflmgen.quantize.range_choice import Affine, RangeMethod, affine_of, choose_range, clip
from tflmgen.quantize.range_margins import range_margins
from tflmgen.quantize.refinement import Refinement, Trial, refined
from tflmgen.quantize.split_outputs import with_split_outputs
from tflmgen.quantize.statistics import Calibration
from tflmgen.quantize.token_losses import (
    LimitError,
    NextTokens,
    TokenLoss,
    check_loss,
    token_loss,
    wanted_tokens,
)
from tflmgen.quantize.type_search import ErrorLimits, TypeChoice, Wanted, evaluate
from tflmgen.quantize.value_sources import value_sources, with_sources
from tflmgen.quantize.web_constraints import find_webs
from tflmgen.quantize.web_costs import operator_work
from tflmgen.quantize.web_widening import TypeSearch
from tflmgen.sources import TFLITE_ONLY, Proof, read_compared
from tflmgen.terminal import Progress

_SAME_DB = 50.0
"""SQNR from which on a float model with smaller masks counts as the same: int8 seldom reaches it."""

_STATE_MARGIN = 8.0
"""Factor of the range of a state in int16 that sums up: how far it drifts, a few hundred samples that follow one
another do not show. An LSTM's cells went three times as far on the next 200; 13 of 16 bits are left."""

_HEAVY = 5e8
"""Products of all held-out sets from which on running a model takes longer than compiling it."""

_GOOD_DB = 40.0
"""SQNR from which on it does not matter that values end at a bound: int8 has little more."""

_AIM_DB = 20.0
"""Ratio of variance to noise, in decibels, at which auto aims on held-out sets."""

_AIM = ErrorLimits(is_required=False, min_db=22.0)
"""Limits at which auto aims if the user has none, on the sets that it searches with: on others, noise is up to a tenth
of the standard deviation of each element then, 20 dB, and classes, branches and trip counts differ in one of 100."""

_DEFAULT_AIM = ErrorLimits(None, None, False, min_db=22.0, min_branches=0.99, min_classes=0.99, is_certain=True)
"""Limits at which int8 aims where that costs little: rows of real numbers need not be classes."""

_USABLE_DB = 18.0
"""15 dB, of which a warning speaks, and the error of the estimate from samples."""

_USABLE = ErrorLimits(None, None, is_required=False, min_db=_USABLE_DB, min_branches=0.99, min_classes=0.99)
"""Limits that int8 keeps at any cost where wider types can."""

_DECISIONS = ErrorLimits(None, None, is_required=False, min_branches=0.99)
"""Least agreement, at any cost, of branches and of loops that compare rounded values."""


@dataclass(frozen=True, slots=True)
class QuantizedFile:
    """A quantised file with all that is known of it.

    method  how most ranges were chosen
    trials  measures against noise that were tried, in order
    types   the search for types, with auto: on all sets if the user has limits, else on those that are not held out
    wanted  types of webs that are not those of `activations`
    on_all  errors on all sets, on which limits are to hold, and where classes and decisions count or noise is large:
            few sets say little of shares and variances. Those on held-out sets where nothing of this is so
    lstm    loops with an LSTM cell, by the subgraph of their body: why one is no layer that the fused operator
            computes; empty if it is one
    keeps_state  as in QuantizationChoice
    costs   of int8 alone if other types were chosen, and of the quantised model
    proof   how a source that was lowered compares with what it means; None for a .tflite file
    remedy  cycles and bytes that int16 for all webs adds, where a warning may offer that; None where it does not
    held_out  as in Refinement
    saturated  errors on held-out sets with the ranges of the others (`saturated_evaluation`)
    states  outputs that are inputs of the next invoke (`fed_back_outputs`)
    loss    loss of each next token, where the user names the input that has it
    """

    quantized: QuantizedModel
    calibration: Calibration
    data: CalibrationData
    settings: QuantizeOptions
    evaluation: Evaluation
    method: RangeMethod
    trials: tuple[Trial, ...]
    on_all: Evaluation
    types: TypeChoice | None = None
    wanted: Wanted = field(default_factory=dict)
    lstm: Mapping[int, str] = field(default_factory=dict)
    keeps_state: bool = True
    costs: tuple[TypeCost, ...] = ()
    proof: Proof | None = None
    remedy: tuple[int, int] | None = None
    held_out: tuple[Calibration, Calibration] | None = None
    saturated: Evaluation | None = None
    states: frozenset[TensorKey] = frozenset()
    loss: TokenLoss | None = None


def quantize_file(
    path: Path,
    calibration: Path,
    settings: QuantizeOptions,
    signature: str | None,
    progress: Progress,
    options: SourceOptions = TFLITE_ONLY,
    keeps_state: bool = True,
) -> QuantizedFile:
    """Quantises a model with the input sets of a file.

    signature    key of the signature of sets that name none
    options      how a model that is no .tflite file is read
    keeps_state  as in QuantizationChoice: False for a file that tflmgen alone compiles

    Raises ModelError for a model that cannot be compiled or has nothing to quantise; VectorsError for data that do not
    fit the model; LimitError if the limits cannot be met.
    """
    model, proof = read_compared(path, options)
    model = with_split_outputs(model) if settings.split_outputs else model
    layers = lstm_loops_of(model, keeps_state)
    source = prepare_float(model, settings.fuse_lstm, keeps_state)
    progress("Compiling the float model")
    with ExitStack() as stack:
        build = stack.enter_context(observed_build(source, _shapes(path, source, calibration, signature)))
        data = read_calibration(calibration, build.signatures, signature, build.has_state)
        text = wanted_tokens(build, data.everything, settings)
        measured = measure(build, data.fit, _counted(progress, "Calibrating: set"))
        counted, number = _counted(progress, "Running held-out set"), len(data.held_out.sets)
        build = replace(build, is_heavy=_work_of_set(build, measured) * number > _HEAVY)
        reference = run_sets(build, data.held_out, progress=lambda done: counted(done, number))
        build, measured = _without_masks(stack, build, data, measured, reference)
        choice = _with_exact_ends(_choice(settings, keeps_state, build.model), build, data, measured)
        best = refined(stack, build, data, measured, choice, progress, reference)
        result = _best(best, data, settings, text, progress)
        reasons = {key: layer if isinstance(layer, str) else "" for key, layer in layers.items()}
        reasons |= result.quantized.unfused
        result = replace(result, lstm=reasons, keeps_state=keeps_state, proof=proof)
    _check_limits(path, result, settings)
    return result


def _loss(best: Refinement, model: Model, data: CalibrationData, text: NextTokens | None) -> TokenLoss | None:
    """The loss of the next token of a quantised model, with a text that has one."""
    if text is None:
        return None
    with observed_variant(best.build, model) as variant:
        return token_loss(best.build, variant, data.everything, text)


def _shapes(path: Path, source: Model, calibration: Path, signature: str | None) -> dict[TensorKey, Shape]:
    """Largest shapes of dynamic inputs. A first dimension of 1 counts samples where the file names inputs, not sets."""
    shapes = shapes_of_inputs(path, calibration, signature)
    if any(name.startswith("s0_in_") for name in arrays_by_name(calibration)):
        return shapes
    stored = {key: source.subgraphs[key[0]].tensors[key[1]].shape for key in shapes}
    return {key: s for key, s in shapes.items() if stored[key][:1] != (1,) or stored[key][1:] != s[1:]}


def _work_of_set(build: ObservedBuild, calibration: Calibration) -> float:
    """Products of an invoke, on average."""
    return sum(operator_work(build.model, calibration).values()) / max(calibration.samples, 1)


def _without_masks(
    stack: ExitStack, build: ObservedBuild, data: CalibrationData, calibration: Calibration, reference: EvaluatedRun
) -> tuple[ObservedBuild, Calibration]:
    """The build and its calibration with masks bounded, where the float model computes the same with them."""
    trips = max_trips(build.model, reference, build.model)
    sources = value_sources(build.model)

    def accuracy(key: TensorKey, affine: Affine) -> tuple[float, float]:
        # No step writes a view or a branch's operand: what it holds ends where the value does that it is.
        run = run_sets(build, data.held_out, dict.fromkeys(with_sources(key, sources), affine), max_trips=trips)
        errors = compare_runs(build, data.held_out, reference, run, build.model)
        return errors.branch_agreement, errors.sqnr_db

    def is_mask(key: TensorKey, bounds: Range) -> bool:
        whole = affine_of(*choose_range(calibration.tensors[key], DType.INT8, RangeMethod.MIN_MAX), DType.INT8)
        return accuracy(key, clip(*bounds)) >= min(accuracy(key, whole), (1.0, _GOOD_DB))

    model = with_bounded_masks(build.model, calibration, is_mask)
    if model is build.model:
        return build, calibration
    bounded = stack.enter_context(observed_variant(build, model))
    errors = compare_runs(build, data.held_out, reference, run_sets(bounded, data.held_out), model)
    if errors.sqnr_db < _SAME_DB or errors.branch_agreement < 1:
        return build, calibration
    return bounded, measure(bounded, data.fit)


def _best(
    best: Refinement, data: CalibrationData, settings: QuantizeOptions, text: NextTokens | None, progress: Progress
) -> QuantizedFile:
    """The quantised model of least error; with types for the limits, or what costs little."""
    types, remedy, limits, narrow = None, None, _limits(settings), best.choice
    if settings.activations is Activations.AUTO:
        types = _types_of_auto(best, data, limits, progress)
        _take_types(best, data, types.wanted)
    elif settings.activations is Activations.INT8:
        loss = _loss(best, best.quantized.model, data, text)
        remedy = _widen_by_default(best, data, loss is not None and loss.is_good(settings.max_loss), progress)
    return QuantizedFile(
        best.quantized,
        best.calibration,
        data,
        settings,
        best.evaluation,
        best.method,
        tuple(best.trials),
        _errors_for_limits(best, data, settings),
        types,
        best.choice.wanted,
        costs=_type_costs(best, narrow),
        remedy=remedy,
        held_out=best.held_out,
        saturated=saturated_evaluation(best, data),
        states=frozenset(fed_back_outputs(best.build, data.everything)),
        loss=_loss(best, best.quantized.model, data, text),
    )


def _types_of_auto(
    best: Refinement, data: CalibrationData, limits: ErrorLimits | None, progress: Progress
) -> TypeChoice:
    """Types for the user's limits on all sets, or for the aim: searched on sets that are not held out, if these agree.

    Weights are rounded for the sets that are not held out, on which the model is better then than on others.
    """
    search = TypeSearch(best, data.fit if limits is None else data.everything, progress)
    types = search.for_limits(limits or _AIM)
    if limits is None and not _keeps_decisions(search, types.wanted, data):
        return TypeSearch(best, data.everything, progress).for_limits(_AIM)
    if limits is None and data.held_out is not data.everything:
        reference = run_sets(best.build, data.held_out)
        errors = evaluate(best.build, reference, search.quantize(types.wanted), data.held_out)
        if errors.worst_db < _AIM_DB:
            return TypeSearch(best, data.held_out, progress).for_limits(_AIM)
    return types


def _widen_by_default(
    best: Refinement, data: CalibrationData, keeps_loss: bool, progress: Progress
) -> tuple[int, int] | None:
    """Takes wider types where int8 falls short: what costs little, and at any cost what keeps float outputs usable.

    Cycles and bytes that int16 for all webs adds; None where int8 is good, or keeps the loss for which outputs are.
    """
    if best.evaluation.decisions:
        _take_types(best, data, TypeSearch(best, data.everything, progress).for_limits(_DECISIONS).wanted)
    if keeps_loss or _DEFAULT_AIM.allow(best.evaluation):
        return None
    counts = any(output.is_integer for output in best.evaluation.outputs)
    search = TypeSearch(best, data.everything if counts else data.fit, progress)
    types = search.affordable(_DEFAULT_AIM)
    if best.choice.float_io and not _USABLE.allow(types.evaluation):
        usable = search.for_limits(_USABLE, keeps_ends=True)
        types = usable if usable.is_within else types
    _take_types(best, data, types.wanted)
    return search.cost_of_int16()


def _keeps_decisions(search: TypeSearch, wanted: Wanted, data: CalibrationData) -> bool:
    """Whether branches and trip counts are the float model's on all sets, on which those that differ are counted."""
    if not search.best.evaluation.decisions:
        return True
    reference = run_sets(search.best.build, data.everything)
    return _DECISIONS.allow(evaluate(search.best.build, reference, search.quantize(wanted), data.everything))


def _errors_for_limits(best: Refinement, data: CalibrationData, settings: QuantizeOptions) -> Evaluation:
    """Errors on all sets, if the user has limits for these, or classes and decisions, of which few differ, count."""
    outputs = best.evaluation.outputs
    counts = bool(best.evaluation.decisions) or any(output.is_integer for output in outputs)
    counts = counts or best.evaluation.agreement < 1 or best.evaluation.worst_db < _USABLE_DB
    if (_limits(settings) is None and not counts) or data.held_out is data.everything:
        return best.evaluation
    reference = run_sets(best.build, data.everything)
    return evaluate(best.build, reference, best.quantized.model, data.everything)


def _choice(settings: QuantizeOptions, keeps_state: bool, model: Model) -> QuantizationChoice:
    dtype = DType.INT16 if settings.activations is Activations.INT16 else DType.INT8
    float_io = settings.io is QuantizedIo.FLOAT
    choice = QuantizationChoice(dtype, {}, float_io, fuses_lstm=settings.fuse_lstm, keeps_state=keeps_state)
    return replace(choice, margins=range_margins(model, settings.margin or ()))


def _with_exact_ends(
    choice: QuantizationChoice, build: ObservedBuild, data: CalibrationData, calibration: Calibration
) -> QuantizationChoice:
    """The choice with operators in float32, and webs in int16, that cost little and keep what 8 bits lose."""

    def least_variances(tensors: frozenset[TensorKey]) -> Mapping[TensorKey, float]:
        watcher = SpreadWatcher(tensors)
        build.run(data.fit.sets, data.fit.stateful, watcher)
        return watcher.least_variances

    states = fed_back_outputs(build, data.everything)
    ends = exact_ends(build.model, find_webs(build.model), calibration, choice.float_io, least_variances, states)
    wanted, margins = dict.fromkeys(ends.wide, DType.INT16), dict.fromkeys(ends.states, _STATE_MARGIN)
    return replace(choice, exact=ends.operators, wanted=wanted, state_margins=margins)


def _limits(settings: QuantizeOptions) -> ErrorLimits | None:
    """The user's limits, which it is an error to exceed."""
    if settings.max_error is None and settings.min_agreement is None:
        return None
    return ErrorLimits(settings.max_error, settings.min_agreement)


def _take_types(best: Refinement, data: CalibrationData, wanted: Wanted) -> None:
    """Quantises with other types, too."""
    if wanted:
        best.choice = replace(best.choice, wanted={**best.choice.wanted, **wanted})
        best.quantized = quantize_model(best.build.model, best.calibration, best.choice)
        reference = run_sets(best.build, data.held_out)
        best.evaluation = evaluate(best.build, reference, best.quantized.model, data.held_out)


def _type_costs(best: Refinement, narrow: QuantizationChoice) -> tuple[TypeCost, ...]:
    """Costs of the model without what a search widened, where it did, and of the quantised model.

    Not of the float model: few kernels of float32 have a cost model.
    """
    models = {}
    if best.choice.wanted != narrow.wanted:
        models["without wider types"] = quantize_model(best.build.model, best.calibration, narrow).model
    models["quantised"] = best.quantized.model
    return tuple(_cost(best, types, model) for types, model in models.items())


def _cost(best: Refinement, types: str, model: Model) -> TypeCost:
    calibration = best.calibration
    return cost_of_invoke(types, model, moved_shapes(best.build, model), calibration.runs, calibration.samples)


def _counted(progress: Progress, text: str) -> Callable[[int, int], None]:
    """Shows the number of the part that is being done behind `text`."""
    return lambda done, total: progress(f"{text} {done + 1} of {total}", done, total)


def _check_limits(path: Path, result: QuantizedFile, settings: QuantizeOptions) -> None:
    """Raises LimitError for loops that do not end, and for errors beyond the user's limits."""
    limits, evaluation = _limits(settings), result.on_all
    if evaluation.endless:
        raise LimitError(_endless(path, result.quantized.source, evaluation, settings))
    if limits is not None and not limits.allow(evaluation):
        raise LimitError(_beyond(path, evaluation, settings))
    check_loss(path, result.loss, settings.max_loss)


def _endless(path: Path, source: Model, evaluation: Evaluation, settings: QuantizeOptions) -> str:
    graph, operator = evaluation.endless[0]
    where = f"subgraph {graph} '{source.subgraphs[graph].name}', operator {operator}"
    advice = (
        "Its residue is too coarse in the types that the quantised model has"
        if settings.activations is Activations.AUTO
        else "Try --activations auto, which makes the values that its condition compares wider"
    )
    return f"{path}: {where}: the quantised loop does not end on calibration sets. {advice}"


def _beyond(path: Path, evaluation: Evaluation, settings: QuantizeOptions) -> str:
    agreement = min(evaluation.agreement, evaluation.branch_agreement)
    advice = "" if settings.activations is Activations.AUTO else ". Try --activations auto"
    return (
        f"{path}: on calibration sets the quantised model has an error of {evaluation.max_abs:.4g} and agrees in "
        f"{agreement:.1%} of the results and decisions, which is beyond the limits{advice}"
    )
