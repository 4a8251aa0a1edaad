"""ADD, SUB and MUL with a fused activation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Cost, Kernel, KernelChoice, OperatorInstance, Target
from tflmgen.kernels.choice import choose_fastest, fast_kernels
from tflmgen.kernels.costs.cost_model import elements_cost
from tflmgen.kernels.declaration import KernelDeclaration
from tflmgen.kernels.folding.fold_elements import Array, Fold, arithmetic, clamp_bounds
from tflmgen.kernels.folding.fold_quantized import centred, quantized, requantized_by_factor
from tflmgen.kernels.numeric.quantize_math import (
    Activation,
    activation_range,
    fused_activation,
    is_representable,
    quantize_multiplier,
)
from tflmgen.kernels.numeric.real_functions import of_elements
from tflmgen.kernels.operators.binary import BROADCASTS, SUFFIX, Fields, binary_kernel, infer_binary
from tflmgen.kernels.ranges.intervals import Inputs, Integers, Interval, Outputs, Transfer
from tflmgen.kernels.ranges.range_elements import broadcast_pair, corners, evaluated, hull
from tflmgen.kernels.requests import Addition, Multiplication
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule
from tflmgen.kernels.specification.rules import (
    INT16_ZERO_POINTS,
    QUANTIZED_PER_TENSOR,
    input_type,
    one_type,
    scale,
    zero_point,
)
from tflmgen.kernels.traits import MONOTONE, Traits, any_axis

HEADER = "arithmetic.h"
QUANTIZED = (DType.INT8, DType.INT16)
LEFT_SHIFT = {DType.INT8: 20, DType.INT16: 15}
"""Bits of headroom that ADD and SUB compute with."""


@dataclass(frozen=True, slots=True)
class Fused:
    """The activation applied to each result."""

    activation: Activation


def parse(options: Options | None) -> Fused:
    """Attributes of an operator with a fused activation; it has none without options."""
    return Fused(fused_activation(options))


def add_scales(op: OperatorInstance) -> tuple[float, float, float]:
    """The factors of both inputs, and of their sum, that ADD and SUB apply (each at most 1 where supported).

    The inputs are brought to one scale, twice the greater one's, with 20 bits (int8) or 15 bits (int16) of headroom.
    """
    first, second, output = scale(input_type(op, 0)), scale(input_type(op, 1)), op.outputs[0]
    common = 2.0 * max(first, second)
    return first / common, second / common, common / (2.0 ** LEFT_SHIFT[output.dtype] * scale(output))


def mul_scale(op: OperatorInstance) -> float:
    """The factor that brings a product of two quantised elements to the output's scale."""
    return scale(input_type(op, 0)) * scale(input_type(op, 1)) / scale(op.outputs[0])


def _offsets(op: OperatorInstance) -> Fields:
    return (
        ("offset1", -zero_point(input_type(op, 0))),
        ("offset2", -zero_point(input_type(op, 1))),
        ("output_offset", zero_point(op.outputs[0])),
    )


def output_limits(op: OperatorInstance, activation: Activation) -> Fields:
    """Least and greatest value of the output, of its own type."""
    output = op.outputs[0]
    if output.dtype is DType.FLOAT32:
        low, high = activation.bounds
        return ("least", low), ("greatest", high)
    if output.dtype in QUANTIZED and output.quantization is not None:
        least, greatest = activation_range(activation, output.dtype, output.quantization)
        return ("least", least), ("greatest", greatest)
    least, greatest = output.dtype.limits
    low, high = activation.bounds
    return ("least", int(max(least, low))), ("greatest", int(min(greatest, high)))


