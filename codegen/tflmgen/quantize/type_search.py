"""The cheapest types that keep the outputs within the user's limits: `--activations auto`.

Everything is int8 at first. Webs become int16, and where that is not enough float32, in the order of the error that
they cause for their cost, until the quantised model, compiled and run on held-out sets, is within the limits. Then
those that turn out not to be needed become int8 again, or int16 in place of float32. Where the user sets no limits,
float32 is not for most of the work of a model: int16 is, as long as it keeps the decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass

from tflmgen.frontend import TensorKey
from tflmgen.frontend.tflite import Model
from tflmgen.input_sets import Vectors
from tflmgen.ir import DType
from tflmgen.quantize.evaluation import EvaluatedRun, Evaluation, compare_runs, max_trips, run_sets
from tflmgen.quantize.observed_build import ObservedBuild, observed_variant
from tflmgen.quantize.sensitivity import Sensitivity, WebValues
from tflmgen.terminal import Progress, no_progress

Wanted = Mapping[TensorKey, DType]
"""Element type by web root, where it is not int8."""

_MAX_REMOVALS = 8
"""Webs, the most expensive first, that are tried in narrower types again; each is a quantisation, a compilation and a
run."""

_MOST_WORK = 1 / 2
"""Part of the work of all webs from which on float32 leaves nothing of a quantised model: it is larger than the float
model, for its conversions, and no faster."""


_BISECTIONS, _REMOVALS = 4, 4
"""Bisections of a search over all webs, and removals of each of the most expensive ones: a web in float32 has two."""


def most_models(webs: int) -> int:
    """Models that a search of types for so many webs tries at most: one type for all, bisections and removals."""
    return 3 + _BISECTIONS * webs.bit_length() + _REMOVALS * min(webs, _MAX_REMOVALS)


@dataclass(frozen=True, slots=True)
class ErrorLimits:
    """Limits on sets of inputs.

    max_error      largest absolute difference of an output, in its unit; None: any
    min_agreement  share of rows of outputs whose largest element stays, and of decisions of control flow; None: any
    is_required    whether they are to hold at any cost, as the user's own are
    min_db         least ratio of variance to noise of the worst element of an output, in decibels; None: any
    min_branches   share of decisions of control flow alone; None: any
    min_classes    share of equal integers alone; None: any
    is_certain     whether the standard error of the number of integers that differ counts, too
    """

    max_error: float | None = None
    min_agreement: float | None = 0.99
    is_required: bool = True
    min_db: float | None = None
    min_branches: float | None = None
    min_classes: float | None = None
    is_certain: bool = False

    def allow(self, evaluation: Evaluation) -> bool:
        """Whether a model with these errors is good enough."""
        return not self.missed(evaluation)

    def missed(self, evaluation: Evaluation) -> str:
        """Limits that a model with these errors exceeds, as part of a sentence; empty: none."""
        if evaluation.endless:
            return "a loop does not end"
        if self.max_error is not None and evaluation.max_abs > self.max_error:
            return f"the error is {evaluation.max_abs:.4g}"
        if evaluation.agreement < (self.min_agreement or 0):
            return f"{evaluation.agreement:.1%} of the results agree"
        classes = evaluation.certain_class_agreement if self.is_certain else evaluation.class_agreement
        if classes < (self.min_classes or 0):
            return f"{evaluation.class_agreement:.1%} of the classes agree"
        if evaluation.branch_agreement < max(self.min_agreement or 0, self.min_branches or 0):
            return f"{evaluation.branch_agreement:.1%} of the branches and trip counts agree"
        if self.min_db is not None and evaluation.worst_db < self.min_db:
            return f"the worst element is {evaluation.worst_db:.1f} dB about its mean"
        return ""


@dataclass(frozen=True, slots=True)
class TypeChoice:
    """The types chosen, the errors of the model that has them, and whether they are within the limits.

    reason  why they are not, as part of a sentence
    """

    wanted: Wanted
    evaluation: Evaluation
    is_within: bool
    reason: str = ""


def choose_types(
    search: TypeTrials,
    webs: Mapping[TensorKey, WebValues],
    sensitivities: Callable[[], Sequence[Sensitivity]],
    costs: Mapping[TensorKey, int] | None = None,
) -> TypeChoice:
    """Types of webs for the limits of `search`, whose sets are many, since a decision flips seldom.

    sensitivities  measures those of each web in int8, if int8 alone is not enough
    costs          work that widening a web makes slower (`web_costs`); None: its number of values

    Without a choice within the limits, all webs in float32 that may be. Limits that are not required are given up where
    that much of the work would be in float32 that int16 is better, and decides alike: then the fewest webs in int16
    that agree with the float model as often as all of them do.
    """
    if search.is_good({}):
        return search.choice({})
    costs = {root: values.statistics.elements for root, values in webs.items()} if costs is None else costs
    order = promotion_order(webs, sensitivities(), costs)
    narrow = dict.fromkeys(order, DType.INT16)
    if search.is_good(narrow):
        return search.choice(_fewest_webs(order, {}, DType.INT16, costs, search))
    chosen: Wanted = dict.fromkeys(order, DType.FLOAT32)
    if search.is_good(chosen):
        chosen = _fewest_webs(order, narrow, DType.FLOAT32, costs, search)
    if search.limits.is_required or not _is_mostly_float(chosen, costs) or not search.decides_alike(narrow, chosen):
        return search.choice(chosen)
    reached = search.with_agreement_of(narrow)
    return search.choice(_fewest_webs(order, {}, DType.INT16, costs, reached))


def _is_mostly_float(chosen: Wanted, costs: Mapping[TensorKey, int]) -> bool:
    """Whether most of the work is that of webs in float32."""
    in_float = sum(costs.get(root, 0) for root, dtype in chosen.items() if dtype is DType.FLOAT32)
    return in_float >= _MOST_WORK * sum(costs.values())


def _fewest_webs(
    order: Sequence[TensorKey], base: Wanted, dtype: DType, costs: Mapping[TensorKey, int], search: TypeTrials
) -> dict[TensorKey, DType]:
    """Types within the limits with as few webs of `dtype`, the first ones of `order`, as do; with all of them it is.

    base  types of the others; as few of these webs as do have them, the rest are int8
    """
    candidates = [{**base, **dict.fromkeys(order[:count], dtype)} for count in range(len(order) + 1)]
    chosen = candidates[_fewest(candidates, search)]
    widest = {root: own for root, own in chosen.items() if own is dtype}
    others = [root for root in order if root in base and root not in widest]
    candidates = [widest | {root: base[root] for root in others[:count]} for count in range(len(others) + 1)]
    return _without_needless(candidates[_fewest(candidates, search)], costs, search)


def promotion_order(
    webs: Mapping[TensorKey, WebValues], sensitivities: Sequence[Sensitivity], costs: Mapping[TensorKey, int]
) -> list[TensorKey]:
    """Roots of webs, those first whose wider type gains most for its cost.

    Webs that flip decisions come first. The others follow by noise at the outputs per unit of cost.
    """

    def rank(sensitivity: Sensitivity) -> tuple[float, float, TensorKey]:
        flips, noise_db = sensitivity.badness
        cost = max(costs.get(sensitivity.root, 1), 1)
        return -flips, -(10.0 ** (noise_db / 10)) / cost, sensitivity.root

    return [sensitivity.root for sensitivity in sorted(sensitivities, key=rank) if sensitivity.root in webs]


def _fewest(candidates: Sequence[Wanted], search: TypeTrials) -> int:
    """Index of the first candidate that is good, by bisection; the last is known to be."""
    low, high = -1, len(candidates) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if search.is_good(candidates[middle]):
            high = middle
        else:
            low = middle
    return high


def _without_needless(
    chosen: dict[TensorKey, DType], costs: Mapping[TensorKey, int], search: TypeTrials
) -> dict[TensorKey, DType]:
    """The choice with int8, or else int16, for webs that may have it after all, the most expensive tried first."""
    by_cost = sorted(chosen, key=lambda root: (-costs.get(root, 0), root))
    for root in by_cost[:_MAX_REMOVALS]:
        narrower = [{key: dtype for key, dtype in chosen.items() if key != root}]
        if chosen[root] is DType.FLOAT32:
            narrower.append({**chosen, root: DType.INT16})
        chosen = next((wanted for wanted in narrower if search.is_good(wanted)), chosen)
    return chosen


class TypeTrials:
    """Evaluations of candidates, each made once.

    build     of the float model
    sets      on which the limits are to hold
    quantize  makes the quantised Model for types of webs
    limit     models that are tried at most, for progress; 0: nobody knows
    """

    def __init__(
        self,
        build: ObservedBuild,
        sets: Vectors,
        quantize: Callable[[Wanted], Model],
        limits: ErrorLimits,
        progress: Progress = no_progress,
        limit: int = 0,
    ) -> None:
        self._build, self._held_out, self._quantize, self.limits = build, sets, quantize, limits
        self._progress, self._limit = progress, limit
        self._reference = run_sets(build, sets)
        self._evaluations: dict[tuple[tuple[TensorKey, DType], ...], Evaluation] = {}

    def is_good(self, wanted: Wanted) -> bool:
        """Whether the model with these types is within the limits."""
        return self.limits.allow(self.evaluation(wanted))

    def decides_alike(self, wanted: Wanted, other: Wanted) -> bool:
        """Whether the decisions of control flow are right as often as with other types, whatever the outputs are."""
        evaluation = self.evaluation(wanted)
        return not evaluation.endless and evaluation.branch_agreement >= self.evaluation(other).branch_agreement

    def with_agreement_of(self, wanted: Wanted) -> TypeTrials:
        """The search for models that agree as often as one does, with the evaluations so far."""
        evaluation = self.evaluation(wanted)
        return self.within(ErrorLimits(None, min(evaluation.agreement, evaluation.branch_agreement)))

    def within(self, limits: ErrorLimits) -> TypeTrials:
        """The search for models within other limits, with the evaluations so far."""
        other = copy(self)
        other.limits = limits
        return other

    def choice(self, wanted: Wanted) -> TypeChoice:
        """A choice of these types, with the errors that it has."""
        evaluation = self.evaluation(wanted)
        return TypeChoice(wanted, evaluation, self.limits.allow(evaluation), self.limits.missed(evaluation))

    def evaluation(self, wanted: Wanted) -> Evaluation:
        """Errors of the model with these types."""
        key = tuple(sorted(wanted.items(), key=lambda item: item[0]))
        if key not in self._evaluations:
            done = len(self._evaluations)
            self._progress(f"Trying types, model {done + 1}: {len(wanted)} webs wider than int8", done, self._limit)
            model = self._quantize(wanted)
            self._evaluations[key] = evaluate(self._build, self._reference, model, self._held_out)
        return self._evaluations[key]


def evaluate(build: ObservedBuild, reference: EvaluatedRun, model: Model, held_out: Vectors) -> Evaluation:
    """Errors of a quantised Model, compiled for this computer, whose integers are those of TFLite Micro."""
    limits = max_trips(build.model, reference, model)
    with observed_variant(build, model) as quantized:
        return compare_runs(build, held_out, reference, run_sets(quantized, held_out, max_trips=limits), model)
