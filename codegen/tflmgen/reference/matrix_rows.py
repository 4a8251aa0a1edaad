"""BATCH_MATMUL in floats, integers and hybrid (TFLite's batch_matmul.h, TFLite Micro's batch_matmul.cc)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tflmgen.ir import DType
from tflmgen.reference.fixed_point_numbers import quantized_multipliers, scaled, scaled_wide, wrapped
from tflmgen.reference.operation import Array, Evaluation, Operation
from tflmgen.reference.weighted_sums import filter_scales, matrix_product, operand, quantized_rows


def _oriented(op: Operation, values: Array, axes: str, adjoint: str) -> Array:
    if order := op.options.get(axes):
        values = values.transpose(order)
    return values.swapaxes(-1, -2) if op.options.get(adjoint) else values


def _as_output(op: Operation, product: Array) -> Array:
    order = op.options.get("output_axes")
    return product.transpose(order) if order else product


def _batch_matmul(op: Operation) -> Sequence[Array]:
    if op.gives_floats and not op.dtype(1).is_float:
        return [_as_output(op, _hybrid(op))]
    left = _oriented(op, operand(op, 0), "left_axes", "adj_x")
    right = _oriented(op, operand(op, 1), "right_axes", "adj_y")
    product = matrix_product(left, right)
    if op.gives_floats:
        return [_as_output(op, op.rounded(product))]
    scales = np.float32(op.scale(0)) * filter_scales(op).astype(np.float32)
    multipliers = quantized_multipliers(scales.astype(np.float64) / op.output_scale)
    is_wide = op.output.dtype is DType.INT16
    result = scaled_wide(product, *multipliers) if is_wide else scaled(wrapped(product), *multipliers)
    return [_as_output(op, op.saturated(result + op.output_zero_point))]


def _hybrid(op: Operation) -> Array:
    """Rows of the left operand quantised on their own, the right one int8."""
    left = _oriented(op, op.real(0), "left_axes", "adj_x")
    right = _oriented(op, op.integers(1), "right_axes", "adj_y")
    asymmetric = bool(op.options.get("asymmetric_quantize_inputs", False))
    values, scales, points = quantized_rows(left.reshape(-1, left.shape[-1]), asymmetric)
    centred = (values - points[:, None]).reshape(left.shape)
    by_row = scales.astype(np.float64).reshape(*left.shape[:-1], 1)
    return op.rounded(matrix_product(centred, right) * by_row * filter_scales(op))


EVALUATIONS: Mapping[str, Evaluation] = {"BATCH_MATMUL": _batch_matmul}
