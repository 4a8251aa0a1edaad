"""Ranges beyond which values make no difference, because they end in LOGISTIC or TANH in int8.

Beyond a few units these have one result: the least or the greatest integer. Steps that a range spends there, as for the
gates of a recurrent cell whose inputs are large, are lost to the values that count. The same holds for the operands of
a sum that is read by them alone: what exceeds the bound by more than the other operand can make up for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from tflmgen.frontend import Model, Operator, OperatorKey, SubGraph, TensorKey, bindings, constant_values
from tflmgen.ir import DType
from tflmgen.kernels import Activation, traits_of
from tflmgen.quantize.integer_forms import Form, finite_range, float_instance, real_operands, real_results
from tflmgen.quantize.web_constraints import Webs, result_key

Range = tuple[float, float]

_ENDS: Mapping[str, Range] = {
    "LOGISTIC": (-math.log(2 * 256 - 1), math.log(254.5 / 1.5)),
    "TANH": (-math.atanh(127.5 / 128), math.atanh(126.5 / 128)),
}
"""Where the results round to the ends of int8: with a scale of 1/256 from 0, with one of 1/128 from -1."""

_NOTHING, _EVERYTHING = (math.inf, -math.inf), (-math.inf, math.inf)

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


@dataclass(frozen=True, slots=True)
class _Reader:
    """Bounds that a web has for one reader: its own, or those of the web of its result, moved by this much."""

    own: Range = _NOTHING
    result: TensorKey | None = None
    moved: Range = (0.0, 0.0)

    def bounds(self, of_results: Mapping[TensorKey, Range]) -> Range:
        if self.result is None:
            return self.own
        low, high = of_results.get(self.result, _EVERYTHING)
        return low + self.moved[0], high + self.moved[1]


def _least_bounds(readers: Mapping[TensorKey, list[_Reader]]) -> dict[TensorKey, Range]:
    """The union of the readers' bounds of each web: the least solution, by iteration."""
    bounds = dict.fromkeys(readers, _NOTHING)
    changed, rounds = True, 0
    while changed:
        changed, rounds = False, rounds + 1
        for root, own in readers.items():
            parts = [reader.bounds(bounds) for reader in own]
            union = min(part[0] for part in parts), max(part[1] for part in parts)
            if union != bounds[root]:
                bounds[root], changed = (union if rounds <= _ROUNDS else _EVERYTHING), True
    return bounds


@dataclass(slots=True)
class _Readers:
    """Readers of each web, with the part of its range that each needs."""

    model: Model
    webs: Webs
    forms: Mapping[OperatorKey, Form]
    ranges: Mapping[TensorKey, Range]
    readers: dict[TensorKey, list[_Reader]] = field(default_factory=dict)

    def add(self, graph: SubGraph, op: Operator) -> None:
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
            self._note(tensor, [_Reader(_EVERYTHING)])

    def _note(self, tensor: TensorKey, readers: list[_Reader]) -> None:
        self.readers.setdefault(self.webs.root(tensor), []).extend(readers)

    def _readers(self, graph: SubGraph, op: Operator, place: int) -> list[_Reader]:
        """Readers that an operator is to one of its operands: one for each result, or one for all."""
        form = self.forms.get((graph.index, op.index))
        results = [self.webs.root((graph.index, op.outputs[p])) for p in real_results(op, graph)]
        if form is None or form.dtype is not DType.INT8:
            return [_Reader(_EVERYTHING)]
        if form.shares and _moves(op):
            return [_Reader(result=result) for result in results]
        sign = traits_of(op.name).adds
        if sign and float_instance(op, graph).attributes.activation is Activation.NONE:
            low, high = self._range(graph, op.inputs[1 - place])
            if math.isfinite(high - low) and (sign > 0 or place == 0):
                return [_Reader(result=results[0], moved=(-high, -low) if sign > 0 else (low, high))]
        return [_Reader(_ENDS.get(op.name, _EVERYTHING))]

    def _range(self, graph: SubGraph, tensor: int) -> Range:
        """Range of an operand."""
        if graph.tensors[tensor].data is not None:
            return finite_range(constant_values(graph.tensors[tensor])) or (0.0, 0.0)
        return self.ranges.get(self.webs.root((graph.index, tensor)), _EVERYTHING)


def _moves(op: Operator) -> bool:
    """Whether the results of an operator consist of elements of its operands, and zeros."""
    traits = traits_of(op.name)
    return traits.view or traits.moves or traits.cuts or traits.pads or traits.selects or op.name in _PICK
