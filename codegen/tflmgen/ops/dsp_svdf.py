"""SVDF in int8 for cores with the DSP extension: the packed weights, and when the kernel is exact."""

from __future__ import annotations

import numpy as np

from tflmgen.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Overlap, Params
from tflmgen.ops.dsp_channels import Integers
from tflmgen.ops.dsp_dot_rows import groups_of, pack_rows, scale_to_int16
from tflmgen.ops.fixed_point import wrap
from tflmgen.ops.rules import input_type, static_shape, zero_point
from tflmgen.types import DType

BIAS = 3
STATE = 4
MOST_RANK = 8
"""So that the newest activations of four units fit TFLMGEN_SVDF_DSP_FILTERS."""

Factor = tuple[int, int]
"""(multiplier, shift) of tflmgen_requantize."""


def svdf_dsp(op: OperatorInstance, to_state: Factor, to_output: Factor) -> Kernel | None:
    """The kernel; None where it would not be exact."""
    weights = np.asarray(op.constants[1], dtype=np.int64)
    offsets = -zero_point(input_type(op, 0)) * weights.sum(axis=1)
    scale = scale_to_int16(weights, offsets, *to_state)
    if scale is None or (op.inputs[BIAS] is not None and op.constants[BIAS] is None):
        return None
    state = input_type(op, STATE)
    rank = op.attributes.rank
    if rank > MOST_RANK or to_output[1] >= 0:
        return None
    packed = pack_rows(weights)
    stream = groups_of(packed, packed.starts(offsets.tolist()))
    batches, inputs = static_shape(input_type(op, 0))
    filters, memory = static_shape(input_type(op, 2))
    fields = Params(
        "tflmgen_svdf_dsp",
        (
            *(("batches", batches), ("inputs", inputs), ("units", filters // rank), ("rank", rank), ("memory", memory)),
            *(("scale", scale), ("state_zero_point", zero_point(state)), ("output_multiplier", to_output[0])),
            *(("output_right_shift", -to_output[1]), ("output_zero_point", zero_point(op.outputs[0]))),
        ),
    )
    words, rest = divmod(memory * state.dtype.bits, 32)
    kind = f"{'_any' if rest or words < 2 else ''}{'_offset' if packed.offset else ''}"
    suffix = "s8" if state.dtype is DType.INT8 else "s8_s16"
    operands = (
        Input(0),
        ConstantArray.of("stream", stream.reshape(-1), DType.UINT32),
        Input(2),
        ConstantArray.of("biases", _biases(op), DType.INT32),
        Input(STATE),
        Output(0),
        Output(1),
    )
    macs = batches * filters * (inputs + memory)
    return Kernel(f"tflmgen_svdf_dsp{kind}_{suffix}", "svdf_dsp.h", operands, fields, (Overlap(STATE, 1),), macs, "dsp")


def _biases(op: OperatorInstance) -> Integers:
    """Of the units, with the state's zero point folded in, wrapped."""
    time_weights = np.asarray(op.constants[2], dtype=np.int64)
    units = len(time_weights) // op.attributes.rank
    biases = -zero_point(input_type(op, STATE)) * time_weights.reshape(units, -1).sum(axis=1)
    if op.constants[BIAS] is not None:
        biases = biases + np.asarray(op.constants[BIAS], dtype=np.int64).reshape(-1)
    return np.array([wrap(bias, 32) for bias in biases.tolist()], dtype=np.int64)
