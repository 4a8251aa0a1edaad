"""MAXIMUM, MINIMUM, ATAN2, POW, SQUARED_DIFFERENCE, PRELU, and operators on bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Kernel, OperatorInstance, Target
from tflmgen.kernels.folding.fold_elements import Fold, any_elements, plain
from tflmgen.kernels.numeric.quantize_math import is_representable, quantize_multiplier
from tflmgen.kernels.numeric.real_functions import Real, of_elements
from tflmgen.kernels.operators.binary import (
    BROADCASTS,
    SUFFIX,
    Fields,
    binary_kernel,
    binary_shape,
    infer_binary,
    plain_kernel,
)
from tflmgen.kernels.ranges.intervals import Transfer
from tflmgen.kernels.ranges.range_elements import growing
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, no_attributes
from tflmgen.kernels.specification.rules import (
    INT16_ZERO_POINTS,
    QUANTIZED_PER_TENSOR,
    SAME_QUANTIZATION,
    input_shape,
    input_type,
    one_type,
    scale,
    zero_point,
)
from tflmgen.kernels.traits import ELEMENTWISE, MONOTONE, Roles, Traits

PLAIN_HEADER = "binary.h"
QUANTIZED_HEADER = "quantized_binary.h"


def _squared_difference_scales(op: OperatorInstance) -> tuple[float, float, float]:
    """The factors of both inputs and of the squared difference; int8 keeps 7 more bits in between."""
    first, second = scale(input_type(op, 0)), scale(input_type(op, 1))
    common = 2.0 * max(first, second)
    headroom = 2.0 ** (2 * _headroom(op))
    return first / common, second / common, common * common / (headroom * scale(op.outputs[0]))


def _headroom(op: OperatorInstance) -> int:
    return 0 if op.outputs[0].dtype is DType.INT16 else 7


def _squared_difference(op: OperatorInstance, target: Target) -> Kernel:
    del target
    dtype = op.outputs[0].dtype
    function = f"tflmgen_squared_difference_{SUFFIX[dtype]}"
    if dtype not in (DType.INT8, DType.INT16):
        return binary_kernel(op, function, PLAIN_HEADER)
    fields: Fields = (
        ("offset1", -zero_point(input_type(op, 0))),
        ("offset2", -zero_point(input_type(op, 1))),
        ("output_offset", zero_point(op.outputs[0])),
        ("left_shift", _headroom(op)),
    )
    for name, factor in zip(("1", "2", "_output"), _squared_difference_scales(op), strict=True):
        multiplier, shift = quantize_multiplier(factor)
        fields += ((f"multiplier{name}", multiplier), (f"shift{name}", shift))
    least, greatest = dtype.limits
    fields += (("least", least), ("greatest", greatest))
    return binary_kernel(op, function, QUANTIZED_HEADER, "tflmgen_add_quantized", fields)


def _prelu_scales(op: OperatorInstance) -> tuple[float, float]:
    """The factors of elements from the zero point up, and of negative elements times their slope."""
    source, alpha, result = scale(input_type(op, 0)), scale(input_type(op, 1)), scale(op.outputs[0])
    return source / result, source * alpha / result


def _prelu(op: OperatorInstance, target: Target) -> Kernel:
    del target
    if op.outputs[0].dtype is DType.FLOAT32:
        return binary_kernel(op, "tflmgen_prelu_f32", PLAIN_HEADER)
    fields: Fields = (
        ("input_offset", -zero_point(input_type(op, 0))),
        ("alpha_offset", -zero_point(input_type(op, 1))),
        ("output_offset", zero_point(op.outputs[0])),
    )
    for name, factor in zip(("positive", "negative"), _prelu_scales(op), strict=True):
        multiplier, shift = quantize_multiplier(factor)
        fields += ((f"multiplier_{name}", multiplier), (f"shift_{name}", shift))
    dtype = op.outputs[0].dtype
    least, greatest = dtype.limits
    fields += (("least", least), ("greatest", greatest))
    return binary_kernel(op, f"tflmgen_prelu_{SUFFIX[dtype]}", QUANTIZED_HEADER, "tflmgen_prelu", fields)


def _prelu_types_fit(op: OperatorInstance) -> bool:
    types = input_type(op, 0).dtype, input_type(op, 1).dtype
    known = (DType.FLOAT32, DType.FLOAT32), (DType.INT8, DType.INT8), (DType.INT16, DType.INT8)
    return types in known and op.outputs[0].dtype is types[0]


def _plain(
    name: str,
    *rules: Rule,
    real: Real | None = None,
    fold: Fold | None = None,
    value_range: Transfer | None = None,
    traits: Traits = ELEMENTWISE,
) -> OperatorSpec:
    return OperatorSpec(
        name.upper(),
        no_attributes,
        (2, 2),
        1,
        (*BROADCASTS, *rules),
        infer_binary,
        plain_kernel(name, PLAIN_HEADER),
        real=real,
        fold=fold,
        value_range=value_range,
        traits=traits,
    )


def _is_quantized(op: OperatorInstance) -> bool:
    return op.outputs[0].dtype in (DType.INT8, DType.INT16)


SHIFTED = (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT32, DType.UINT32)

NUMBERS = one_type(DType.FLOAT32, DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64)

SQUARED_DIFFERENCE_RULES = (
    *BROADCASTS,
    one_type(DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32),
    QUANTIZED_PER_TENSOR,
    INT16_ZERO_POINTS,
    Rule(
        "a square of the greater input scale of less than 2^28 times the output scale",
        lambda op: not _is_quantized(op) or is_representable(_squared_difference_scales(op)[2]),
    ),
)

PRELU_RULES = (
    *BROADCASTS,
    Rule(
        "an input, slopes and an output that are all float32 or all int8, or int16 with int8 slopes", _prelu_types_fit
    ),
    QUANTIZED_PER_TENSOR,
    Rule("slopes that broadcast to the input's shape", lambda op: binary_shape(op) == input_shape(op)),
    Rule(
        "an input scale of less than 2^30 times the output scale, also when multiplied by the slopes' scale",
        lambda op: not _is_quantized(op) or all(map(is_representable, _prelu_scales(op))),
    ),
)

EXTREME = replace(
    ELEMENTWISE,
    monotone_from=MONOTONE,
    tabulable=True,
    by_rows=True,
    channelwise=True,
    commutative=True,
    same_if_equal=(0, 1),
)

OPERATORS = (
    _plain(
        "maximum",
        NUMBERS,
        SAME_QUANTIZATION,
        real=of_elements(lambda a, b: np.where(a > b, a, b)),
        fold=any_elements(lambda a, b: np.where(a > b, a, b)),
        value_range=growing(np.maximum),
        traits=replace(EXTREME, extreme=1),
    ),
    _plain(
        "minimum",
        NUMBERS,
        SAME_QUANTIZATION,
        real=of_elements(lambda a, b: np.where(a < b, a, b)),
        fold=any_elements(lambda a, b: np.where(a < b, a, b)),
        value_range=growing(np.minimum),
        traits=replace(EXTREME, extreme=-1),
    ),
    _plain("atan2", one_type(DType.FLOAT32), real=of_elements(np.arctan2)),
    _plain("pow", one_type(DType.FLOAT32, DType.INT32), real=of_elements(np.power)),
    _plain("bitwise_xor", one_type(*SHIFTED, DType.BOOL)),
    _plain("right_shift", one_type(*SHIFTED)),
    _plain("stablehlo_and", one_type(*SHIFTED)),
    _plain("stablehlo_shift_left", one_type(*SHIFTED)),
    OperatorSpec(
        "SQUARED_DIFFERENCE",
        no_attributes,
        (2, 2),
        1,
        SQUARED_DIFFERENCE_RULES,
        infer_binary,
        _squared_difference,
        real=of_elements(lambda a, b: np.square(a - b)),
        fold=plain(lambda a, b: (a - b) * (a - b)),
        traits=ELEMENTWISE,
    ),
    OperatorSpec(
        "PRELU",
        no_attributes,
        (2, 2),
        1,
        PRELU_RULES,
        infer_binary,
        _prelu,
        real=of_elements(lambda x, slope: np.where(x < 0, x * slope, x)),
        traits=replace(ELEMENTWISE, roles=Roles(slopes=1)),
    ),
)
