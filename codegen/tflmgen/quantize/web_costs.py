"""Costs of widening a web: estimated cycles of the operators that then compute in the wider type.

An operator takes the widest type of its operands and results. Widening one value may therefore widen a whole matrix
product, which costs more than the value's own bytes tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from tflmgen.frontend import TensorKey
from tflmgen.frontend.model_graph import OperatorKey
from tflmgen.frontend.tflite import FileOperator, Model, SubGraph
from tflmgen.quantize.integer_forms import real_operands, real_results, weight_operands
from tflmgen.quantize.statistics import Calibration
from tflmgen.quantize.web_constraints import Webs

_PRODUCTS_PER_ELEMENT = 8
"""Products that take as long as an element of another operator, such as ADD, on Cortex-M4: 12 instructions to 1.5."""


def widening_costs(
    model: Model, calibration: Calibration, webs: Webs, slower: Mapping[OperatorKey, int] | None = None
) -> dict[TensorKey, int]:
    """Cost of the operators on each web, by its root, in all runs of the calibration.

    slower  cycles that an operator takes longer in one run if it is wide; of others the work counts
    """
    costs: dict[TensorKey, int] = {}
    for graph in model.subgraphs:
        for op in graph.operators:
            more = (slower or {}).get((graph.index, op.index), 0)
            cost = more * calibration.runs.get(graph.index, 0) if more > 0 else _work(graph, op, calibration)
            for root in {webs.root((graph.index, tensor)) for tensor in _activations(graph, op)}:
                costs[root] = costs.get(root, 0) + cost
    return costs


def operator_work(model: Model, calibration: Calibration) -> dict[OperatorKey, int]:
    """Products of each operator on real numbers in all runs of the calibration; see `_work`."""
    return {
        (graph.index, op.index): _work(graph, op, calibration)
        for graph in model.subgraphs
        for op in graph.operators
        if any(True for _ in _activations(graph, op))
    }


def _activations(graph: SubGraph, op: FileOperator) -> Iterator[int]:
    tensors = [*(op.inputs[p] for p in real_operands(op, graph)), *(op.outputs[p] for p in real_results(op, graph))]
    return (tensor for tensor in tensors if graph.tensors[tensor].data is None)


def _work(graph: SubGraph, op: FileOperator, calibration: Calibration) -> int:
    """Products of all runs; of operators without weights, elements of the largest activation as so many products."""
    places = weight_operands(op, graph)
    if places is not None:
        shape = graph.tensors[op.inputs[places.weights]].shape
        results = calibration.tensors.get((graph.index, op.outputs[0]))
        return results.elements * (math.prod(shape) // max(shape[places.axis], 1)) if results is not None else 0
    reached = [calibration.tensors.get((graph.index, tensor)) for tensor in _activations(graph, op)]
    return _PRODUCTS_PER_ELEMENT * max((values.elements for values in reached if values is not None), default=0)
