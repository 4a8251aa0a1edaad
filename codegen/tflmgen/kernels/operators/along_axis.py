"""ARG_MAX, ARG_MIN, CUMSUM, TOPK_V2, ONE_HOT and L2_NORMALIZATION."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.ir import DType, Quantization
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Overlap, Params, Target
from tflmgen.kernels.numeric.int8_tables import sum_scale_of
from tflmgen.kernels.numeric.quantize_math import quantize_multiplier
from tflmgen.kernels.numeric.strides import Ints, normalize_axis
from tflmgen.kernels.operators.binary import SUFFIX, Fields
from tflmgen.kernels.operators.copying import MOVABLE, constants_of
from tflmgen.kernels.operators.row_wise import not_last_axis, not_named_axis
from tflmgen.kernels.ranges.intervals import Inputs, Outputs, channels_of, whole
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, Shape, no_attributes
from tflmgen.kernels.specification.rules import (
    COMMON,
    QUANTIZED,
    QUANTIZED_PER_TENSOR,
    axis_rule,
    constant,
    fixed_int8,
    input_is,
    input_shape,
    input_type,
    labels,
    one_type,
    output_is,
    same_quantization,
    zero_point,
)
from tflmgen.kernels.traits import BY_AXIS, Roles, Traits

HEADER = "along_axis.h"
ORDERED = (DType.FLOAT32, DType.INT8, DType.UINT8, DType.INT16, DType.INT32)


@dataclass(frozen=True, slots=True)
class Direction:
    """CUMSUM: whether sums leave out the element where they stand, and whether they run from the end."""

    exclusive: bool
    reverse: bool


@dataclass(frozen=True, slots=True)
class NewAxis:
    """ONE_HOT: where the output's new dimension is (-1: last)."""

    axis: int


def _extents_around(shape: Ints, axis: int) -> Fields:
    return (
        ("outer", math.prod(shape[:axis])),
        ("axis", shape[axis]),
        ("inner", math.prod(shape[axis + 1 :])),
    )


def _axis(op: OperatorInstance) -> int | None:
    return normalize_axis(constants_of(op, 1)[0], len(input_shape(op)))


def _without_axis(op: OperatorInstance) -> tuple[Shape | None, ...]:
    shape, axis = input_shape(op), _axis(op) or 0
    return (shape[:axis] + shape[axis + 1 :],)


def _arg(name: str) -> Callable[[OperatorInstance, Target], Kernel]:
    def kernel(op: OperatorInstance, target: Target) -> Kernel:
        del target
        function = f"tflmgen_{name}_{SUFFIX[input_type(op, 0).dtype]}_{SUFFIX[op.outputs[0].dtype]}"
        params = Params("tflmgen_axis", _extents_around(input_shape(op), _axis(op) or 0))
        return Kernel(function, HEADER, (Input(0), Output(0)), params)

    return kernel


def _parse_cumsum(options: Options | None) -> Direction:
    fields = options or {}
    return Direction(bool(fields.get("exclusive", False)), bool(fields.get("reverse", False)))


def _cumsum(op: OperatorInstance, target: Target) -> Kernel:
    del target
    dtype = op.outputs[0].dtype
    struct = "tflmgen_cumsum"
    fields: Fields = (
        *_extents_around(input_shape(op), _axis(op) or 0),
        ("exclusive", op.attributes.exclusive),
        ("reverse", op.attributes.reverse),
    )
    if dtype is DType.INT8:
        multiplier, shift = quantize_multiplier(sum_scale_of(op))
        struct = "tflmgen_cumsum_s8"
        fields += (
            ("input_offset", -zero_point(input_type(op, 0))),
            ("output_offset", zero_point(op.outputs[0])),
            ("multiplier", multiplier),
            ("shift", shift),
        )
    function = f"tflmgen_cumsum_{SUFFIX[dtype]}"
    # Elements are walked in the order of memory only along the last axis, from its beginning.
    is_forward = dict(fields)["inner"] == 1 and not op.attributes.reverse
    return Kernel(
        function, HEADER, (Input(0), Output(0)), Params(struct, fields), (Overlap(0, 0, exact=not is_forward),)
    )


