"""QUANTIZE and DEQUANTIZE."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType, TensorType
from tflmgen.ir.kernel import (
    ConstantArray,
    Input,
    Kernel,
    KernelChoice,
    OperatorInstance,
    Output,
    Overlap,
    Params,
    Target,
)
from tflmgen.kernels.folding.fold_elements import dequantize, quantize
from tflmgen.kernels.folding.fold_quantized import requantized_by_factor
from tflmgen.kernels.numeric.int8_tables import scale_ratio_of
from tflmgen.kernels.numeric.quantize_math import is_representable, quantize_multiplier
from tflmgen.kernels.operators.binary import SUFFIX
from tflmgen.kernels.operators.lookup import lookup_kernel, table_operand
from tflmgen.kernels.ranges.intervals import Inputs, Interval, Outputs
from tflmgen.kernels.ranges.range_elements import by_table
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, Shape, no_attributes
from tflmgen.kernels.specification.rules import COMMON, input_is, input_type, output_is, per_tensor, scale, zero_point
from tflmgen.kernels.traits import UNARY, NumberConversion

HEADER = "quantize.h"
SMALL = (DType.INT8, DType.UINT8, DType.INT16)

LEAST_ELEMENTS = {"balanced": 64, "speed": 64, "ram": 64, "size": 256}
"""Smallest number of int8 elements for which a lookup table of 256 bytes of flash is used, by --optimize."""

_INFINITY = 0x7F800000
"""Bits of float32's infinity: positive floats are ordered as their bits are."""

LEAST_SEARCHED = 128
"""Smallest number of float32 elements for which thresholds, 1020 bytes of flash, are searched without an FPU."""


def same_shape(op: OperatorInstance) -> tuple[Shape | None, ...]:
    """The shape of the input."""
    return (input_type(op, 0).shape,)


def unary_overlaps(op: OperatorInstance) -> tuple[Overlap, ...]:
    """Overlap of input and output of a kernel that runs forward through both, one element at a time: in place.

    Where output elements are wider, each must be written no later than its input bytes are read: the ends coincide.
    """
    source, result = input_type(op, 0), op.outputs[0]
    growth = (result.dtype.bits - source.dtype.bits) // 8
    return (Overlap(0, 0, max(0, growth * (source.elements - 1))),)


def _table(op: OperatorInstance) -> ConstantArray:
    """Lookup table of the result of each int8 value, from -128 on."""
    values = np.arange(-128, 128, dtype=np.int8)
    source, result = (replace(kind, shape=values.shape) for kind in (input_type(op, 0), op.outputs[0]))
    entries = quantize(OperatorInstance((source,), (result,), (values,), None))
    assert entries is not None
    return table_operand(entries[0])


def _searching(op: OperatorInstance) -> Kernel:
    """The kernel without floating-point arithmetic."""
    point, (least, greatest) = zero_point(op.outputs[0]), op.outputs[0].dtype.limits
    fields = (
        ("elements", input_type(op, 0).elements),
        ("least", least),
        ("undefined", greatest if point < 0 else least),
    )
    operands = (Input(0), ConstantArray.of("thresholds", thresholds(op.outputs[0]), DType.INT32), Output(0))
    function = f"tflmgen_quantize_search_{SUFFIX[op.outputs[0].dtype]}"
    return Kernel(function, HEADER, operands, Params("tflmgen_quantize_search", fields), unary_overlaps(op))


def thresholds(result: TensorType) -> NDArray[np.int64]:
    """The least float32 of each output but the least one, [255], as the integer that orders it among all floats."""
    outputs = np.arange(1, 256) + result.dtype.limits[0]
    low, high = np.full(255, -_INFINITY - 1), np.full(255, _INFINITY)
    while (low < high).any():
        middle = (low + high) >> 1
        floats = np.where(middle < 0, ~middle | -(2**31), middle).astype(np.int32).view(np.float32)
        source, kind = TensorType(DType.FLOAT32, floats.shape), replace(result, shape=floats.shape)
        with np.errstate(over="ignore"):
            quantized = quantize(OperatorInstance((source,), (kind,), (floats,), None))
        assert quantized is not None
        reached = quantized[0] >= outputs
        low, high = np.where(reached, low, middle + 1), np.where(reached, middle, high)
    return low


