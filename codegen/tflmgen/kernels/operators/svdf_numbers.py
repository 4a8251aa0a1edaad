"""Numbers of the int8 kernels of SVDF: operands, sizes, and biases that zero points are folded into."""

from __future__ import annotations

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import (
    ConstantArray,
    Cost,
    Input,
    Kernel,
    OperatorInstance,
    Output,
    Overlap,
    PackedCall,
    Params,
    UnpackedSums,
)
from tflmgen.kernels.numeric.fixed_point import wrap
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.requests import Factor
from tflmgen.kernels.specification.rules import input_shape, input_type, zero_point
from tflmgen.kernels.specification.window import Fields

BIAS, STATE = 3, 4
"""The operator's inputs with the bias and the state."""


def fast_kernel(op: OperatorInstance, variant: str, stream: ConstantArray, fields: Params, kind: str = "") -> Kernel:
    """The kernel of one instruction set, by its packed weights. kind: part of the C function's name, as `any_`."""
    wide = input_type(op, STATE).dtype is DType.INT16
    return Kernel(
        f"tflmgen_svdf_{variant}_{kind}{'s8_s16' if wide else 's8'}",
        f"svdf_{variant}.h",
        (
            Input(0),
            stream,
            Input(2),
            ConstantArray.of("biases", biases(op), DType.INT32),
            Input(STATE),
            Output(0),
            Output(1),
        ),
        fields,
        (Overlap(STATE, 1),),
        Cost(products(op), numbers=(("wide", wide),)),
        variant,
    )


def integer_params(op: OperatorInstance, to_state: Factor, to_output: Factor) -> Params:
    """The struct of the kernels that requantise by multiplier and shift."""
    scales = (
        ("multiplier", to_state[0]),
        ("shift", to_state[1]),
        ("state_zero_point", zero_point(input_type(op, STATE))),
        ("output_multiplier", to_output[0]),
        ("output_shift", to_output[1]),
        ("output_zero_point", zero_point(op.outputs[0])),
    )
    return Params("tflmgen_svdf_s8", (*size_fields(op), *scales))


def size_fields(op: OperatorInstance) -> Fields:
    """The first five of the kernels' structs."""
    batches, inputs = input_shape(op)
    filters, memory = input_shape(op, 2)
    rank = op.attributes.rank
    units = filters // rank
    return ("batches", batches), ("inputs", inputs), ("units", units), ("rank", rank), ("memory", memory)


def products(op: OperatorInstance) -> int:
    """Multiplications of one invoke: inputs by filters, then the memory of each filter."""
    batches, inputs = input_shape(op)
    filters, memory = input_shape(op, 2)
    return batches * filters * (inputs + memory)


def offsets(op: OperatorInstance) -> Integers:
    """Contribution of the input's zero point to the sum of each filter."""
    sums: Integers = np.asarray(op.constants[1], dtype=np.int64).sum(axis=1)
    return -zero_point(input_type(op, 0)) * sums


def biases_are_known(op: OperatorInstance) -> bool:
    """Whether zero points can be folded into the biases at build time."""
    return op.inputs[BIAS] is None or op.constants[BIAS] is not None


def biases(op: OperatorInstance) -> Integers:
    """Biases of the units with the state's zero point folded in, wrapped to 32 bits."""
    time_weights = np.asarray(op.constants[2], dtype=np.int64)
    units = len(time_weights) // op.attributes.rank
    folded = -zero_point(input_type(op, STATE)) * time_weights.reshape(units, -1).sum(axis=1)
    if op.constants[BIAS] is not None:
        folded = folded + np.asarray(op.constants[BIAS], dtype=np.int64).reshape(-1)
    return np.array([wrap(bias, 32) for bias in folded.tolist()], dtype=np.int64)


def biases_of(call: PackedCall) -> UnpackedSums:
    """Biases of a kernel's sums through time, unpacked; their weights are the tensor's own."""
    return UnpackedSums(None, np.frombuffer(call.words(3), dtype="<i4").astype(np.int64))
