"""PAD and PADV2: constant paddings around any dimension, filled with zero or one given value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Params, Target, View
from tflmgen.kernels.numeric.strides import Nest, strides_of
from tflmgen.kernels.operators.copying import HEADER, SAME_MOVABLE_TYPE, constants_of, copy_nest, fits
from tflmgen.kernels.ranges.intervals import Inputs, Interval, Outputs
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, Shape, no_attributes
from tflmgen.kernels.specification.rules import (
    COMMON,
    QUANTIZED,
    constant,
    input_is,
    input_shape,
    input_type,
    same_quantization,
)
from tflmgen.kernels.traits import BY_AXIS, Roles


def paddings(op: OperatorInstance) -> list[tuple[int, int]]:
    """Elements before and after each dimension."""
    values = constants_of(op, 1)
    return list(zip(values[::2], values[1::2], strict=True))


def padded_shape(op: OperatorInstance) -> tuple[int, ...]:
    """The input's shape with the paddings before and after each dimension."""
    shape = input_shape(op)
    return tuple(before + d + after for d, (before, after) in zip(shape, paddings(op), strict=True))


def _nest(op: OperatorInstance) -> Nest:
    shape = input_shape(op)
    return copy_nest(shape, strides_of(shape), strides_of(padded_shape(op)))


def _kernel(op: OperatorInstance, target: Target) -> Kernel | View:
    del target
    source, result = input_type(op, 0), op.outputs[0]
    if source.elements == result.elements:
        return View(0)
    nest = _nest(op)
    offset = sum(
        before * stride for (before, _), stride in zip(paddings(op), strides_of(padded_shape(op)), strict=True)
    )
    quantization = result.quantization
    zero = quantization.zero_point if quantization and result.dtype in QUANTIZED else 0
    value = Input(2) if len(op.inputs) > 2 else ConstantArray.of("padding", np.array([zero]), result.dtype)
    fields = (
        ("rank", nest.rank),
        ("extent", nest.padded(nest.extents)),
        ("input_stride", nest.padded(nest.strides[0])),
        ("output_stride", nest.padded(nest.strides[1])),
        ("output_offset", offset),
        ("elements", result.elements),
    )
    function = f"tflmgen_pad_{result.dtype.bits}"
    return Kernel(function, HEADER, (Input(0), value, Output(0)), Params("tflmgen_pad", fields))


def _infer(op: OperatorInstance) -> tuple[Shape | None, ...]:
    return (padded_shape(op),)


def _has_one_quantization(op: OperatorInstance) -> bool:
    sources = [t for i, t in enumerate(op.inputs) if i != 1 and t is not None]
    return op.outputs[0].dtype not in QUANTIZED or all(same_quantization(t, op.outputs[0]) for t in sources)


def _value_range(op: OperatorInstance, inputs: Inputs) -> Outputs:
    x, kind = inputs[0], op.outputs[0]
    if x is None:
        return None
    if len(op.inputs) > 2:
        filled = inputs[2]
    else:
        zero = kind.quantization.zero_point if kind.quantization and kind.dtype in QUANTIZED else 0
        filled = Interval(np.array([zero]), np.array([zero]))
    if filled is None:
        return None
    *outer, (before, after) = paddings(op) or [(0, 0)]
    (low,), (high,) = filled.low, filled.high
    padded = Interval(
        np.pad(x.low, (before, after), constant_values=low), np.pad(x.high, (before, after), constant_values=high)
    )
    return [padded.join(filled.spread(len(padded.low))) if any(map(any, outer)) else padded]


def padding_rules(*table_types: DType) -> tuple[Rule, ...]:
    """Rules of operators that lay elements around a tensor, as a table of these types says."""
    return (
        *COMMON,
        SAME_MOVABLE_TYPE,
        input_is(1, "padding table", *table_types),
        constant(1, "padding table"),
        Rule(
            "a padding table of two numbers per dimension",
            lambda op: input_shape(op, 1) == (len(input_type(op, 0).shape), 2),
        ),
        Rule("paddings of at least 0", lambda op: min(constants_of(op, 1), default=0) >= 0),
        Rule("one scale and zero point for all quantised tensors", _has_one_quantization),
    )


RULES = (*padding_rules(DType.INT32, DType.INT64, DType.INT8, DType.INT16), fits(_nest))

VALUE_RULES = (
    *RULES,
    Rule("a padding value of the input's type", lambda op: input_type(op, 2).dtype is input_type(op, 0).dtype),
    Rule("a padding value of one element", lambda op: input_type(op, 2).elements == 1),
)

PAD = replace(BY_AXIS, pads=True, takes_nothing=True, roles=Roles(shapes=(1,)))

OPERATORS = (
    OperatorSpec("PAD", no_attributes, (2, 2), 1, RULES, _infer, _kernel, value_range=_value_range, traits=PAD),
    OperatorSpec("PADV2", no_attributes, (3, 3), 1, VALUE_RULES, _infer, _kernel, value_range=_value_range, traits=PAD),
)
