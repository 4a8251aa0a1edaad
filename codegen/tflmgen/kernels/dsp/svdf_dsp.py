"""SVDF in int8 for cores with the DSP extension: the packed weights, and when the kernel is applicable."""

from __future__ import annotations

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Kernel, PackedCall, Params, UnpackedSums
from tflmgen.kernels.costs.cost_model import svdf_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.dsp.dot_rows_dsp import GROUP, groups_of, pack_rows, read_rows, scale_to_int16
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.operators.svdf_numbers import STATE, biases_are_known, biases_of, fast_kernel, offsets, size_fields
from tflmgen.kernels.requests import Svdf
from tflmgen.kernels.specification.rules import input_type, static_shape, zero_point

MAX_SVDF_RANK = header_constant("svdf_dsp.h", "TFLMGEN_SVDF_DSP_FILTERS") // GROUP
"""Largest rank for which the newest activations of a group of units fit the stack."""


def svdf_dsp(request: Svdf) -> Kernel | None:
    """The kernel, one for memories of whole words, two at least, and one for any other; None where it would not be
    exact."""
    op, to_output = request.op, request.to_output
    weights = np.asarray(op.constants[1], dtype=np.int64)
    scale = scale_to_int16(weights, offsets(op), *request.to_state)
    if scale is None or op.attributes.rank > MAX_SVDF_RANK or to_output[1] >= 0 or not biases_are_known(op):
        return None
    state = input_type(op, STATE)
    _, memory = static_shape(input_type(op, 2))
    words, rest = divmod(memory * state.dtype.bits, 32)
    packed = pack_rows(weights, offset=True)
    groups = groups_of(packed, packed.starts(offsets(op).tolist()))
    stream = ConstantArray.of("stream", groups.reshape(-1), DType.UINT32)
    fields = (
        *size_fields(op),
        ("scale", scale),
        ("state_zero_point", zero_point(state)),
        ("output_multiplier", to_output[0]),
        ("output_right_shift", -to_output[1]),
        ("output_zero_point", zero_point(op.outputs[0])),
    )
    return fast_kernel(op, "dsp", stream, Params("tflmgen_svdf_dsp", fields), "any_" if rest or words < 2 else "")


def _read(call: PackedCall) -> list[UnpackedSums]:
    """Rows of offset pairs."""
    return [UnpackedSums(*read_rows(call.words(), call.channels, call.terms, True)), biases_of(call)]


KERNEL = KernelDeclaration(
    "svdf_dsp.h",
    "dsp",
    (Computes(Svdf, svdf_dsp),),
    {"svdf_dsp": svdf_cost("svdf beyond", "row unit filter step state state_word", 1, 4, 4)},
    (Cases("svdf_int8 svdf_int16"),),
    read=_read,
)
