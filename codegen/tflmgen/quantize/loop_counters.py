"""What is known of the integers that loops count: a counter begins at a constant, and each iteration adds one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tflmgen.frontend import Model, Operator, SubGraph, Tensor, bindings, constant_values, fused_activation, is_loop
from tflmgen.ir import DType
from tflmgen.kernels import Comparison, traits_of

Bounds = tuple[float, float]
"""Least and greatest value."""

UNKNOWN: Bounds = (-math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class Loop:
    """A WHILE of `graph`, with the subgraphs that it runs."""

    graph: SubGraph
    op: Operator
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


def single_integer(tensor: Tensor) -> int | None:
    """The value of a constant with one integer; None for any other tensor."""
    if tensor.data is None or tensor.dtype not in (DType.INT32, DType.INT64) or math.prod(tensor.shape) != 1:
        return None
    return int(constant_values(tensor).reshape(-1)[0])


def counter_bounds(model: Model) -> Mapping[int, Mapping[int, Bounds]]:
    """By body, the bounds that the loop variables which count have while it runs, by tensor.

    Of bodies that one loop runs, and nothing else.
    """
    sites = [(graph, op) for graph in model.subgraphs for op in graph.operators if bindings(op)]
    uses = Counter(binding.subgraph for _, op in sites for binding in bindings(op))
    known = {}
    for graph, op in sites:
        condition, body = (binding.subgraph for binding in bindings(op)) if is_loop(op) else (0, 0)
        if is_loop(op) and uses[body] == 1:
            known[body] = dict(_counters(Loop(graph, op, model.subgraphs[condition], model.subgraphs[body])))
    return known


def _counters(loop: Loop) -> Iterator[tuple[int, Bounds]]:
    producers = {tensor: op for op in loop.body.operators for tensor in op.outputs}
    for place, (variable, after) in enumerate(zip(loop.body.inputs, loop.body.outputs, strict=True)):
        first = single_integer(loop.graph.tensors[loop.op.inputs[place]])
        step = _step(loop.body, producers.get(after), variable)
        if first is None or not step:
            continue
        low, high = _compared(loop, loop.condition.outputs[0], loop.condition.inputs[place])
        yield variable, (first, high) if step > 0 else (low, first)


def _step(body: SubGraph, op: Operator | None, variable: int) -> int:
    """What an operator adds to the loop variable; 0 where that is not known."""
    if op is None or op.name not in ("ADD", "SUB") or fused_activation(op) or variable not in op.inputs:
        return 0
    others = [tensor for tensor in op.inputs if tensor != variable]
    step = single_integer(body.tensors[others[0]]) if len(others) == 1 else None
    if step is None or (op.name == "SUB" and op.inputs[0] != variable):
        return 0
    return -step if op.name == "SUB" else step


def _compared(loop: Loop, tensor: int, variable: int) -> Bounds:
    """Bounds of a variable for which a tensor of the condition is true."""
    op = next((op for op in loop.condition.operators if tensor in op.outputs), None)
    if op is None:
        return UNKNOWN
    if op.name == "LOGICAL_AND":
        lows, highs = zip(*(_compared(loop, operand, variable) for operand in op.inputs), strict=True)
        return max(lows), min(highs)
    compares = traits_of(op.name).compares
    if compares is None or variable not in op.inputs:
        return UNKNOWN
    is_first = op.inputs[0] == variable
    limit = loop.fixed_value(op.inputs[1 if is_first else 0])
    if limit is None:
        return UNKNOWN
    match compares if is_first else compares.mirrored:
        case Comparison.LESS:
            return -math.inf, limit - 1
        case Comparison.LESS_EQUAL:
            return -math.inf, limit
        case Comparison.GREATER:
            return limit + 1, math.inf
        case Comparison.GREATER_EQUAL:
            return limit, math.inf
    return UNKNOWN


def index_bounds(graph: SubGraph, counters: Mapping[int, Bounds], tensor: int) -> Bounds:
    """Bounds of a single integer that a body computes from its counters by sums, differences and products."""
    if tensor in counters:
        return counters[tensor]
    value = single_integer(graph.tensors[tensor])
    if value is not None:
        return value, value
    op = next((op for op in graph.operators if tensor in op.outputs), None)
    if op is None:
        return UNKNOWN
    if traits_of(op.name).view:
        return index_bounds(graph, counters, op.inputs[0])
    combine = _CORNERS.get(op.name)
    if combine is None or fused_activation(op):
        return UNKNOWN
    (a, b), (c, d) = (index_bounds(graph, counters, operand) for operand in op.inputs)
    if not all(map(math.isfinite, (a, b, c, d))):
        return UNKNOWN
    corners = [combine(x, y) for x in (a, b) for y in (c, d)]
    return min(corners), max(corners)


_CORNERS: Mapping[str, Callable[[float, float], float]] = {
    "ADD": lambda x, y: x + y,
    "SUB": lambda x, y: x - y,
    "MUL": lambda x, y: x * y,
    "MINIMUM": min,
    "MAXIMUM": max,
}
