"""SVDF in int8 for cores with the DSP extension: the packed weights, and when the kernel is exact."""

from __future__ import annotations

import numpy as np

from tflmgen.ir import ConstantArray, DType, Kernel, OperatorInstance, Params
from tflmgen.kernels.dsp.dot_rows_dsp import GROUP, groups_of, pack_rows, scale_to_int16
from tflmgen.kernels.header_constants import header_constant
from tflmgen.kernels.operators.svdf_numbers import STATE, Factor, biases_are_known, fast_kernel, offsets, size_fields
from tflmgen.kernels.rules import input_type, static_shape, zero_point

MOST_RANK = header_constant("svdf_dsp.h", "TFLMGEN_SVDF_DSP_FILTERS") // GROUP
"""So that the newest activations of a group of units fit the stack."""


def svdf_dsp(op: OperatorInstance, to_state: Factor, to_output: Factor) -> Kernel | None:
    """The kernel; None where it would not be exact."""
    weights = np.asarray(op.constants[1], dtype=np.int64)
    scale = scale_to_int16(weights, offsets(op), *to_state)
    if scale is None or op.attributes.rank > MOST_RANK or to_output[1] >= 0 or not biases_are_known(op):
        return None
    packed = pack_rows(weights)
    groups = groups_of(packed, packed.starts(offsets(op).tolist()))
    stream = ConstantArray.of("stream", groups.reshape(-1), DType.UINT32)
    state = input_type(op, STATE)
    fields = (
        *size_fields(op),
        ("scale", scale),
        ("state_zero_point", zero_point(state)),
        ("output_multiplier", to_output[0]),
        ("output_right_shift", -to_output[1]),
        ("output_zero_point", zero_point(op.outputs[0])),
    )
    _, memory = static_shape(input_type(op, 2))
    words, rest = divmod(memory * state.dtype.bits, 32)
    kind = f"{'_any' if rest or words < 2 else ''}{'_offset' if packed.offset else ''}"
    return fast_kernel(op, "dsp", kind, stream, Params("tflmgen_svdf_dsp", fields))
