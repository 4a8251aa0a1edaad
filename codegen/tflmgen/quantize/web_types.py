"""Decides the type, scale and zero point of each web, and the form of each operator.

A web takes part in integers if an operator that touches it has a form; webs that only operators in float touch stay
float. Webs whose operators demand one scale become one group. A result that has a fixed scale gives it to its group
where the group's values fit; elsewhere, and where groups disagree, the rewrite inserts a requantisation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tflmgen.frontend import TensorKey
from tflmgen.frontend.model_graph import FLOAT, ElementType, UnionFind, bindings, constant_values
from tflmgen.frontend.tflite import FileOperator, Model, SubGraph
from tflmgen.ir import DType, Quantization
from tflmgen.kernels import traits_of
from tflmgen.quantize.element_types import (
    Range,
    centred,
    clipped,
    of_dtype,
    range_quantization,
    representable_range,
    scale_of,
    widened,
    within,
)
from tflmgen.quantize.integer_forms import Form, KnownForms, check_form, finite_range, real_operands, real_results
from tflmgen.quantize.recorded_ranges import recorded_ranges
from tflmgen.quantize.saturation import decisive_webs, needed_range, saturation_bounds, takes_extremes
from tflmgen.quantize.shared_scales import OneScale, shared_groups
from tflmgen.quantize.statistics import Calibration
from tflmgen.quantize.trained_weights import trained_webs
from tflmgen.quantize.value_intervals import with_analysed
from tflmgen.quantize.web_constraints import Webs, find_webs
from tflmgen.quantize.zero_states import zero_states

OperatorKey = tuple[int, int]
"""Index of a subgraph and of an operator in it."""


_INT16_MARGIN = 2.0
"""Factor of the range of webs in int16 beside others in int8: one bit of sixteen, for values beyond those of samples.
Of unseen samples, a last layer of a regression lost 9 dB by ending where samples do."""


@dataclass(frozen=True, slots=True)
class Note:
    """Reason why an operator stays in float; `is_choice`: it could compute in integers, with less accuracy."""

    subgraph: int
    operator: int
    name: str
    reason: str
    is_choice: bool = False


@dataclass(frozen=True, slots=True)
class Assignment:
    """Types of all webs of a Model.

    types   element type by the web's root, for webs of float tensors
    forms   of operators in integers, by subgraph and operator index; others stay as they are
    notes   on operators that stay in float
    carried webs whose tensors are float32, converted where an operator needs their type (`carried_inputs`)
    margins factors of the ranges of webs, by root
    activations  type of webs for which nothing else is chosen
    """

    webs: Webs
    types: Mapping[TensorKey, ElementType]
    forms: Mapping[OperatorKey, Form]
    notes: tuple[Note, ...]
    carried: frozenset[TensorKey] = frozenset()
    margins: Mapping[TensorKey, float] = field(default_factory=dict)
    activations: DType = DType.INT8

    def type_of(self, key: TensorKey) -> ElementType:
        """The type in which operators compute with a tensor."""
        return self.types.get(self.webs.root(key), FLOAT)

    def stored_type(self, key: TensorKey) -> ElementType:
        """The type that a tensor has."""
        return FLOAT if self.webs.root(key) in self.carried else self.type_of(key)


def default_margin(dtype: DType, activations: DType) -> float:
    """Factor of the range of a web, where the user says none; activations: type of most webs."""
    return _INT16_MARGIN if dtype is DType.INT16 and activations is DType.INT8 else 1.0


RangeChoice = Callable[[Iterable[TensorKey], DType, Range], Range]
"""Range of a group of tensors for a type, from their keys and the least and greatest value."""


def whole_range(keys: Iterable[TensorKey], dtype: DType, bounds: Range) -> Range:
    """The least and greatest value."""
    del keys, dtype
    return bounds


@dataclass(slots=True)
class TypeSolver:
    """Decision about the types of a whole Model.

    wanted    element type by web root where it is not `activations`: int16, or float32 to keep a web in float
    requantised, exact, margins, known  as in QuantizationChoice
    ranges    of webs: what the file records, else what calibration measured, else what value-range analysis concludes
    recorded  webs whose range the file records
    analysed  ranges that value-range analysis gave or widened
    """

    model: Model
    calibration: Calibration
    activations: DType = DType.INT8
    wanted: Mapping[TensorKey, DType] = field(default_factory=dict)
    choose_range: RangeChoice = whole_range
    requantised: float = 0.0
    exact: Mapping[OperatorKey, str] = field(default_factory=dict)
    margins: Mapping[TensorKey, float] = field(default_factory=dict)
    known: KnownForms = field(default_factory=KnownForms)
    webs: Webs = field(init=False)
    ranges: dict[TensorKey, Range] = field(init=False)
    recorded: frozenset[TensorKey] = field(init=False)
    analysed: dict[TensorKey, Range] = field(init=False)
    trained: frozenset[TensorKey] = field(init=False)
    zero_states: frozenset[TensorKey] = field(init=False)
    _forms: dict[OperatorKey, Form] = field(init=False, default_factory=dict)
    _notes: dict[OperatorKey, Note] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.webs = find_webs(self.model)
        recorded = recorded_ranges(self.model, self.webs, self.calibration)
        self.recorded = frozenset(recorded)
        measured = {**self._ranges(), **recorded}
        unreached = frozenset(graph.subgraph for graph in self.calibration.unreached)
        analysed = with_analysed(self.model, self.webs, measured, unreached)
        self.ranges = {**analysed, **recorded}
        self.analysed = {root: r for root, r in self.ranges.items() if measured.get(root) != r}
        self.trained = trained_webs(self.model, self.webs)
        self.zero_states = zero_states(self.model, self.webs)

    def solve(self) -> Assignment:
        """The types; forms whose rules the real scales break are given up until none does."""
        refused: dict[OperatorKey, str] = dict(self.exact)
        while True:
            dtypes = self._web_dtypes(refused)
            types = self._typed(dtypes)
            assignment = Assignment(
                self.webs,
                types,
                dict(self._forms),
                tuple(self._notes[key] for key in sorted(self._notes)),
                margins={self.webs.root(key): factor for key, factor in self.margins.items()},
                activations=self.activations,
            )
            broken = self._broken(assignment)
            if not broken:
                return assignment
            refused.update(broken)

    def _operators(self) -> Iterable[tuple[SubGraph, FileOperator]]:
        for graph in self.model.subgraphs:
            for op in graph.operators:
                yield graph, op

    def _touched(self, graph: SubGraph, op: FileOperator) -> list[TensorKey]:
        """Roots of the webs of an operator's activations."""
        tensors = [op.inputs[i] for i in real_operands(op, graph)] + [op.outputs[i] for i in real_results(op, graph)]
        return [self.webs.root((graph.index, t)) for t in tensors if graph.tensors[t].data is None]

    def _is_computing(self, op: FileOperator) -> bool:
        """Whether an operator computes, rather than move values to subgraphs and variables or convert them."""
        return not bindings(op) and not traits_of(op.name).converts and not op.name.endswith("_VARIABLE")

    def _ranges(self) -> dict[TensorKey, Range]:
        """Least and greatest value of each web that calibration reached, with the constants assigned to it."""
        ranges: dict[TensorKey, Range] = {}

        def widen(root: TensorKey, low: float, high: float) -> None:
            before = ranges.get(root, (low, high))
            ranges[root] = min(before[0], low), max(before[1], high)

        for key, statistics in self.calibration.tensors.items():
            widen(self.webs.root(key), statistics.minimum, statistics.maximum)
        for target, (subgraph, index) in self.webs.constants:
            tensor = self.model.subgraphs[subgraph].tensors[index]
            if tensor.dtype is DType.FLOAT32 and tensor.data and (bounds := finite_range(constant_values(tensor))):
                widen(self.webs.root(target), *bounds)
        return ranges

    def _wanted(self, root: TensorKey) -> DType:
        is_float = root not in self.ranges or root in self.trained
        return DType.FLOAT32 if is_float else self.wanted.get(root, self.activations)

    def _web_dtypes(self, refused: Mapping[OperatorKey, str]) -> dict[TensorKey, DType]:
        """Element types of webs, and the forms that go with them.

        refused  operators that stay in float, and why
        """
        self._forms, self._notes = {}, {}
        touching: dict[TensorKey, list[OperatorKey]] = {}
        for graph, op in self._operators():
            roots = self._touched(graph, op)
            if not roots or not self._is_computing(op):
                continue
            key = (graph.index, op.index)
            for root in roots:
                touching.setdefault(root, []).append(key)
            form = self._form(graph, op, roots, refused)
            if isinstance(form, Form):
                self._forms[key] = form
            else:
                self._notes[key] = Note(*key, op.name, form, is_choice=form == self.exact.get(key))
        return {
            root: self._wanted(root)
            if any(key in self._forms for key in touching.get(root, ())) or root not in touching
            else DType.FLOAT32
            for root in self._float_roots()
        }

    def _float_roots(self) -> set[TensorKey]:
        return {
            self.webs.root((graph.index, tensor.index))
            for graph in self.model.subgraphs
            for tensor in graph.tensors
            if tensor.dtype is DType.FLOAT32 and tensor.data is None
        }

    def _form(
        self, graph: SubGraph, op: FileOperator, roots: list[TensorKey], refused: Mapping[OperatorKey, str]
    ) -> Form | str:
        wanted = {self._wanted(root) for root in roots}
        if DType.FLOAT32 in wanted:
            if self.trained.intersection(roots):
                return "the model trains weights with it"
            unseen = any(root not in self.ranges for root in roots)
            return "calibration never reached it" if unseen else "its operands or results are kept in float32"
        if rule := refused.get((graph.index, op.index)):
            # Operators that are kept in float by choice may have no other form.
            other = self.known.find(op, graph, self.activations) if (graph.index, op.index) in self.exact else rule
            return other if isinstance(other, str) else rule
        reason: Form | str = ""
        for dtype in sorted(wanted, key=lambda dtype: -dtype.bits):
            reason = self.known.find(op, graph, dtype)
            if isinstance(reason, Form):
                return reason
        return reason

    def _typed(self, dtypes: Mapping[TensorKey, DType]) -> dict[TensorKey, ElementType]:
        """Element types with scales: one for each group of webs that operators want to share a scale."""
        groups, ranges = self._groups(dtypes)
        fixed: dict[TensorKey, set[Quantization]] = {}
        with_zero = {root for root in self.zero_states if dtypes.get(root, DType.FLOAT32) is not DType.FLOAT32}
        for graph, op in self._operators():
            form = self._forms.get((graph.index, op.index))
            if form is not None and form.shares and traits_of(op.name).fills_with_0:
                with_zero.update(root for root in self._touched(graph, op) if dtypes[root] is form.dtype)
            if form is not None and form.result is not None:
                for place in real_results(op, graph):
                    root = self.webs.root((graph.index, op.outputs[place]))
                    if dtypes[root] is form.dtype:
                        fixed.setdefault(root, set()).add(form.result)
        members: dict[TensorKey, list[TensorKey]] = {}
        for root in sorted(dtypes):
            members.setdefault(groups.root(root), []).append(root)
        types: dict[TensorKey, ElementType] = {}
        saturated = saturation_bounds(self.model, self.webs, self._forms, ranges)
        factors = {self.webs.root(key): factor for key, factor in self.margins.items()}
        for roots in members.values():
            measured = decisive_webs(roots, saturated, ranges)
            element = self._group_type(roots, measured, dtypes[roots[0]], ranges, fixed)
            if not self.recorded.intersection(roots):
                values = [ranges[root] for root in roots if root in ranges]
                element = within(element, needed_range(roots, saturated, ranges), values)
            usual = 1.0 if self.recorded.intersection(roots) else default_margin(element.dtype, self.activations)
            factor = max((factors[root] for root in roots if root in factors), default=usual)
            element = element if factor == 1 or fixed.keys() & roots else widened(element, factor)
            types |= dict.fromkeys(roots, centred(element) if with_zero.intersection(roots) else element)
        return types

    def _groups(self, dtypes: Mapping[TensorKey, DType]) -> tuple[UnionFind, dict[TensorKey, Range]]:
        """Groups of webs with one scale, and the ranges of webs with the constants that join them."""
        sharing: list[OneScale] = []
        read: set[TensorKey] = set()
        for graph, op in self._operators():
            form = self._forms.get((graph.index, op.index))
            if form is not None and form.shares:
                sharing.append(self._one_scale(graph, op, form, dtypes))
            elif self._is_computing(op):
                read.update(self.webs.root((graph.index, op.inputs[place])) for place in real_operands(op, graph))
        for graph in self.model.subgraphs:
            if graph.index not in self.webs.called:
                read.update(self.webs.root((graph.index, tensor)) for tensor in graph.outputs)
        return shared_groups(sharing, self.ranges, read, self.requantised)

    def _one_scale(self, graph: SubGraph, op: FileOperator, form: Form, dtypes: Mapping[TensorKey, DType]) -> OneScale:
        operands = [graph.tensors[op.inputs[place]] for place in real_operands(op, graph)]
        keys = [(graph.index, t.index) for t in operands if t.data is None]
        results = [(graph.index, op.outputs[place]) for place in real_results(op, graph)]
        webs = [
            tuple(dict.fromkeys(root for root in map(self.webs.root, side) if dtypes[root] is form.dtype))
            for side in (keys, results)
        ]
        bounds = [bounds for t in operands if t.data and (bounds := finite_range(constant_values(t)))]
        if takes_extremes(op):
            ends = [self.ranges[root] for root in webs[1]]
            bounds = [clipped(own, end) for own in bounds for end in ends]
        constants = (min(low for low, _ in bounds), max(high for _, high in bounds)) if bounds else None
        return OneScale(webs[0], webs[1], constants, bool(webs[1]) and len(operands) > 1)

    def _group_type(
        self,
        roots: list[TensorKey],
        measured: Sequence[TensorKey],
        dtype: DType,
        ranges: Mapping[TensorKey, Range],
        fixed: Mapping[TensorKey, set[Quantization]],
    ) -> ElementType:
        """The type of a group. measured: webs whose values the range is chosen for."""
        if dtype is DType.FLOAT32:
            return FLOAT
        low, high = min(ranges[root][0] for root in roots), max(ranges[root][1] for root in roots)
        wanted = {quantization for root in roots for quantization in fixed.get(root, ())}
        for quantization in sorted(wanted, key=lambda q: q.scales):
            least, greatest = representable_range(quantization, dtype)
            margin = quantization.scale
            if least - margin <= low and high <= greatest + margin:
                return ElementType(dtype, quantization)
        if self.recorded.intersection(roots):
            return ElementType(dtype, range_quantization(low, high, dtype))
        keys = [key for key in self.calibration.tensors if self.webs.root(key) in set(measured)]
        # Measured values say nothing of those that analysis added.
        ends = min(ranges[root][0] for root in measured), max(ranges[root][1] for root in measured)
        parts = [self.choose_range(keys, dtype, ends), *(self.analysed.get(root, (0.0, 0.0)) for root in roots)]
        chosen = min(part[0] for part in parts), max(part[1] for part in parts)
        return ElementType(dtype, range_quantization(*chosen, dtype))

    def _broken(self, assignment: Assignment) -> dict[OperatorKey, str]:
        """The rule that the form of an operator breaks with the scales of an assignment, as a sentence."""
        broken = {}
        for graph, op in self._operators():
            form = assignment.forms.get((graph.index, op.index))
            if form is not None and traits_of(op.name).compares is None:
                typed = operand_types(assignment, graph, op, form)
                rule = check_form(op, graph, form, lambda side, place, typed=typed: typed[side, place])  # type: ignore[misc]
                if rule:
                    broken[graph.index, op.index] = rule
        return broken


