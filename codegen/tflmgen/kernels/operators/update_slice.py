"""DYNAMIC_UPDATE_SLICE."""

from __future__ import annotations

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Overlap, Params, Target
from tflmgen.kernels.numeric.strides import MAX_RANK, strides_of
from tflmgen.kernels.operators.binary import SUFFIX
from tflmgen.kernels.operators.copying import MOVABLE
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, no_attributes
from tflmgen.kernels.specification.rules import (
    COMMON,
    QUANTIZED,
    input_is,
    input_shape,
    input_type,
    labels,
    same_quantization,
)
from tflmgen.kernels.traits import Traits


def _kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    shape, update, output = input_shape(op, 0), input_shape(op, 1), op.outputs[0]
    size = output.dtype.bits // 8
    pad = (0,) * (MAX_RANK - len(shape))
    fields = (
        ("rank", len(shape)),
        ("extent", update + pad),
        ("stride", tuple(s * size for s in strides_of(shape)) + pad),
        ("last", tuple(d - u for d, u in zip(shape, update, strict=True)) + pad),
        ("element_bytes", size),
        ("bytes", output.bytes),
    )
    return Kernel(
        f"tflmgen_update_slice_{SUFFIX[input_type(op, 2).dtype]}",
        "update_slice.h",
        (Input(0), Input(1), Input(2), Output(0)),
        Params("tflmgen_update_slice", fields),
        (Overlap(0, 0),),
    )


RULES = (
    *COMMON,
    Rule(
        f"an input, an update and an output of one type: {labels(MOVABLE)}",
        lambda op: (
            op.outputs[0].dtype in MOVABLE and all(input_type(op, i).dtype is op.outputs[0].dtype for i in range(2))
        ),
    ),
    Rule(
        "one scale and zero point for a quantised input, update and output",
        lambda op: (
            op.outputs[0].dtype not in QUANTIZED
            or all(same_quantization(input_type(op, i), op.outputs[0]) for i in range(2))
        ),
    ),
    input_is(2, "place of the update", DType.INT32, DType.INT64),
    Rule(f"an input of 1 to {MAX_RANK} dimensions", lambda op: 1 <= len(input_shape(op, 0)) <= MAX_RANK),
    Rule(
        "an update of at least one element that fits into the input",
        lambda op: (
            len(input_shape(op, 1)) == len(input_shape(op, 0))
            and all(0 < u <= d for u, d in zip(input_shape(op, 1), input_shape(op, 0), strict=True))
        ),
    ),
    Rule("start indices of one number per dimension", lambda op: input_shape(op, 2) == (len(input_shape(op, 0)),)),
)

OPERATORS = (
    OperatorSpec(
        "DYNAMIC_UPDATE_SLICE",
        no_attributes,
        (3, 3),
        1,
        RULES,
        lambda op: (input_shape(op, 0),),
        _kernel,
        traits=Traits(takes_nothing=True),
    ),
)