def _top_k(op: OperatorInstance, target: Target) -> Kernel:
    del target
    shape, k = input_shape(op), constants_of(op, 1)[0]
    params = Params("tflmgen_top_k", (("rows", math.prod(shape[:-1])), ("length", shape[-1]), ("k", k)))
    function = f"tflmgen_top_k_{SUFFIX[input_type(op, 0).dtype]}"
    return Kernel(function, HEADER, (Input(0), Output(0), Output(1)), params)


def _top_shapes(op: OperatorInstance) -> tuple[Shape | None, ...]:
    return ((*input_shape(op)[:-1], constants_of(op, 1)[0]),) * 2


def _parse_one_hot(options: Options | None) -> NewAxis:
    return NewAxis(int((options or {}).get("axis", -1)))


def _new_axis(op: OperatorInstance) -> int | None:
    return normalize_axis(op.attributes.axis, len(input_shape(op)) + 1)


def _one_hot_shape(op: OperatorInstance) -> Ints:
    shape, axis = input_shape(op), _new_axis(op) or 0
    return (*shape[:axis], constants_of(op, 1)[0], *shape[axis:])


def _one_hot(op: OperatorInstance, target: Target) -> Kernel:
    del target
    function = f"tflmgen_one_hot_{SUFFIX[input_type(op, 0).dtype]}_{op.outputs[0].dtype.bits}"
    params = Params("tflmgen_axis", _extents_around(_one_hot_shape(op), _new_axis(op) or 0))
    return Kernel(function, HEADER, (Input(0), Input(2), Input(3), Output(0)), params)


def _parse_normalization(options: Options | None) -> None:
    if (options or {}).get("fused_activation_function", 0):
        raise ValueError("a fused activation is not supported")


def _normalization(op: OperatorInstance, target: Target) -> Kernel:
    del target
    source = input_type(op, 0)
    fields = (
        ("rows", math.prod(input_shape(op)[:-1])),
        ("length", input_shape(op)[-1]),
        ("input_offset", -zero_point(source) if source.dtype is DType.INT8 else 0),
    )
    function = f"tflmgen_l2_normalization_{SUFFIX[source.dtype]}"
    params = Params("tflmgen_l2_normalization", fields)
    return Kernel(function, HEADER, (Input(0), Output(0)), params, (Overlap(0, 0),))


def _axis_rules(*index_types: DType) -> tuple[Rule, ...]:
    return (
        input_is(1, "axis", *index_types),
        constant(1, "axis"),
        Rule("an axis that is a single value", lambda op: input_type(op, 1).elements == 1),
        axis_rule(lambda op: constants_of(op, 1)[0], lambda op: len(input_shape(op))),
    )


ARG_RULES = (
    *COMMON,
    input_is(0, "input", *ORDERED, DType.BOOL),
    output_is(DType.INT32, DType.INT64),
    *_axis_rules(DType.INT32, DType.INT64),
    Rule("an axis of at least one element", lambda op: input_shape(op)[_axis(op) or 0] > 0),
)

CUMSUM_TYPES = (DType.FLOAT32, DType.INT8, DType.INT32, DType.INT64)

CUMSUM_RULES = (
    *COMMON,
    Rule(
        f"an input and an output of one type: {labels(CUMSUM_TYPES)}",
        lambda op: op.outputs[0].dtype in CUMSUM_TYPES and input_type(op, 0).dtype is op.outputs[0].dtype,
    ),
    *_axis_rules(DType.INT32),
    QUANTIZED_PER_TENSOR,
    Rule(
        "an output scale of more than 2^-19 of the input scale",
        lambda op: op.outputs[0].dtype is not DType.INT8 or quantize_multiplier(sum_scale_of(op))[1] <= 0,
    ),
)

TOP_K_TYPES = (DType.FLOAT32, DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64)

TOP_K_RULES = (
    *COMMON,
    Rule(
        f"an input and a first output of one type: {labels(TOP_K_TYPES)}",
        lambda op: op.outputs[0].dtype in TOP_K_TYPES and input_type(op, 0).dtype is op.outputs[0].dtype,
    ),
    Rule("a second output of int32", lambda op: op.outputs[1].dtype is DType.INT32),
    Rule(
        "an output with the input's scale and zero point",
        lambda op: op.outputs[0].dtype not in QUANTIZED or same_quantization(op.outputs[0], input_type(op, 0)),
    ),
    input_is(1, "number of elements", DType.INT32),
    constant(1, "number of elements"),
    Rule("a number of elements (k) that is a single value", lambda op: input_type(op, 1).elements == 1),
    Rule(
        "a number of elements (k) from 1 to the last dimension",
        lambda op: len(input_shape(op)) >= 1 and 1 <= constants_of(op, 1)[0] <= input_shape(op)[-1],
    ),
)