def operand_types(
    assignment: Assignment, graph: SubGraph, op: FileOperator, form: Form
) -> Mapping[tuple[str, int], ElementType]:
    """Element types that an operator's activations must have, by side and place: those of the webs where it can be.

    Where it cannot, because the operator's scale is fixed or shared, or the web has another type, a requantisation or
    conversion stands between the operand and its web.
    """
    types: dict[tuple[str, int], ElementType] = {}
    for place in real_operands(op, graph):
        tensor = graph.tensors[op.inputs[place]]
        if tensor.data is not None:
            low, high = finite_range(constant_values(tensor)) or (0.0, 0.0)
            types["input", place] = ElementType(form.dtype, range_quantization(low, high, form.dtype))
        else:
            types["input", place] = of_dtype(assignment.type_of((graph.index, op.inputs[place])), form.dtype)
    for place in real_results(op, graph):
        element = of_dtype(assignment.type_of((graph.index, op.outputs[place])), form.dtype)
        types["output", place] = element if form.result is None else ElementType(form.dtype, form.result)
    if form.shares:
        variable = [key for key in types if key[0] == "output" or graph.tensors[op.inputs[key[1]]].data is None]
        results = [key for key in variable if key[0] == "output"] or variable
        widest = max(results, key=lambda key: scale_of(types[key]))
        types = dict.fromkeys(types, types[widest])
    return types
