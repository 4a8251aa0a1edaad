"""Ranges beyond which values make no difference, because they end in LOGISTIC or TANH in int8.

Beyond a few units these have one result: the least or the greatest integer. Steps that a range spends there, as for the
gates of a recurrent cell whose inputs are large, are lost to the values that count. The same holds for the operands of
a sum that is read by them alone: what exceeds the bound by more than the other operand can make up for. Operands of
MAXIMUM and its like that nothing else reads end where its results do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tflmgen.frontend import TensorKey
from tflmgen.frontend.model_graph import OperatorKey, bindings, constant_values
from tflmgen.frontend.tflite import FileOperator, Model, SubGraph
from tflmgen.ir import DType
from tflmgen.kernels import traits_of
from tflmgen.kernels.numeric import Activation
from tflmgen.quantize.element_types import EVERYTHING, NOTHING, Range, clipped, hull
from tflmgen.quantize.integer_forms import Form, finite_range, float_instance, real_operands, real_results
from tflmgen.quantize.web_constraints import Webs, result_key

_EXTREMES = frozenset(["MAXIMUM", "MINIMUM", "REDUCE_MAX", "REDUCE_MIN", "MAX_POOL_2D"])
"""Operators that leave out values beyond the range of their results, or replace them by others."""

_ENDS: Mapping[str, Range] = {
    "LOGISTIC": (-math.log(2 * 256 - 1), math.log(254.5 / 1.5)),
    "TANH": (-math.atanh(127.5 / 128), math.atanh(126.5 / 128)),
}
"""Operands whose results round to the ends of int8: with a scale of 1/256 from 0, with one of 1/128 from -1."""

_PICK = frozenset(["GATHER", "GATHER_ND", "DYNAMIC_UPDATE_SLICE"])
"""Operators whose results are elements of real operands, at places that other operands decide."""

_ROUNDS = 16
"""Rounds after which bounds that still grow, as those of a sum that a loop accumulates, count as none."""


def saturation_bounds(
    model: Model, webs: Webs, forms: Mapping[OperatorKey, Form], ranges: Mapping[TensorKey, Range]
) -> dict[TensorKey, Range]:
    """Bounds of webs, by their root, beyond which values have the effect of those at the bound.

    forms   of the operators in integers
    ranges  of the webs' values
    """
    readers = _Readers(model, webs, forms, ranges)
    for graph in model.subgraphs:
        for op in graph.operators:
            readers.add(graph, op)
        for place, tensor in enumerate(graph.outputs):
            readers.pass_on(
                (graph.index, tensor), result_key(graph.index, place) if graph.index in webs.called else None
            )
    return {root: bounds for root, bounds in _least_bounds(readers.readers).items() if math.isfinite(sum(bounds))}


def needed_range(
    roots: Sequence[TensorKey], bounds: Mapping[TensorKey, Range], ranges: Mapping[TensorKey, Range]
) -> Range:
    """Range of webs with one scale within `bounds`, of `saturation_bounds`; infinite at ends that these do not move."""
    own = [(ranges[root], bounds.get(root, EVERYTHING)) for root in roots if root in ranges]
    low, high = hull(*(clipped(*pair) for pair in own))
    least, greatest = hull(*(whole for whole, _ in own))
    return -math.inf if low == least else low, math.inf if high == greatest else high


def decisive_webs(
    roots: Sequence[TensorKey], bounds: Mapping[TensorKey, Range], ranges: Mapping[TensorKey, Range]
) -> Sequence[TensorKey]:
    """Webs, among some with one scale, whose values decide on their range.

    Webs of which bounds leave out a part do not where the others cover the rest: what is left out would count as error.
    """
    needed = {root: clipped(ranges[root], bounds.get(root, EVERYTHING)) for root in roots if root in ranges}
    whole = [root for root in needed if needed[root] == ranges[root]]
    return whole if whole and hull(*(ranges[root] for root in whole)) == hull(*needed.values()) else roots


@dataclass(frozen=True, slots=True)
class _Reader:
    """Bounds that a web has for one reader: its own, or those of the web of its result, moved by this much.

    limits  of the result, within which the bounds lie
    """

    own: Range = NOTHING
    result: TensorKey | None = None
    moved: Range = (0.0, 0.0)
    limits: Range = EVERYTHING

    def bounds(self, of_results: Mapping[TensorKey, Range]) -> Range:
        if self.result is None:
            return self.own
        low, high = of_results.get(self.result, EVERYTHING)
        return max(low, self.limits[0]) + self.moved[0], min(high, self.limits[1]) + self.moved[1]


def _least_bounds(readers: Mapping[TensorKey, list[_Reader]]) -> dict[TensorKey, Range]:
    """The union of the readers' bounds of each web: the least solution, by iteration."""
    bounds = dict.fromkeys(readers, NOTHING)
    changed, rounds = True, 0
    while changed:
        changed, rounds = False, rounds + 1
        for root, own in readers.items():
            parts = [reader.bounds(bounds) for reader in own]
            union = hull(*parts)
            if union != bounds[root]:
                bounds[root], changed = (union if rounds <= _ROUNDS else EVERYTHING), True
    return bounds


