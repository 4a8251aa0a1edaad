"""Gradients of operators that are linear along each axis, and of those that lay rows along a diagonal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.tflite import ModelBuilder
from tflmgen.gradients.rule import GradientRule, Gradients, RuleContext, check_matrix
from tflmgen.ir import DType
from tflmgen.reference import Interpreter

Array = NDArray[Any]

IMAGE_AXES = (1, 2)
"""Height and width."""


def _of_unit_vectors(context: RuleContext, units: Array, operand: Array, shape: Sequence[int]) -> Array:
    """Result of the operator by its reference, on an input and another second operand."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = graph.tensor("x", DType.FLOAT32, units.shape), graph.tensor("y", DType.FLOAT32, tuple(shape))
    graph.operator(context.node.name, [x, graph.constant("operand", operand)], [y], context.node.options)
    graph.inputs, graph.outputs = [x], [y]
    return Interpreter(builder.model()).invoke(None, [units])[0]


def _along_axis(context: RuleContext, gradient: int, axis: int, matrix: Array) -> int:
    """The gradient times a matrix [output, input] along an axis."""
    a = context.arithmetic
    before, after = a.shape(gradient)[:axis], a.shape(gradient)[axis + 1 :]
    outputs, inputs = matrix.shape
    if outputs == inputs and np.array_equal(matrix, np.eye(inputs)):
        return gradient
    blocks = a.reshape(gradient, (math.prod(before), outputs, math.prod(after)))
    product = a.product(a.graph.constant(matrix.T[None]), blocks)
    return a.reshape(product, (*before, inputs, *after))


def _resize(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """Along the height, then along the width."""
    gradient = gradients[0]
    assert gradient is not None
    for axis in IMAGE_AXES:
        inputs, outputs = context.shape(0)[axis], context.output_shape()[axis]
        check_matrix(max(inputs, outputs), inputs)
        units, sizes = [1, 1, 1, inputs], [1, 1]
        units[axis], sizes[axis - 1] = inputs, outputs
        shape = [1, *sizes, inputs]
        image = np.eye(inputs, dtype=np.float32).reshape(units)
        matrix = _of_unit_vectors(context, image, np.array(sizes, np.int32), shape).reshape(outputs, inputs)
        gradient = _along_axis(context, gradient, axis, matrix)
    return [gradient]


def _mirror_pad(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    gradient = gradients[0]
    assert gradient is not None
    around = np.reshape(context.constants(1, "padding"), (-1, 2))
    for axis, size in enumerate(context.shape(0)):
        check_matrix(context.output_shape()[axis], size)
        units, padding = np.eye(size, dtype=np.float32), np.array([around[axis], (0, 0)], np.int32)
        matrix = _of_unit_vectors(context, units, padding, (context.output_shape()[axis], size))
        gradient = _along_axis(context, gradient, axis, matrix)
    return [gradient]


def _diagonal(context: RuleContext, gradient: int) -> int:
    """The elements on the diagonals of a gradient's matrices."""
    a = context.arithmetic
    *outer, rows, columns = a.shape(gradient)
    check_matrix(rows, columns)
    on_diagonal = a.multiply(gradient, a.graph.constant(np.eye(rows, columns, dtype=np.float32)))
    row = a.sum(on_diagonal, [-1])
    return a.slice(row, [0] * len(a.shape(row)), (*outer, min(rows, columns)))


def _matrix_diag(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    assert gradients[0] is not None
    return [_diagonal(context, gradients[0])]


def _matrix_set_diag(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    a, gradient = context.arithmetic, gradients[0]
    assert gradient is not None
    *_, rows, columns = a.shape(gradient)
    check_matrix(rows, columns)
    elsewhere = a.graph.constant(1 - np.eye(rows, columns, dtype=np.float32))
    by_matrix = a.multiply(gradient, elsewhere) if context.needs(0) else None
    return [by_matrix, _diagonal(context, gradient) if context.needs(1) else None]


RULES: Mapping[str, GradientRule] = {
    "MATRIX_DIAG": _matrix_diag,
    "MATRIX_SET_DIAG": _matrix_set_diag,
    "MIRROR_PAD": _mirror_pad,
    "RESIZE_BILINEAR": _resize,
    "RESIZE_NEAREST_NEIGHBOR": _resize,
}
