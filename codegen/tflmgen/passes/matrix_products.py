"""Replaces matrix products with a constant by FULLY_CONNECTED."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tflmgen.ir import Module, Node, Op, Value
from tflmgen.kernels import Activation, FullyConnectedAttributes
from tflmgen.passes.def_use import is_legal
from tflmgen.passes.fusion import PatternRewriter


def use_fully_connected(module: Module) -> Module:
    """Replaces BATCH_MATMUL by one constant matrix: FULLY_CONNECTED has faster kernels, and a bias for an ADD.

    A matrix that another operator reads in the other orientation stays, since it would be stored twice.
    """
    return _Products(module).rewritten()


class _Products(PatternRewriter):
    def node(self, node: Node) -> Sequence[Node]:
        if not isinstance(node, Op) or node.operator != "BATCH_MATMUL":
            return (self.regions(node),)
        return (self._layer(node) or node,)

    def _layer(self, op: Op) -> Op | None:
        attributes = op.attributes
        if attributes.adjoint_left or attributes.left_axes or attributes.output_axes:
            return None
        weights = self._weights(op)
        if weights is None or op.inputs[0] is None or op.inputs[0].type.dtype.is_float != weights.type.dtype.is_float:
            return None
        layer = FullyConnectedAttributes(Activation.NONE, keep_dims=True, asymmetric=False)
        fused = replace(op, operator="FULLY_CONNECTED", inputs=(op.inputs[0], weights), attributes=layer)
        return fused if is_legal(fused, self.pool.constants) else None

    def _weights(self, op: Op) -> Value | None:
        """The matrix as [columns, rows]; None if it is not constant, or would be stored twice."""
        value, array = op.inputs[1], self._flow.array(op.inputs[1])
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
        if turned and not all(_is_alike(reader, op) for reader in self._flow.readers(value) or (None,)):
            return None
        array = array if op.attributes.adjoint_right else array.T
        return self.pool.add(np.ascontiguousarray(array), replace(value, type=value.type.with_shape(array.shape)))


def _is_alike(reader: Op | None, op: Op) -> bool:
    """Whether an operator uses the matrix in the same orientation as `op`."""
    if reader is None or reader.operator != op.operator or reader.attributes != op.attributes:
        return False
    return reader.inputs[1] == op.inputs[1] != reader.inputs[0]
