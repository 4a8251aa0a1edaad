"""Contents of tables of functions by the reference's own arithmetic: of elements, of rows, of gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tflmgen.ir import TensorType
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.reference.attribute_options import options_of_attributes
from tflmgen.reference.definitions import elementwise_unary, image_resizing, probability_rows
from tflmgen.reference.definitions.evaluations import EVALUATIONS
from tflmgen.reference.operation import Array, Operation, RunTimeError, UnsupportedError

SIGMOID_TABLE: Array = elementwise_unary.SIGMOID_TABLE
SOFTMAX_TABLES: tuple[Array, Array] = (probability_rows.EXPONENTIAL, probability_rows.RECIPROCAL)
"""Tables of int16 SOFTMAX: the exponential, and 1 / (1 + x)."""
interpolated = elementwise_unary.interpolated


def element_results(operator: str, op: OperatorInstance, values: Array) -> Array | None:
    """The outputs of an operator of one operand for these elements; None where the reference does not evaluate it."""
    evaluation = EVALUATIONS.get(operator)
    source = op.inputs[0]
    if evaluation is None or source is None or any(value is not None for value in op.inputs[1:]):
        return None
    types = _type_of_values(source, values), _type_of_values(op.outputs[0], values)
    operation = Operation(operator, (values,), types[:1], types[1:], options_of_attributes(op.attributes))
    try:
        with np.errstate(all="ignore"):
            (results,) = evaluation(operation)
    except (UnsupportedError, RunTimeError):
        return None
    return np.asarray(results).reshape(-1)


def results_on_constants(operator: str, op: OperatorInstance) -> Sequence[Array] | None:
    """The outputs of an operator whose inputs are all constants; None where the reference does not evaluate it."""
    evaluation = EVALUATIONS.get(operator)
    if evaluation is None or any(t is not None and a is None for t, a in zip(op.inputs, op.constants, strict=True)):
        return None
    inputs = tuple(None if array is None else np.asarray(array) for array in op.constants)
    try:
        return evaluation(Operation(operator, inputs, op.inputs, op.outputs, options_of_attributes(op.attributes)))
    except (UnsupportedError, RunTimeError):
        return None


def _type_of_values(type_: TensorType, values: Array) -> TensorType:
    return replace(type_, shape=values.shape)


def row_exponentials(source: TensorType, beta: float) -> Array:
    """exp of an int8 element that is 0, 1, ... 255 less than the greatest of its row, in Q0.31; 0 beyond the least."""
    rows = np.column_stack([np.full(256, 127), 127 - np.arange(256)])
    operation = Operation(
        "", (rows,), (_type_of_values(source, rows),), (_type_of_values(source, rows),), {"beta": beta}
    )
    return probability_rows.row_exponentials(operation)[:, 1]


def linear_steps(op: OperatorInstance, size: int, wanted: int) -> tuple[Array, Array, Array]:
    """(lower index, upper index, fraction) of each line of an image resized linearly from `size` to `wanted` lines.

    Fractions of integers are in 1024ths.
    """
    operation = Operation("", (), (), op.outputs, options_of_attributes(op.attributes))
    steps = image_resizing.float_steps if operation.gives_floats else image_resizing.integer_steps
    return steps(operation, size, wanted)