@dataclass(slots=True)
class _Readers:
    """Readers of each web, with the part of its range that each needs."""

    model: Model
    webs: Webs
    forms: Mapping[OperatorKey, Form]
    ranges: Mapping[TensorKey, Range]
    readers: dict[TensorKey, list[_Reader]] = field(default_factory=dict)

    def add(self, graph: SubGraph, op: FileOperator) -> None:
        for binding in bindings(op):
            for formal, operand in zip(self.model.subgraphs[binding.subgraph].inputs, binding.operands, strict=False):
                self.pass_on((graph.index, operand), (binding.subgraph, formal))
        if op.name == "ASSIGN_VARIABLE":
            variable = self.webs.variables.get(self.webs.root((graph.index, op.inputs[0])))
            self.pass_on((graph.index, op.inputs[1]), variable)
        elif not bindings(op) and op.name != "READ_VARIABLE":
            for place in real_operands(op, graph):
                self._note((graph.index, op.inputs[place]), self._readers(graph, op, place))

    def pass_on(self, tensor: TensorKey, target: TensorKey | None) -> None:
        """A value gets another name: that of its web, or of a converted copy, about whose readers nothing is known."""
        if tensor[1] >= 0 and (target is None or self.webs.root(tensor) != self.webs.root(target)):
            self._note(tensor, [_Reader(EVERYTHING)])

    def _note(self, tensor: TensorKey, readers: list[_Reader]) -> None:
        self.readers.setdefault(self.webs.root(tensor), []).extend(readers)

    def _readers(self, graph: SubGraph, op: FileOperator, place: int) -> list[_Reader]:
        """Readers that an operator is to one of its operands: one for each result, or one for all."""
        form = self.forms.get((graph.index, op.index))
        results = [self.webs.root((graph.index, op.outputs[p])) for p in real_results(op, graph)]
        if form is None or form.dtype is not DType.INT8:
            return [_Reader(EVERYTHING)]
        if form.shares and _moves(op):
            return [_Reader(result=result) for result in results]
        if form.shares and takes_extremes(op):
            return [_Reader(result=result, limits=self.ranges.get(result, EVERYTHING)) for result in results]
        sign = traits_of(op.name).adds
        if sign and float_instance(op, graph).attributes.activation is Activation.NONE:
            low, high = self._range(graph, op.inputs[1 - place])
            if math.isfinite(high - low) and (sign > 0 or place == 0):
                return [_Reader(result=results[0], moved=(-high, -low) if sign > 0 else (low, high))]
        return [_Reader(_ENDS.get(op.name, EVERYTHING))]

    def _range(self, graph: SubGraph, tensor: int) -> Range:
        """Range of an operand."""
        if graph.tensors[tensor].data is not None:
            return finite_range(constant_values(graph.tensors[tensor])) or (0.0, 0.0)
        return self.ranges.get(self.webs.root((graph.index, tensor)), EVERYTHING)


def takes_extremes(op: FileOperator) -> bool:
    """Whether the results are greatest or least elements: the same from operands that end where the results do."""
    return op.name in _EXTREMES


def _moves(op: FileOperator) -> bool:
    """Whether the results of an operator consist of elements of its operands, and zeros."""
    traits = traits_of(op.name)
    return traits.view or traits.moves or traits.cuts or traits.pads or traits.selects or op.name in _PICK