def _kernel(
    name: str, quantized_fields: Callable[[OperatorInstance], Fields]
) -> Callable[[OperatorInstance, Target], KernelChoice]:
    def kernel(op: OperatorInstance, target: Target) -> KernelChoice:
        kernels: list[Kernel] = []
        if op.outputs[0].dtype is DType.INT8:
            assert op.outputs[0].quantization is not None
            limits = activation_range(op.attributes.activation, DType.INT8, op.outputs[0].quantization)
            if name == "mul":
                kernels = fast_kernels(Multiplication(op, target, mul_scale(op), limits))
            else:
                kernels = fast_kernels(Addition(op, target, add_scales(op), 1 if name == "add" else -1, limits))
        return choose_fastest([*kernels, portable(op)], target)

    def portable(op: OperatorInstance) -> Kernel:
        dtype = op.outputs[0].dtype
        function = f"tflmgen_{name}_{SUFFIX[dtype]}"
        if dtype is DType.INT64:
            return binary_kernel(op, function, HEADER)
        ends = output_limits(op, op.attributes.activation)
        if dtype is DType.INT16:
            return _mul_s16(op, ends) if name == "mul" else _sum_s16(op, 1 if name == "add" else -1, ends)
        if dtype is DType.INT8:
            struct = "tflmgen_mul_quantized" if name == "mul" else "tflmgen_add_quantized"
            kernel = binary_kernel(op, function, HEADER, struct, _offsets(op) + quantized_fields(op) + ends)
            return replace(kernel, cost=Cost(family="mul_s8" if name == "mul" else "add_s8"))
        return binary_kernel(op, function, HEADER, f"tflmgen_arithmetic_{SUFFIX[dtype]}", ends)

    return kernel


def _add_fields(op: OperatorInstance) -> Fields:
    fields: Fields = (("left_shift", LEFT_SHIFT[op.outputs[0].dtype]),)
    for name, factor in zip(("1", "2", "_output"), add_scales(op), strict=True):
        multiplier, shift = quantize_multiplier(factor)
        fields += ((f"multiplier{name}", multiplier), (f"shift{name}", shift))
    return fields


def _mul_fields(op: OperatorInstance) -> Fields:
    multiplier, shift = quantize_multiplier(mul_scale(op))
    return ("multiplier", multiplier), ("shift", shift)


def _mul_s16(op: OperatorInstance, ends: Fields) -> Kernel:
    """Zero points of int16 are rarely other than 0: a kernel of its own has them."""
    offsets = _offsets(op)
    if any(offset for _, offset in offsets):
        fields = offsets + _mul_fields(op) + ends
        return binary_kernel(op, "tflmgen_mul_offset_s16", HEADER, "tflmgen_mul_quantized", fields)
    return binary_kernel(op, "tflmgen_mul_s16", HEADER, "tflmgen_mul_s16", _mul_fields(op) + ends)


def _sum_s16(op: OperatorInstance, sign: int, ends: Fields) -> Kernel:
    """The kernel of first + sign * second, whose first operand is the one of the greater scale.

    That one's factor is 1/2, so that 2^14 times an element is exact. Where the other's is 1/2 too, the kernel takes
    (2^31 - 1) / 2^32 for it, which gives the same for every int16.
    """
    factors = add_scales(op)
    swapped = factors[0] < factors[1]
    multiplier, shift = quantize_multiplier(min(factors[:2]))
    if shift == 0:
        multiplier, shift = 2**31 - 1 if multiplier else 0, -1
    last = quantize_multiplier(factors[2])
    fields = (
        ("factor1", (sign if swapped else 1) << (LEFT_SHIFT[DType.INT16] - 1)),
        ("sign2", 1 if swapped else sign),
        ("multiplier2", multiplier),
        ("right2", -shift),
        ("multiplier_output", last[0]),
        ("shift_output", last[1]),
    )
    return binary_kernel(op, "tflmgen_add_s16", HEADER, "tflmgen_add_s16", fields + ends, swapped=swapped)


def is_quantized(op: OperatorInstance) -> bool:
    """Whether the output is int8 or int16."""
    return op.outputs[0].dtype in QUANTIZED


RULES = (
    *BROADCASTS,
    one_type(DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32, DType.INT64),
    QUANTIZED_PER_TENSOR,
    Rule(
        "no fused activation with int64",
        lambda op: op.outputs[0].dtype is not DType.INT64 or op.attributes.activation is Activation.NONE,
    ),
)

ADD_RULES = (
    *RULES,
    INT16_ZERO_POINTS,
    Rule(
        "an output scale of at least 2^-19 (int8) or 2^-14 (int16) of the greater input scale",
        lambda op: not is_quantized(op) or add_scales(op)[2] <= np.nextafter(1.0, 0.0),
    ),
)

