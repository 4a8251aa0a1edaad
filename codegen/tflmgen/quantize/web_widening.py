"""Candidates for wider types of a quantised model: its webs, what each costs and gains, and the models to try.

By default, webs become int16 in the order of what they gain for their cost, as long as the model takes little longer.
Of those, as few as reach the aim; all of them where none do and the outputs gain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tflmgen.frontend import TensorKey
from tflmgen.frontend.model_graph import bindings, is_loop
from tflmgen.frontend.tflite import Model, write_model
from tflmgen.input_sets import Vectors
from tflmgen.ir import DType
from tflmgen.quantize.cycle_estimates import by_source, operator_cycles, rough_cycles
from tflmgen.quantize.model_quantization import quantize_model
from tflmgen.quantize.observed_build import moved_shapes
from tflmgen.quantize.refinement import Refinement
from tflmgen.quantize.sensitivity import Sensitivity, WebValues, measure_sensitivity, sets_within, web_values
from tflmgen.quantize.statistics import Calibration
from tflmgen.quantize.type_search import (
    ErrorLimits,
    TypeChoice,
    TypeTrials,
    Wanted,
    choose_types,
    most_models,
    promotion_order,
)
from tflmgen.quantize.web_costs import widening_costs
from tflmgen.quantize.web_types import Assignment
from tflmgen.terminal import Progress

_WORTH_DB = 0.5
"""Gain of the worst element, in decibels, for which conversions are worth their cycles."""


def affordable_types(
    trials: TypeTrials,
    order: Sequence[TensorKey],
    costs: Mapping[TensorKey, int],
    budget: float,
    added_cycles: Callable[[Wanted], int],
) -> dict[TensorKey, DType]:
    """Webs in int16.

    trials        of types, with limits to aim at
    order         webs, those first that gain most for their cost
    costs         what each alone costs, about
    budget        cycles that all may cost together
    added_cycles  what several cost together, conversions included
    """
    chosen: list[TensorKey] = []
    total = 0
    for root in order:
        if total + costs.get(root, 0) <= budget:
            chosen, total = [*chosen, root], total + costs.get(root, 0)
    whole = _wide(order)
    if added_cycles(whole) <= budget:
        chosen = list(order)
    while chosen and added_cycles(_wide(chosen)) > budget:
        chosen = chosen[: len(chosen) * 3 // 4]
    if not chosen or not _is_worth(trials, _wide(chosen)):
        return {}
    low, high = 0, len(chosen)
    while trials.is_good(_wide(chosen)) and high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if trials.is_good(_wide(chosen[:middle])) else (middle, high)
    # Conversions around single webs may take longer than int16 throughout.
    is_less = high < len(chosen) == len(order) and added_cycles(whole) <= added_cycles(_wide(chosen[:high]))
    return whole if is_less else _wide(chosen[:high])


def _wide(roots: Sequence[TensorKey]) -> dict[TensorKey, DType]:
    return dict.fromkeys(roots, DType.INT16)


def _is_worth(trials: TypeTrials, wanted: Wanted) -> bool:
    before, after = trials.evaluation({}), trials.evaluation(wanted)
    gains = (
        after.branch_agreement - before.branch_agreement,
        after.class_agreement - before.class_agreement,
    )
    is_no_worse, is_more_alike = min(gains) >= 0, max(gains) > 0
    return is_no_worse and (is_more_alike or after.worst_db >= before.worst_db + _WORTH_DB)


_SENSITIVITY_SETS, _FEWEST_SETS = 16, 4
"""Sets on which each web is measured alone, of a small model and of a large one: enough for the order of the webs."""

_LITTLE = 0.1
"""Part of a model's cycles that wider types may add to them."""


def web_members(assignment: Assignment, calibration: Calibration) -> dict[TensorKey, list[TensorKey]]:
    """Tensors that calibration reached by the root of their web, for webs in integers."""
    members: dict[TensorKey, list[TensorKey]] = {}
    for key in sorted(calibration.tensors):
        root = assignment.webs.root(key)
        if assignment.type_of(key).dtype in (DType.INT8, DType.INT16):
            members.setdefault(root, []).append(key)
    return members


