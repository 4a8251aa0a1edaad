"""What the fast int8 kernels of SVDF have in common: sizes, and the numbers into which zero points are folded."""

from __future__ import annotations

import numpy as np

from tflmgen.kernel import OperatorInstance
from tflmgen.ops.dsp_channels import Integers
from tflmgen.ops.fixed_point import wrap
from tflmgen.ops.rules import input_type, static_shape, zero_point
from tflmgen.ops.window import Fields

BIAS = 3
STATE = 4

Factor = tuple[int, int]
"""(multiplier, shift) of tflmgen_requantize."""


def size_fields(op: OperatorInstance) -> Fields:
    """The first five of the kernels' structs."""
    batches, inputs = static_shape(input_type(op, 0))
    filters, memory = static_shape(input_type(op, 2))
    rank = op.attributes.rank
    units = filters // rank
    return ("batches", batches), ("inputs", inputs), ("units", units), ("rank", rank), ("memory", memory)


def scale_fields(op: OperatorInstance, to_state: Factor, to_output: Factor) -> Fields:
    """The next six of those that requantise by multiplier and shift."""
    return (
        ("multiplier", to_state[0]),
        ("shift", to_state[1]),
        ("state_zero_point", zero_point(input_type(op, STATE))),
        ("output_multiplier", to_output[0]),
        ("output_shift", to_output[1]),
        ("output_zero_point", zero_point(op.outputs[0])),
    )


def products(op: OperatorInstance) -> int:
    batches, inputs = static_shape(input_type(op, 0))
    filters, memory = static_shape(input_type(op, 2))
    return batches * filters * (inputs + memory)


def offsets(op: OperatorInstance) -> Integers:
    """What the input's zero point adds to the sum of each filter."""
    sums: Integers = np.asarray(op.constants[1], dtype=np.int64).sum(axis=1)
    return -zero_point(input_type(op, 0)) * sums


def biases_are_known(op: OperatorInstance) -> bool:
    return op.inputs[BIAS] is None or op.constants[BIAS] is not None


def biases(op: OperatorInstance) -> Integers:
    """Of the units, with the state's zero point folded in, wrapped."""
    time_weights = np.asarray(op.constants[2], dtype=np.int64)
    units = len(time_weights) // op.attributes.rank
    folded = -zero_point(input_type(op, STATE)) * time_weights.reshape(units, -1).sum(axis=1)
    if op.constants[BIAS] is not None:
        folded = folded + np.asarray(op.constants[BIAS], dtype=np.int64).reshape(-1)
    return np.array([wrap(bias, 32) for bias in folded.tolist()], dtype=np.int64)
