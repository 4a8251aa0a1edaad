"""Bounds of the integers that a loop body computes from the loop's counters: its condition bounds its trips."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import add, mul, sub

from tflmgen.frontend import Counter, first_failure
from tflmgen.frontend.model_graph import TensorUses, bindings, constant_values, fused_activation, is_loop
from tflmgen.frontend.tflite import FileOperator, FileTensor, Model, SubGraph
from tflmgen.ir import DType
from tflmgen.kernels import Comparison, Connective, traits_of

Bounds = tuple[int, int]
"""Least and greatest value."""

_BITS = {DType.INT32: 32, DType.INT64: 64}


@dataclass(frozen=True, slots=True)
class CountedLoop:
    """A WHILE of `graph`, with the subgraphs that it runs."""

    graph: SubGraph
    op: FileOperator
    condition: SubGraph
    body: SubGraph

    def fixed_value(self, tensor: int) -> int | None:
        """The integer that a tensor of the condition has in every iteration, be it a constant from outside of the loop;
        None where that is not known.
        """
        constant = self.condition.tensors[tensor]
        if constant.data is None and tensor in self.condition.inputs:
            place = self.condition.inputs.index(tensor)
            if self.body.outputs[place] == self.body.inputs[place]:
                constant = self.graph.tensors[self.op.inputs[place]]
        return single_integer(constant)


def single_integer(tensor: FileTensor) -> int | None:
    """The value of a constant with one integer; None for any other tensor."""
    if tensor.data is None or tensor.dtype not in _BITS or math.prod(tensor.shape) != 1:
        return None
    return int(constant_values(tensor).reshape(-1)[0])


def counter_bounds(model: Model) -> Mapping[int, Mapping[int, Bounds]]:
    """Bounds of the loop counters among a body's inputs: body subgraph -> tensor -> bounds.

    Bodies that one loop runs and nothing else, whose condition bounds the number of iterations.
    """
    sites = [(graph, op) for graph in model.subgraphs for op in graph.operators if bindings(op)]
    uses = [binding.subgraph for _, op in sites for binding in bindings(op)]
    uses += [0, *(signature.subgraph for signature in model.signatures)]
    known = {}
    for graph, op in sites:
        if is_loop(op) and uses.count(bindings(op)[1].subgraph) == 1:
            condition, body = (model.subgraphs[binding.subgraph] for binding in bindings(op))
            known[body.index] = dict(_bounded(CountedLoop(graph, op, condition, body)))
    return known


def _bounded(loop: CountedLoop) -> Iterator[tuple[int, Bounds]]:
    counters = _counters(loop)
    trips = _max_trips(loop, counters, loop.condition.outputs[0])
    for place, counter in counters.items() if trips else ():
        if trips and counter.fits(trips):
            ends = counter.start, counter.after(trips - 1)
            yield loop.body.inputs[place], (min(ends), max(ends))


def _counters(loop: CountedLoop) -> dict[int, Counter]:
    """The counters of a loop, by their position among its variables: first value, step and bits."""
    producers = TensorUses.of(loop.body).producers
    counters = {}
    for place, (variable, following) in enumerate(zip(loop.body.inputs, loop.body.outputs, strict=True)):
        start = loop.graph.tensors[loop.op.inputs[place]]
        first, step = single_integer(start), integer_step(loop.body, producers.get(following), variable)
        if first is not None and step and start.dtype in _BITS:
            counters[place] = Counter(first, step, _BITS[start.dtype])
    return counters


def integer_step(body: SubGraph, op: FileOperator | None, variable: int) -> int | None:
    """The constant that an operator adds to a variable of a body; None where it is no such sum."""
    sign = 0 if op is None else traits_of(op.name).adds
    if op is None or not sign or fused_activation(op):
        return None
    left, right = op.inputs
    if left == variable:
        step = single_integer(body.tensors[right])
        return None if step is None else sign * step
    return single_integer(body.tensors[left]) if right == variable and sign > 0 else None


def _max_trips(loop: CountedLoop, counters: Mapping[int, Counter], tensor: int) -> int | None:
    """An upper bound of the iterations before a tensor of the condition is false; None if unknown."""
    op = next((op for op in loop.condition.operators if tensor in op.outputs), None)
    if op is None:
        return None
    if traits_of(op.name).connective is Connective.AND:
        bounds = (_max_trips(loop, counters, operand) for operand in op.inputs)
        return min((bound for bound in bounds if bound is not None), default=None)
    comparison = traits_of(op.name).compares
    if comparison is None or comparison is Comparison.EQUAL:
        return None
    places = {tensor: place for place, tensor in enumerate(loop.condition.inputs) if place in counters}
    counted, bound = op.inputs
    if counted not in places:
        counted, bound, comparison = bound, counted, comparison.mirrored
    limit = loop.fixed_value(bound)
    if counted not in places or limit is None:
        return None
    counter = counters[places[counted]]
    trips = first_failure(counter, comparison, limit)
    return trips if trips is not None and counter.fits(trips) else None


def index_bounds(graph: SubGraph, counters: Mapping[int, Bounds], tensor: int) -> Bounds | None:
    """Bounds of a single integer that a body computes from its counters by sums, differences and products."""
    return _index_bounds(graph, TensorUses.of(graph).producers, dict(counters), tensor)


def _index_bounds(
    graph: SubGraph, producers: Mapping[int, FileOperator], known: dict[int, Bounds | None], tensor: int
) -> Bounds | None:
    if tensor not in known:
        known[tensor] = _computed(graph, producers, known, tensor)
    return known[tensor]


def _computed(
    graph: SubGraph, producers: Mapping[int, FileOperator], known: dict[int, Bounds | None], tensor: int
) -> Bounds | None:
    value, op = single_integer(graph.tensors[tensor]), producers.get(tensor)
    if value is not None or op is None:
        return None if value is None else (value, value)
    if traits_of(op.name).view:
        return _index_bounds(graph, producers, known, op.inputs[0])
    combine, bits = _combination(op.name), _BITS.get(graph.tensors[tensor].dtype or DType.BOOL)
    if combine is None or bits is None or fused_activation(op):
        return None
    first, second = (_index_bounds(graph, producers, known, operand) for operand in op.inputs)
    if first is None or second is None:
        return None
    corners = [combine(x, y) for x in first for y in second]
    fits = all(-(1 << bits - 1) <= corner < 1 << bits - 1 for corner in corners)
    return (min(corners), max(corners)) if fits else None


def _combination(name: str) -> Callable[[int, int], int] | None:
    """A function whose least and greatest result are those of its operands' least and greatest values."""
    traits = traits_of(name)
    if traits.adds:
        return add if traits.adds > 0 else sub
    if traits.extreme:
        return max if traits.extreme > 0 else min
    return mul if traits.multiplies == 1 else None
