"""Bounds of a file's loops: iterations at most, where the condition compares a counter with a constant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tflmgen.frontend import Counter, first_failure
from tflmgen.gradients.flow_graph import FlowGraph, FlowNode
from tflmgen.kernels import Connective, traits_of

Number = Callable[[int], int | None]
"""The element of a tensor that is the same in all iterations; None for others."""


@dataclass(frozen=True, slots=True)
class TripBound:
    """The most iterations of a loop. exact: it always has as many, and at least one."""

    greatest: int
    exact: bool


def trip_bound(graph: FlowGraph, loop: FlowNode) -> TripBound | None:
    """The bound of a loop in a graph; None if nothing bounds its iterations."""
    condition, body = loop.graphs
    invariant = {k for k, (own, after) in enumerate(zip(body.inputs, body.outputs, strict=True)) if own == after}

    def number(inside: FlowGraph) -> Number:
        def element(tensor: int) -> int | None:
            if tensor in inside.inputs:
                place = inside.inputs.index(tensor)
                return _integer(graph, loop.inputs[place]) if place in invariant else None
            return _integer(inside, tensor)

        return element

    counters = {}
    for place, (own, after) in enumerate(zip(body.inputs, body.outputs, strict=True)):
        start, step = _integer(graph, loop.inputs[place]), _step(body, own, after, number(body))
        if start is not None and step:
            counters[condition.inputs[place]] = Counter(start, step, body.dtype(own).bits)
    bound = _bound(condition, condition.outputs[0], counters, number(condition))
    if bound is None and condition.outputs[0] in condition.inputs:
        bound = _carried_bound(graph, loop, condition.inputs.index(condition.outputs[0]), counters, number(body))
    return None if bound is None else TripBound(bound.greatest, bound.exact and bound.greatest > 0)


def _carried_bound(
    graph: FlowGraph, loop: FlowNode, place: int, counters: dict[int, Counter], number: Number
) -> TripBound | None:
    """The bound of a loop that goes on while a variable is true, which its body computes: one iteration, and as many
    as the comparison holds for the counters that the body has, those of before the iteration or of behind it."""
    condition, body = loop.graphs
    seen: dict[int, Counter] = {}
    for own, before, after in zip(condition.inputs, body.inputs, body.outputs, strict=True):
        if own in counters:
            counter = counters[own]
            seen |= {before: counter, after: Counter(counter.after(1), counter.step, counter.bits)}
    bound = _bound(body, body.outputs[place], seen, number)
    first = graph.values(loop.inputs[place])
    if bound is None:
        return None
    return TripBound(1 + bound.greatest, bound.exact and first is not None and bool(first.all()))


def _integer(graph: FlowGraph, tensor: int) -> int | None:
    dtype, values = graph.tensors[tensor].dtype, graph.values(tensor)
    return None if values is None or values.size != 1 or dtype is None or dtype.is_float else int(np.ravel(values)[0])


def _producer(graph: FlowGraph, tensor: int) -> FlowNode | None:
    return next((node for node in graph.nodes if tensor in node.outputs), None)


def _step(body: FlowGraph, own: int, after: int, number: Number) -> int | None:
    """The constant that an iteration adds to a variable."""
    node = _producer(body, after)
    if node is None or node.activation or not traits_of(node.name).adds:
        return None
    sign, (left, right) = traits_of(node.name).adds, node.inputs
    if left == own:
        step = number(right)
        return None if step is None else sign * step
    return number(left) if right == own and sign > 0 else None


def _bound(graph: FlowGraph, test: int, counters: dict[int, Counter], number: Number) -> TripBound | None:
    node = _producer(graph, test)
    if node is None:
        return None
    traits = traits_of(node.name)
    if traits.connective is Connective.AND:
        bounds = [_bound(graph, tensor, counters, number) for tensor in node.inputs]
        greatest = min((bound.greatest for bound in bounds if bound is not None), default=None)
        exact = all(bound is not None and bound.exact for bound in bounds)
        return None if greatest is None else TripBound(greatest, exact)
    if traits.compares is None:
        return None
    (counted, limit), comparison = node.inputs, traits.compares
    if counted not in counters:
        counted, limit, comparison = limit, counted, comparison.mirrored
    end = number(limit)
    if counted not in counters or end is None:
        return None
    trips = first_failure(counters[counted], comparison, end)
    return TripBound(trips, True) if trips is not None and counters[counted].fits(trips) else None