def _quantize(op: OperatorInstance, target: Target) -> Kernel | KernelChoice:
    source, result = input_type(op, 0), op.outputs[0]
    least = LEAST_ELEMENTS[target.optimize]
    if (source.dtype, result.dtype) == (DType.INT8, DType.INT8) and source.elements >= least:
        return lookup_kernel(op, _table(op), target)
    soft = target.has_soft_float and target.optimize != "size"
    if source.dtype is DType.FLOAT32 and result.dtype.bits == 8 and soft and source.elements >= LEAST_SEARCHED:
        return _searching(op)
    function = f"tflmgen_quantize_{SUFFIX[source.dtype]}_{SUFFIX[result.dtype]}"
    if source.dtype is DType.FLOAT32:
        params = Params(
            "tflmgen_quantize",
            (("elements", source.elements), ("scale", scale(result)), ("zero_point", zero_point(result))),
        )
    else:
        multiplier, shift = quantize_multiplier(scale_ratio_of(op))
        params = Params(
            "tflmgen_quantize_integer",
            (
                ("elements", source.elements),
                ("input_offset", -zero_point(source)),
                ("multiplier", multiplier),
                ("shift", shift),
                ("output_offset", zero_point(result)),
            ),
        )
    return Kernel(function, HEADER, (Input(0), Output(0)), params, unary_overlaps(op))


def _dequantize(op: OperatorInstance, target: Target) -> Kernel:
    del target
    source = input_type(op, 0)
    if source.dtype is DType.FLOAT16:
        params = Params("tflmgen_dequantize_f16", (("elements", source.elements),))
        function = "tflmgen_dequantize_f16_f32"
        return Kernel(function, HEADER, (Input(0), Output(0)), params, unary_overlaps(op))
    fields = (("elements", source.elements), ("scale", scale(source)), ("zero_point", zero_point(source)))
    return Kernel(
        f"tflmgen_dequantize_{SUFFIX[source.dtype]}_f32",
        HEADER,
        (Input(0), Output(0)),
        Params("tflmgen_quantize", fields),
        unary_overlaps(op),
    )


def _quantize_range(op: OperatorInstance, inputs: Inputs) -> Outputs:
    """Monotone, as long as no left shift overflows."""
    x, source = inputs[0], input_type(op, 0)
    if x is None or not per_tensor(source):
        return None
    if source.dtype is DType.INT8:
        return by_table(quantize)(op, inputs)
    factor = scale_ratio_of(op)
    centred = Interval(x.low - zero_point(source), x.high - zero_point(source))
    left = max(0, quantize_multiplier(factor)[1])
    if not centred.within(-(2**31 >> left), (2**31 >> left) - 1):
        return None
    least, greatest = op.outputs[0].dtype.limits
    low, high = (requantized_by_factor(end, factor) + zero_point(op.outputs[0]) for end in (centred.low, centred.high))
    return [Interval(low, high).meet(least, greatest)]


QUANTIZE_RULES = (
    *COMMON,
    input_is(0, "input", DType.FLOAT32, DType.INT32, *SMALL),
    output_is(DType.INT32, *SMALL),
    Rule("an output quantised with one scale", lambda op: per_tensor(op.outputs[0])),
    Rule(
        "an integer input to be quantised with one scale",
        lambda op: input_type(op, 0).dtype is DType.FLOAT32 or per_tensor(input_type(op, 0)),
    ),
    Rule(
        "an integer input for an int32 output",
        lambda op: op.outputs[0].dtype is not DType.INT32 or input_type(op, 0).dtype in SMALL,
    ),
    Rule(
        "an input scale of less than 2^30 times the output scale",
        lambda op: input_type(op, 0).dtype is DType.FLOAT32 or is_representable(scale_ratio_of(op)),
    ),
)

DEQUANTIZE_RULES = (
    *COMMON,
    input_is(0, "input", *SMALL, DType.INT4, DType.FLOAT16),
    output_is(DType.FLOAT32),
    Rule(
        "an integer input to be quantised, with one scale unless it is constant",
        lambda op: (
            input_type(op, 0).dtype is DType.FLOAT16
            or per_tensor(input_type(op, 0))
            or (op.constants[0] is not None and input_type(op, 0).quantization is not None)
        ),
    ),
    Rule(
        "an int4 input to be constant",
        lambda op: input_type(op, 0).dtype is not DType.INT4 or op.constants[0] is not None,
    ),
)

OPERATORS = (
    OperatorSpec(
        "QUANTIZE",
        no_attributes,
        (1, 1),
        1,
        QUANTIZE_RULES,
        same_shape,
        _quantize,
        fold=quantize,
        value_range=_quantize_range,
        traits=replace(UNARY, converts=NumberConversion.QUANTIZES, by_rows=True, channelwise=True, tabulable=True),
    ),
    OperatorSpec(
        "DEQUANTIZE",
        no_attributes,
        (1, 1),
        1,
        DEQUANTIZE_RULES,
        same_shape,
        _dequantize,
        fold=dequantize,
        traits=replace(UNARY, converts=NumberConversion.DEQUANTIZES, by_rows=True, tabulable=True),
    ),
)