ONE_HOT_RULES = (
    *COMMON,
    input_is(0, "index tensor", DType.INT32, DType.INT64),
    input_is(1, "depth", DType.INT32),
    constant(1, "depth"),
    Rule(
        "a depth that is a single value, at least 0",
        lambda op: len(constants_of(op, 1)) == 1 and constants_of(op, 1)[0] >= 0,
    ),
    Rule(
        "an on value and an off value of the output's type",
        lambda op: (
            op.outputs[0].dtype in MOVABLE and all(input_type(op, i).dtype is op.outputs[0].dtype for i in (2, 3))
        ),
    ),
    Rule(
        "an on value and an off value of one element each",
        lambda op: all(input_type(op, i).elements == 1 for i in (2, 3)),
    ),
    axis_rule(lambda op: op.attributes.axis, lambda op: len(input_shape(op)) + 1, "its output"),
)

UNIT_RESULT = Quantization((1 / 128,), (0,))
"""Quantisation of the int8 elements of vectors of length 1."""

NORMALIZATION_RULES = (
    *COMMON,
    one_type(DType.FLOAT32, DType.INT8),
    QUANTIZED_PER_TENSOR,
    Rule(
        "an input with a last dimension of less than 2^15",
        lambda op: len(input_shape(op)) >= 1 and input_shape(op)[-1] < 2**15,
    ),
    fixed_int8(UNIT_RESULT),
)


def _is_cumulated_forwards(op: OperatorInstance, axis: int) -> bool:
    """A CUMSUM along another axis, or from its begin."""
    return not op.attributes.reverse or not_named_axis(op, axis)


def _indices(op: OperatorInstance, inputs: Inputs) -> Outputs:
    """Places along a known axis."""
    del inputs
    kind, axis = whole(op.outputs[0]), op.constants[1]
    if kind is None or axis is None:
        return None
    return [kind.meet(0, input_type(op, 0).max_shape[int(np.ravel(axis)[0])] - 1)]


def _on_or_off(op: OperatorInstance, inputs: Inputs) -> Outputs:
    """The value on and the value off, wherever they are."""
    on, off = inputs[2], inputs[3]
    return None if on is None or off is None else [on.join(off).spread(channels_of(op.outputs[0]))]


OPERATORS = (
    *(
        OperatorSpec(
            name.upper(),
            no_attributes,
            (2, 2),
            1,
            ARG_RULES,
            _without_axis,
            _arg(name),
            value_range=_indices,
            traits=Traits(row_wise=not_named_axis, along_named=True, neutral=worst),
        )
        for name, worst in (("arg_max", -math.inf), ("arg_min", math.inf))
    ),
    OperatorSpec(
        "CUMSUM",
        _parse_cumsum,
        (2, 2),
        1,
        CUMSUM_RULES,
        lambda op: (input_shape(op),),
        _cumsum,
        traits=Traits(row_wise=_is_cumulated_forwards, neutral=0),
    ),
    OperatorSpec(
        "TOPK_V2",
        no_attributes,
        (2, 2),
        2,
        TOP_K_RULES,
        _top_shapes,
        _top_k,
        traits=Traits(row_wise=not_last_axis, roles=Roles(shapes=(1,))),
    ),
    OperatorSpec(
        "ONE_HOT",
        _parse_one_hot,
        (4, 4),
        1,
        ONE_HOT_RULES,
        lambda op: (_one_hot_shape(op),),
        _one_hot,
        value_range=_on_or_off,
        traits=replace(BY_AXIS, ignores_scales=True),
    ),
    OperatorSpec(
        "L2_NORMALIZATION",
        _parse_normalization,
        (1, 1),
        1,
        NORMALIZATION_RULES,
        lambda op: (input_shape(op),),
        _normalization,
        fixed={DType.INT8: UNIT_RESULT},
        traits=Traits(row_wise=not_last_axis, along_last=True, neutral=0),
    ),
)
