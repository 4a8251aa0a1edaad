"""Operators whose output depends on no elements, or on few: FILL, ZEROS_LIKE, SHAPE, RANK and RANGE."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Params, Target
from tflmgen.kernels.folding.fold_elements import Array, of_constants, operands, result
from tflmgen.kernels.operators.binary import SUFFIX
from tflmgen.kernels.operators.copying import MOVABLE, constants_of
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, Shape, no_attributes
from tflmgen.kernels.specification.rules import (
    COMMON,
    QUANTIZED,
    STATIC,
    input_is,
    input_shape,
    input_type,
    labels,
    output_is,
    same_quantization,
)
from tflmgen.kernels.traits import ELEMENTWISE, Roles, Traits

COPY = "copy.h"


def _filled(op: OperatorInstance) -> tuple[Shape | None, ...]:
    return (constants_of(op, 0) if op.constants[0] is not None else None,)


def _fill_kernel(op: OperatorInstance, value: Input | ConstantArray) -> Kernel:
    output = op.outputs[0]
    params = Params("tflmgen_fill", (("elements", output.elements),))
    return Kernel(f"tflmgen_fill_{output.dtype.bits}", COPY, (value, Output(0)), params)


def _fill(op: OperatorInstance, target: Target) -> Kernel:
    del target
    return _fill_kernel(op, Input(1))


def _zeros(op: OperatorInstance, target: Target) -> Kernel:
    """Zeros as numbers, whatever the zero point: so does TFLite Micro."""
    del target
    return _fill_kernel(op, ConstantArray.of("zero", np.array([0]), op.outputs[0].dtype))


Folded = Callable[[OperatorInstance], NDArray[Any]]


def _folded_kernel(folded: Folded) -> Callable[[OperatorInstance, Target], Kernel]:
    """Makes the kernel of an output that is known at build time but not folded away: a copy from flash."""

    def kernel(op: OperatorInstance, target: Target) -> Kernel:
        del target
        output = op.outputs[0]
        values = ConstantArray.of("values", folded(op), output.dtype)
        flat = (0,) * 5
        fields = (
            ("rank", 1),
            ("extent", (output.bytes, *flat)),
            ("input_stride", (1, *flat)),
            ("output_stride", (1, *flat)),
            ("input_offset", 0),
            ("output_offset", 0),
        )
        return Kernel("tflmgen_copy_rows", COPY, (values, Output(0)), Params("tflmgen_copy", fields))

    return kernel


def _shape_values(op: OperatorInstance) -> NDArray[Any]:
    return np.array(input_shape(op), op.outputs[0].dtype.numpy)


def _rank_value(op: OperatorInstance) -> NDArray[Any]:
    return np.array(len(input_type(op, 0).shape), op.outputs[0].dtype.numpy)


def _range_bounds(op: OperatorInstance) -> tuple[float, float, float] | None:
    """Start, limit and step, or None where one is known at run time only."""
    if any(c is None for c in op.constants):
        return None
    start, limit, step = (np.ravel(np.asarray(c))[0].item() for c in op.constants)
    return start, limit, step


def _ranged(op: OperatorInstance) -> tuple[Shape | None, ...]:
    bounds = _range_bounds(op)
    if bounds is None:
        return (None,)
    start, limit, step = bounds
    if isinstance(start, int):
        return ((max(0, -int((start - limit) // step)),),)
    return ((max(0, math.ceil((limit - start) / step)),),)


def _range(op: OperatorInstance, target: Target) -> Kernel:
    del target
    output = op.outputs[0]
    params = Params("tflmgen_range", (("elements", output.elements),))
    return Kernel(f"tflmgen_range_{SUFFIX[output.dtype]}", "range.h", (Input(0), Input(2), Output(0)), params)


def _range_values(op: OperatorInstance) -> list[NDArray[Any]] | None:
    bounds = _range_bounds(op)
    if bounds is None:
        return None
    start, _, step = bounds
    dtype, count = op.outputs[0].dtype.numpy, op.outputs[0].elements
    steps = np.full(count, step, dtype)
    steps[:1] = start
    return [np.cumsum(steps, dtype=dtype).astype(dtype)]


RANGE_TYPES = (DType.FLOAT32, DType.INT32, DType.INT64)

FILL_RULES = (
    *COMMON,
    input_is(0, "shape", DType.INT32, DType.INT64),
    Rule(
        f"a value and an output of one type: {labels(MOVABLE)}",
        lambda op: op.outputs[0].dtype in MOVABLE and input_type(op, 1).dtype is op.outputs[0].dtype,
    ),
    Rule("a single value", lambda op: input_type(op, 1).elements == 1),
    Rule(
        "one scale and zero point for a quantised value and the output",
        lambda op: op.outputs[0].dtype not in QUANTIZED or same_quantization(input_type(op, 1), op.outputs[0]),
    ),
    Rule("dimensions of at least 0", lambda op: op.constants[0] is None or min(constants_of(op, 0), default=0) >= 0),
)

ZEROS_RULES = (
    *COMMON,
    Rule(
        f"an input and an output of one type: {labels(MOVABLE)}",
        lambda op: op.outputs[0].dtype in MOVABLE and input_type(op, 0).dtype is op.outputs[0].dtype,
    ),
)

RANGE_RULES = (
    *COMMON,
    Rule(
        f"a start, limit, step and output of one type: {labels(RANGE_TYPES)}",
        lambda op: (
            op.outputs[0].dtype in RANGE_TYPES and all(input_type(op, i).dtype is op.outputs[0].dtype for i in range(3))
        ),
    ),
    Rule(
        "a start, limit and step of one element each", lambda op: all(input_type(op, i).elements == 1 for i in range(3))
    ),
    Rule("a step other than 0", lambda op: op.constants[2] is None or bool(np.all(op.constants[2]))),
    Rule("finite constant bounds", lambda op: all(c is None or bool(np.all(np.isfinite(c))) for c in op.constants)),
    Rule("an output of one dimension", lambda op: len(op.outputs[0].shape) == 1),
)


@of_constants
def _fold_fill(op: OperatorInstance) -> list[Array]:
    return result(op, np.full(op.outputs[0].max_shape, operands(op)[1]))


OPERATORS = (
    OperatorSpec(
        "FILL",
        no_attributes,
        (2, 2),
        1,
        FILL_RULES,
        _filled,
        _fill,
        fold=_fold_fill,
        traits=Traits(roles=Roles(shapes=(0,))),
    ),
    OperatorSpec(
        "ZEROS_LIKE",
        no_attributes,
        (1, 1),
        1,
        ZEROS_RULES,
        lambda op: (input_type(op, 0).shape,),
        _zeros,
        traits=ELEMENTWISE,
    ),
    OperatorSpec(
        "SHAPE",
        no_attributes,
        (1, 1),
        1,
        (STATIC, output_is(DType.INT32, DType.INT64)),
        lambda op: ((len(input_type(op, 0).shape),),),
        _folded_kernel(_shape_values),
        lambda op: [_shape_values(op)],
    ),
    OperatorSpec(
        "RANK",
        no_attributes,
        (1, 1),
        1,
        (STATIC, output_is(DType.INT32)),
        lambda _: ((),),
        _folded_kernel(_rank_value),
        lambda op: [_rank_value(op)],
    ),
    OperatorSpec(
        "RANGE",
        no_attributes,
        (3, 3),
        1,
        RANGE_RULES,
        _ranged,
        _range,
        _range_values,
        traits=Traits(roles=Roles(shapes=(0, 1, 2))),
    ),
)
