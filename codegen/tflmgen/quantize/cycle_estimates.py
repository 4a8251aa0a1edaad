"""Estimated cycles of a Model's operators on a Cortex-M4, by the kernels that the compiler would choose.

Copies between the places of values are not counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tflmgen.frontend import Shape, TensorKey, find_bounds, import_model
from tflmgen.frontend.model_graph import OperatorKey
from tflmgen.frontend.tflite import FileOperator, Model, SubGraph, write_model
from tflmgen.ir.graph import Op, walk
from tflmgen.ir.kernel import Pieces, Target, View
from tflmgen.kernels import OPERATORS, Selector, traits_of
from tflmgen.kernels.costs import cycles_of
from tflmgen.passes import run_passes

CORE = "Cortex-M4"
_TARGET = Target("cortex-m4", frozenset({"dsp", "fpu"}))

Shapes = Mapping[TensorKey, Shape]


@dataclass(frozen=True, slots=True)
class TypeCost:
    """Cost of a model with certain types: bytes of the file, and estimated cycles of a typical invoke.

    not_counted  operators whose kernels have no cost model: their cycles are not among these
    """

    types: str
    cycles: int
    not_counted: int
    bytes: int


_PER_ELEMENT, _PER_FUNCTION = 12, 120
"""Cycles of an element where a kernel has no cost model: of ADD or a conversion, and of EXP and its like in float32."""


def rough_cycles(model: Model, shapes: Shapes, runs: Mapping[int, int]) -> int:
    """Cycles of all runs, for comparisons of types: where a kernel has no cost model, what its elements take."""
    module = run_passes(import_model(model, find_bounds(model, (), None, shapes), OPERATORS))
    selection = Selector(_TARGET).select(module)
    total = 0
    for node in (n for function in module.functions for n in walk(function.body) if isinstance(n, Op)):
        selected = selection.selected(node)
        if not isinstance(selected, (View, Pieces)):
            cycles = cycles_of(selected) or _cycles_by_elements(node)
            total += cycles * runs.get(node.origin.subgraph, 0)
    return total


def _cycles_by_elements(node: Op) -> int:
    traits, values = traits_of(node.operator), [*node.inputs, *node.outputs]
    elements = max((math.prod(value.type.max_shape) for value in values if value is not None), default=0)
    is_function = traits.tabled and traits.clamp is None and node.outputs[0].type.dtype.is_float
    return elements * (_PER_FUNCTION if is_function else _PER_ELEMENT)


def operator_cycles(model: Model, shapes: Shapes, rewrites: bool = False) -> dict[OperatorKey, int]:
    """Cycles of one run of each operator that calls a kernel, or after the passes (`rewrites`) of what it has become; 0
    where the kernel has no cost model.
    """
    module = import_model(model, find_bounds(model, (), None, shapes), OPERATORS)
    module = run_passes(module) if rewrites else module
    selection = Selector(_TARGET).select(module)
    cycles: dict[OperatorKey, int] = {}
    for node in (n for function in module.functions for n in walk(function.body)):
        if isinstance(node, Op):
            selected = selection.selected(node)
            if not isinstance(selected, (View, Pieces)):
                key = node.origin.subgraph, node.origin.operator
                cycles[key] = cycles.get(key, 0) + cycles_of(selected)
    return cycles


def cost_of_invoke(types: str, model: Model, shapes: Shapes, runs: Mapping[int, int], samples: int) -> TypeCost:
    """Bytes and cycles of a model. runs: how often each subgraph ran in all samples together."""
    cycles = operator_cycles(model, shapes, rewrites=True)
    mean = round(sum(count * runs.get(graph, 0) for (graph, _), count in cycles.items()) / max(samples, 1))
    return TypeCost(types, mean, sum(count == 0 for count in cycles.values()), len(write_model(model)))


def by_source(source: Model, rewritten: Model, cycles: Mapping[OperatorKey, int]) -> dict[OperatorKey, int]:
    """Cycles of a rewritten Model's operators by those of its source; without graphs whose operators became others."""
    known: dict[OperatorKey, int] = {}
    for graph, other in zip(source.subgraphs, rewritten.subgraphs, strict=False):
        pairs = list(zip(_computing(graph), _computing(other), strict=False))
        if len(_computing(graph)) == len(_computing(other)) and all(a.name == b.name for a, b in pairs):
            known |= {(graph.index, a.index): cycles.get((graph.index, b.index), 0) for a, b in pairs}
    return known


def _computing(graph: SubGraph) -> list[FileOperator]:
    return [op for op in graph.operators if not traits_of(op.name).converts]