MUL_RULES = (
    *RULES,
    Rule(
        "a product of the input scales of less than 2^30 times the output scale",
        lambda op: not is_quantized(op) or is_representable(mul_scale(op)),
    ),
)


def _sum(sign: int) -> Callable[[OperatorInstance], Integers]:
    def evaluate(op: OperatorInstance) -> Integers:
        shift = LEFT_SHIFT[op.outputs[0].dtype]
        first, second, output = add_scales(op)
        left, other = (
            requantized_by_factor(centred(op, i) << shift, factor) for i, factor in ((0, first), (1, second))
        )
        return requantized_by_factor(left + sign * other, output)

    return evaluate


def _product(op: OperatorInstance) -> Integers:
    return requantized_by_factor(centred(op, 0) * centred(op, 1), mul_scale(op))


LARGEST = 2**31
"""Magnitude up to which the range analysis follows plain integers; products of two then fit 64 bits."""


def _value_range(
    function: Callable[[Array, Array], Array], fold: Fold, fits: Callable[[OperatorInstance, Interval, Interval], bool]
) -> Transfer:
    """Monotone in each operand, or bilinear and then rounded monotonely: corners suffice."""

    def ranges(op: OperatorInstance, inputs: Inputs) -> Outputs:
        pair, dtype = broadcast_pair(op, inputs), op.outputs[0].dtype
        if pair is None:
            return None
        if dtype in QUANTIZED:
            ends = [evaluated(fold, op, corner) for corner in corners(*pair)] if fits(op, *pair) else [None]
            return None if any(end is None for end in ends) else [hull([end for end in ends if end is not None])]
        if not all(interval.within(-LARGEST, LARGEST) for interval in pair):
            return None
        exact = hull([function(a, b) for a, b in corners(*pair)])
        if not exact.within(*dtype.limits):
            return None
        least, greatest = clamp_bounds(op.attributes.activation, dtype)
        return [exact.meet(int(least), int(greatest))]

    return ranges


def _sum_fits(op: OperatorInstance, left: Interval, right: Interval) -> bool:
    del op, left, right
    return True


def _product_fits(op: OperatorInstance, first: Interval, second: Interval) -> bool:
    """Whether no left shift of a product overflows."""
    left = max(0, quantize_multiplier(mul_scale(op))[1])
    points = zero_point(input_type(op, 0)), zero_point(input_type(op, 1))
    products = hull([(a - points[0]) * (b - points[1]) for a, b in corners(first, second)])
    return products.within(-(2**31 >> left), (2**31 >> left) - 1)


ARITHMETIC = Traits(elementwise=True, row_wise=any_axis, by_rows=True, channelwise=True, clamped=True)


def _row(
    name: str,
    rules: tuple[Rule, ...],
    fields: Callable[[OperatorInstance], Fields],
    on_quantized: Callable[[OperatorInstance], Integers],
    function: Callable[[Array, Array], Array],
    fits: Callable[[OperatorInstance, Interval, Interval], bool],
    traits: Traits,
) -> OperatorSpec:
    fold = quantized(on_quantized, arithmetic(function))
    return OperatorSpec(
        name.upper(),
        parse,
        (2, 2),
        1,
        rules,
        infer_binary,
        _kernel(name, fields),
        real=of_elements(function),
        fold=fold,
        value_range=_value_range(function, fold, fits),
        traits=replace(traits, tabulable=True),
    )


COMMUTATIVE = replace(ARITHMETIC, commutative=True)

OPERATORS = (
    _row(
        "add",
        ADD_RULES,
        _add_fields,
        _sum(1),
        np.add,
        _sum_fits,
        replace(COMMUTATIVE, adds=1, neutral=0, monotone_from=MONOTONE),
    ),
    _row("sub", ADD_RULES, _add_fields, _sum(-1), np.subtract, _sum_fits, replace(ARITHMETIC, adds=-1, neutral=0)),
    _row(
        "mul",
        MUL_RULES,
        _mul_fields,
        _product,
        np.multiply,
        _product_fits,
        replace(COMMUTATIVE, multiplies=1, neutral=1, monotone_from=0),
    ),
)


KERNEL = KernelDeclaration(
    "arithmetic.h",
    "portable",
    costs={"add_s8": elements_cost("add or rows", "row vector"), "mul_s8": elements_cost("mul or rows", "row vector")},
)
