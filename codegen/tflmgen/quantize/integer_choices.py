"""Choices between integers by sums of products: TFLite Micro has no kernel of SELECT in int32.

    SELECT(c, a, b)  ->  c a + (1 - c) b, where c is 0 or 1

No product or sum exceeds what int32 holds.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tflmgen.frontend import Model, Operator, SubGraph, Tensor, without_unused
from tflmgen.ir import DType
from tflmgen.quantize.graph_writer import GraphWriter

_MAX_RANK = 4
"""Dimensions along which TFLite Micro's kernels of MUL and ADD broadcast."""


def with_integer_choices(model: Model) -> Model:
    """The Model without SELECT and SELECT_V2 in int32 whose shapes are known, and broadcast as those of MUL do."""
    graphs = tuple(_ChoiceWriter(graph).run() for graph in model.subgraphs)
    return model if graphs == model.subgraphs else without_unused(replace(model, subgraphs=graphs))


def _is_choice(op: Operator, graph: SubGraph) -> bool:
    if op.name not in ("SELECT", "SELECT_V2") or graph.tensors[op.outputs[0]].dtype is not DType.INT32:
        return False
    tensors = [graph.tensors[i] for i in (*op.inputs, *op.outputs)]
    if not all(dim > 0 for tensor in tensors for dim in tensor.shape_signature or tensor.shape):
        return False
    # The condition of SELECT may be a vector that chooses among rows.
    is_broadcast = op.name == "SELECT_V2" or tensors[0].shape in ((), tensors[1].shape)
    return is_broadcast and len(tensors[-1].shape) <= _MAX_RANK


class _ChoiceWriter(GraphWriter):
    """A subgraph whose choices between integers are computed."""

    __slots__ = ()

    def run(self) -> SubGraph:
        if not any(_is_choice(op, self.graph) for op in self.graph.operators):
            return self.graph
        for op in self.graph.operators:
            if _is_choice(op, self.graph):
                self._choice(op)
            else:
                self.operators.append(op)
        return self.finished()

    def _choice(self, op: Operator) -> None:
        condition, first, second = op.inputs
        chosen = self.tensors[op.outputs[0]]
        shape = self.tensors[condition].shape
        weight = self.like(chosen, "weight", shape, DType.INT32)
        other = self.like(chosen, "other_weight", shape, DType.INT32)
        self.add("CAST", [condition], weight)
        self.add("SUB", [self.constant("one", 1), weight], other)
        products = [self._product(chosen, first, weight), self._product(chosen, second, other)]
        self.add("ADD", products, chosen.index)

    def _product(self, chosen: Tensor, operand: int, weight: int) -> int:
        shape = np.broadcast_shapes(self.tensors[operand].shape, self.tensors[weight].shape)
        product = self.like(chosen, "part", shape, DType.INT32)
        self.add("MUL", [operand, weight], product)
        return product
