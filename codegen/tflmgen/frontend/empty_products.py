"""FULLY_CONNECTED and BATCH_MATMUL of depth 0: a sum of no products is 0, so that the bias alone is left.

The operands become zeros of depth 1, which no kernel has to be told about. LiteRT agrees for BATCH_MATMUL; it does not
evaluate such a FULLY_CONNECTED at all, and leaves what its memory happens to hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tflmgen.frontend.import_context import Context
from tflmgen.frontend.tflite.model import FileOperator
from tflmgen.ir import TensorType
from tflmgen.ir.graph import Value
from tflmgen.kernels import traits_of

Inputs = tuple[Value | None, ...]


def with_depth(context: Context, op: FileOperator, inputs: Inputs, declared: Sequence[TensorType]) -> Inputs:
    """The operands of a product over nothing with zeros of depth 1 for those without elements; others as they are."""
    traits = traits_of(op.name)
    depths = _of_matrices if traits.products else _of_dense if traits.is_matrix_layer else None
    if depths is None or len(inputs) < 2 or inputs[0] is None or inputs[1] is None or not declared:
        return inputs
    values = inputs[0], inputs[1]
    axes = depths(op, values)
    if axes is None or not declared[0].elements or any(v in context.extents for v in values):
        return inputs
    if any(not v.type.is_static or v.type.max_shape[axis] for v, axis in zip(values, axes, strict=True)):
        return inputs
    return (*(_zeros(context, v, axis) for v, axis in zip(values, axes, strict=True)), *inputs[2:])


def _zeros(context: Context, value: Value, axis: int) -> Value:
    shape = tuple(1 if at == axis else dim for at, dim in enumerate(value.type.max_shape))
    type_ = value.type.with_shape(shape)
    number = type_.quantization.zero_point if type_.quantization and not type_.quantization.per_channel else 0
    return context.folded(value.name, type_, np.full(shape, number, type_.dtype.numpy).tobytes())


def _of_dense(op: FileOperator, values: Sequence[Value]) -> tuple[int, int] | None:
    """The last axes of the input and of the weights, over which a matrix layer sums; None where it is malformed."""
    del op
    ranks = [len(v.type.shape) for v in values]
    return (ranks[0] - 1, 1) if ranks[0] >= 1 and ranks[1] == 2 and not values[1].type.blocks else None


def _of_matrices(op: FileOperator, values: Sequence[Value]) -> tuple[int, int] | None:
    """The axes of two matrices over which their product sums; None where it is malformed."""
    ranks = [len(v.type.shape) for v in values]
    if min(ranks) < 2:
        return None
    options: dict[str, Any] = dict(op.options or {})
    return ranks[0] - (2 if options.get("adj_x") else 1), ranks[1] - (1 if options.get("adj_y") else 2)