@dataclass
class TypeSearch:
    """A quantised model whose webs may become wider, judged on `sets`."""

    best: Refinement
    sets: Vectors
    progress: Progress
    _models: dict[frozenset[tuple[TensorKey, DType]], Model] = field(init=False, default_factory=dict)

    def for_limits(self, limits: ErrorLimits, keeps_ends: bool = False) -> TypeChoice:
        """Types that are within limits, or as near as they come; `keeps_ends`: those of `_ends` stay as they are."""
        ends = self._ends() if keeps_ends else set()
        webs = {root: values for root, values in self.webs.items() if root not in ends}
        trials = self._trials.within(limits)
        choice = choose_types(trials, webs, lambda: self.sensitivities, self.costs)
        if not choice.wanted or not choice.is_within:
            return choice
        # Conversions around many single webs may take longer than int16 throughout.
        whole = dict.fromkeys(webs, DType.INT16)
        is_less = self._cycles(whole) < self._cycles(choice.wanted)
        return trials.choice(whole) if is_less and trials.is_good(whole) else choice

    def affordable(self, limits: ErrorLimits) -> TypeChoice:
        """Types that are nearer to limits, and cost little."""
        trials = self._trials.within(limits)
        if trials.is_good({}):
            return trials.choice({})
        before, ends = self._cycles({}), self._ends()
        order = [root for root in promotion_order(self.webs, self.sensitivities, self.costs) if root not in ends]
        budget = _LITTLE * before
        wanted = affordable_types(trials, order, self.costs, budget, lambda wanted: self._cycles(wanted) - before)
        return trials.choice(wanted)

    def cost_of_int16(self) -> tuple[int, int]:
        """Cycles of an invoke and bytes of the file that int16 for all webs adds, estimated."""
        whole = dict.fromkeys(self.webs, DType.INT16)
        cycles = (self._cycles(whole) - self._cycles({})) // max(self.best.calibration.samples, 1)
        return cycles, len(write_model(self.quantize(whole))) - len(write_model(self.quantize({})))

    def _ends(self) -> set[TensorKey]:
        """Webs of inputs and outputs that are to be integers, and of loops that one operator of int8 computes."""
        quantized, model = self.best.quantized, self.best.build.model
        webs = quantized.assignment.webs
        ends: set[TensorKey] = set()
        for graph in model.subgraphs:
            loops = [op for op in graph.operators if is_loop(op) and bindings(op)[1].subgraph in quantized.fused]
            ends.update(webs.root((graph.index, t)) for op in loops for t in (*op.inputs, *op.outputs))
            if graph.index not in webs.called and not self.best.choice.float_io:
                ends.update(webs.root((graph.index, t)) for t in (*graph.inputs, *graph.outputs))
        return ends

    def quantize(self, wanted: Wanted) -> Model:
        """The model with these types of webs, too."""
        choice = replace(self.best.choice, wanted={**self.best.choice.wanted, **wanted})
        key = frozenset(choice.wanted.items())
        if key not in self._models:
            self._models[key] = quantize_model(self.best.build.model, self.best.calibration, choice).model
        return self._models[key]

    @cached_property
    def _trials(self) -> TypeTrials:
        limit = most_models(len(self.webs))
        return TypeTrials(self.best.build, self.sets, self.quantize, ErrorLimits(), self.progress, limit)

    @cached_property
    def webs(self) -> dict[TensorKey, WebValues]:
        """Webs in integers that are not wide yet, and their values."""
        members = web_members(self.best.quantized.assignment, self.best.calibration)
        wide = self.best.choice.wanted
        return web_values(self.best.calibration, {root: keys for root, keys in members.items() if root not in wide})

    @cached_property
    def sensitivities(self) -> list[Sensitivity]:
        """Errors with each web alone in int8."""
        model, calibration = self.best.build.model, self.best.calibration
        number = sets_within(model, calibration, len(self.webs), _FEWEST_SETS, _SENSITIVITY_SETS)
        subset = replace(self.sets, sets=self.sets.sets[:number])

        def note(done: int, total: int) -> None:
            self.progress(f"Measuring sensitivity: web {done + 1} of {total}", done, total)

        return measure_sensitivity(self.best.build, subset, list(self.webs.values()), progress=note)

    @cached_property
    def costs(self) -> dict[TensorKey, int]:
        """Cycles that widening each web to int16 costs, estimated from the model in int8 and that in int16."""
        narrow, wide = (self._by_source(wanted) for wanted in ({}, dict.fromkeys(self.webs, DType.INT16)))
        slower = {key: wide[key] - cycles for key, cycles in narrow.items() if key in wide}
        source, webs = self.best.build.model, self.best.quantized.assignment.webs
        return widening_costs(source, self.best.calibration, webs, slower)

    def _by_source(self, wanted: Wanted) -> Mapping[tuple[int, int], int]:
        model = self.quantize(wanted)
        cycles = operator_cycles(model, moved_shapes(self.best.build, model))
        return by_source(self.best.build.model, model, cycles)

    def _cycles(self, wanted: Wanted) -> int:
        """Estimated cycles of a typical invoke, conversions included."""
        model, calibration = self.quantize(wanted), self.best.calibration
        return rough_cycles(model, moved_shapes(self.best.build, model), calibration.runs)
