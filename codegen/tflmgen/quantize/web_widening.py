"""Candidates for wider types of a quantised model: its webs, what each costs and gains, and the models to try."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from tflmgen.emulators import Vectors
from tflmgen.frontend import Model, TensorKey, write_model
from tflmgen.ir import DType
from tflmgen.quantize.affordable_types import affordable_types
from tflmgen.quantize.cycle_estimates import by_source, operator_cycles, rough_cycles
from tflmgen.quantize.model_quantization import quantize_model
from tflmgen.quantize.observed_build import moved_shapes
from tflmgen.quantize.refinement import Refinement
from tflmgen.quantize.sensitivity import Sensitivity, WebValues, measure_sensitivity, sets_within, web_values
from tflmgen.quantize.statistics import Calibration
from tflmgen.quantize.type_search import Limits, TypeChoice, TypeTrials, Wanted, choose_types, promotion_order
from tflmgen.quantize.web_costs import widening_costs
from tflmgen.quantize.web_types import Assignment
from tflmgen.terminal import Progress

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

    def for_limits(self, limits: Limits) -> TypeChoice:
        """Types that are within limits, or as near as they come."""
        build, costs = self.best.build, self.costs
        found = choose_types(
            build, self.sets, self.webs, lambda: self.sensitivities, self.quantize, limits, self.progress, costs
        )
        if not found.wanted or not found.is_within:
            return found
        # Conversions around many single webs may take longer than int16 throughout.
        trials = TypeTrials(build, self.sets, self.quantize, limits, self.progress)
        whole = dict.fromkeys(self.webs, DType.INT16)
        is_less = self._cycles(whole) < self._cycles(found.wanted)
        return trials.choice(whole) if is_less and trials.is_good(whole) else found

    def affordable(self, limits: Limits) -> Wanted:
        """Types that are nearer to limits, and cost little."""
        trials = TypeTrials(self.best.build, self.sets, self.quantize, limits, self.progress)
        if trials.is_good({}):
            return {}
        before = self._cycles({})
        ends = set() if self.best.choice.float_io else self._ends()
        order = [root for root in promotion_order(self.webs, self.sensitivities, self.costs) if root not in ends]
        budget = _LITTLE * before
        return affordable_types(trials, order, self.costs, budget, lambda wanted: self._cycles(wanted) - before)

    def cost_of_int16(self) -> tuple[int, int]:
        """Cycles of an invoke and bytes of the file that int16 for all webs adds, estimated."""
        whole = dict.fromkeys(self.webs, DType.INT16)
        cycles = (self._cycles(whole) - self._cycles({})) // max(self.best.calibration.samples, 1)
        return cycles, len(write_model(self.quantize(whole))) - len(write_model(self.quantize({})))

    def _ends(self) -> set[TensorKey]:
        """Webs of inputs and outputs."""
        webs = self.best.quantized.assignment.webs
        entries = [graph for graph in self.best.build.model.subgraphs if graph.index not in webs.called]
        return {webs.root((graph.index, t)) for graph in entries for t in (*graph.inputs, *graph.outputs)}

    def quantize(self, wanted: Wanted) -> Model:
        """The model with these types of webs, too."""
        choice = replace(self.best.choice, wanted={**self.best.choice.wanted, **wanted})
        return quantize_model(self.best.build.model, self.best.calibration, choice).model

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
