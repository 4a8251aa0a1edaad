"""Matrix products with constants as FULLY_CONNECTED, with TRANSPOSEs before them in the order of the columns."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir.graph import Module, Op, Value
from tflmgen.kernels import traits_of
from tflmgen.kernels.numeric import Activation
from tflmgen.kernels.operators import FullyConnectedAttributes
from tflmgen.passes.operator_rewriter import OperatorRewriter, Replacement
from tflmgen.passes.permutation import Permutation, inverse, transposition, view


def use_fully_connected(module: Module) -> Module:
    """Replaces BATCH_MATMUL by one constant matrix: FULLY_CONNECTED has faster kernels, and a bias for an ADD.

    A matrix that another operator reads in the other orientation stays, since it would be stored twice.
    """
    return _Products(module).rewritten()


class _Products(OperatorRewriter):
    def op(self, op: Op) -> Replacement:
        attributes = op.attributes
        if (
            not traits_of(op.operator).products
            or attributes.adjoint_left
            or attributes.left_axes
            or attributes.output_axes
        ):
            return None
        weights = self._weights(op)
        if weights is None or op.inputs[0] is None or op.inputs[0].type.dtype.is_float != weights.type.dtype.is_float:
            return None
        layer = FullyConnectedAttributes(Activation.NONE, keep_dims=True, asymmetric=False)
        return self.legal(replace(op, operator="FULLY_CONNECTED", inputs=(op.inputs[0], weights), attributes=layer))

    def _weights(self, op: Op) -> Value | None:
        """The matrix as [columns, rows]; None if it is not constant, or would be stored twice."""
        value, array = op.inputs[1], self.flow.array(op.inputs[1])
        if value is None or array is None:
            return None
        if value.type.quantization is not None and value.type.quantization.per_channel:
            return None
        if op.attributes.right_axes:
            array = array.transpose(op.attributes.right_axes)
        if array.ndim < 2 or any(size != 1 for size in array.shape[:-2]):
            return None
        array = array.reshape(array.shape[-2:])
        turned = not op.attributes.adjoint_right or op.attributes.right_axes
        if turned and not all(_is_alike(reader, op) for reader in self.flow.readers(value) or (None,)):
            return None
        array = array if op.attributes.adjoint_right else array.T
        return self.pool.add(np.ascontiguousarray(array), replace(value, type=value.type.with_shape(array.shape)))


def _is_alike(reader: Op | None, op: Op) -> bool:
    """Whether an operator uses the matrix in the same orientation as `op`."""
    if reader is None or reader.operator != op.operator or reader.attributes != op.attributes:
        return False
    return reader.inputs[1] == op.inputs[1] != reader.inputs[0]


def fold_into_weights(module: Module) -> Module:
    """Replaces FULLY_CONNECTED of a flattened TRANSPOSE, as of an image flattened channels first, by one of its source.

    A sum of products is the same in any order of its terms: the weights' columns take the source's order.
    """
    return _Folding(module).rewritten()


class _Folding(OperatorRewriter):
    def op(self, op: Op) -> Replacement:
        if not traits_of(op.operator).is_matrix_layer:
            return None
        operand, weights = op.inputs[0], op.inputs[1]
        if operand is None or weights is None or not operand.type.is_static or weights.type.blocks is not None:
            return None
        array = self.flow.array(weights)
        turned = transposition(self.flow, self.flow.through_views(operand))
        if array is None or turned is None or not self.flow.only_reader(weights) or not self._is_read_once(operand):
            return None
        source, permutation = turned
        columns = _columns(source.type.max_shape, permutation, array.shape[1])
        if columns is None:
            return None
        flat = Value(self.pool.ids.take(), operand.name, operand.type)
        reordered = self.pool.add(np.ascontiguousarray(array[:, columns]), weights)
        layer = replace(op, inputs=(flat, reordered, *op.inputs[2:]))
        return (view(op, self.pool.ids.take(), source, flat), layer) if self.legal(layer) else None

    def _is_read_once(self, value: Value) -> bool:
        """Whether the value and all that it views are read by nothing else, so that the TRANSPOSE goes."""
        while self.flow.only_reader(value) is not None:
            producer = self.flow.view(value)
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
