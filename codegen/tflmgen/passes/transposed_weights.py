"""Folds a TRANSPOSE before FULLY_CONNECTED into the order of the weights' columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import Module, Node, Op, Value, resolve
from tflmgen.passes.def_use import is_legal
from tflmgen.passes.fusion import PatternRewriter
from tflmgen.passes.permutation import Permutation, inverse, transposition, view


def fold_into_weights(module: Module) -> Module:
    """Replaces FULLY_CONNECTED of a flattened TRANSPOSE, as of an image flattened channels first, by one of its source.

    A sum of products is the same in any order of its terms: the weights' columns take the source's order.
    """
    return _Folding(module).rewritten()


class _Folding(PatternRewriter):
    def node(self, node: Node) -> Sequence[Node]:
        if not isinstance(node, Op) or node.operator != "FULLY_CONNECTED":
            return (self.regions(node),)
        return self._folded(node) or (node,)

    def _folded(self, op: Op) -> Sequence[Op]:
        operand, weights = op.inputs[0], op.inputs[1]
        if operand is None or weights is None or not operand.type.is_static or weights.type.blocks is not None:
            return ()
        array = self._flow.array(weights)
        turned = transposition(self._flow, self._flow.through_views(operand))
        if array is None or turned is None or not self._flow.only_reader(weights) or not self._is_read_once(operand):
            return ()
        source, permutation = turned
        columns = _columns(source.type.max_shape, permutation, array.shape[1])
        if columns is None:
            return ()
        source = resolve(source, self.mapping)
        flat = Value(self.pool.ids.take(), operand.name, operand.type)
        reordered = self.pool.add(np.ascontiguousarray(array[:, columns]), weights)
        layer = replace(op, inputs=(flat, reordered, *op.inputs[2:]))
        return (view(op, self.pool.ids.take(), source, flat), layer) if is_legal(layer, self.pool.constants) else ()

    def _is_read_once(self, value: Value) -> bool:
        """Whether the value and all that it views are read by nothing else, so that the TRANSPOSE goes."""
        while self._flow.only_reader(value) is not None:
            producer = self._flow.view(value)
            if producer is None or producer.inputs[0] is None:
                return True
            value = producer.inputs[0]
        return False


def _columns(shape: tuple[int, ...], permutation: Permutation, depth: int) -> NDArray[np.int64] | None:
    """The number in the transposed order of each column in the source's order; None if rows are moved, too."""
    rank = len(shape)
    for first in range(rank, -1, -1):
        if math.prod(shape[first:]) == depth and all(permutation[axis] == axis for axis in range(first)):
            order = [axis - first for axis in permutation[first:]]
            sizes = [shape[axis] for axis in permutation[first:]]
            numbers = np.arange(depth, dtype=np.int64).reshape(sizes)
            return numbers.transpose(inverse(tuple(order))).reshape(-1)
    return None
