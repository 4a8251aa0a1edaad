"""Tensors that depend on weights that train: those of floats, along operators that pass a gradient on."""

from __future__ import annotations

from collections.abc import Sequence

from tflmgen.gradients.flow_graph import FlowGraph, FlowNode
from tflmgen.gradients.gradient_rules import ZERO


def active_tensors(graph: FlowGraph, inputs: Sequence[bool]) -> frozenset[int]:
    """Tensors of a graph that depend on the inputs for which `inputs` is true."""
    active = {tensor for tensor, is_active in zip(graph.inputs, inputs, strict=True) if is_active}
    for node in graph.nodes:
        active.update(t for t, is_active in zip(node.outputs, _results(node, active), strict=False) if is_active)
    return frozenset(tensor for tensor in active if graph.is_float(tensor))


def _results(node: FlowNode, active: set[int]) -> list[bool]:
    """By result, whether it depends on active operands."""
    operands = [tensor in active for tensor in node.inputs]
    if not any(operands) or node.name in ZERO:
        return [False] * len(node.outputs)
    if not node.graphs:
        return [True] * len(node.outputs)
    if node.is_loop:
        return loop_activity(node.graphs[1], operands)
    branches = [results_of(graph, operands[len(operands) - len(graph.inputs) :]) for graph in node.graphs]
    return [any(parts) for parts in zip(*branches, strict=True)]


def results_of(graph: FlowGraph, inputs: Sequence[bool]) -> list[bool]:
    """By output of a graph, whether it depends on active inputs."""
    active = active_tensors(graph, inputs)
    return [tensor in active for tensor in graph.outputs]


def loop_activity(body: FlowGraph, initial: Sequence[bool]) -> list[bool]:
    """By variable of a loop, whether it depends on active ones before it after any number of iterations."""
    variables = list(initial)
    while True:
        after = [a or b for a, b in zip(variables, results_of(body, variables), strict=True)]
        if after == variables:
            return variables
        variables = after
