"""SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND, over one or two dimensions of space."""

from __future__ import annotations

import math

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Params, ParamValue, Target
from tflmgen.kernels.numeric.strides import Ints
from tflmgen.kernels.operators.copying import SAME_MOVABLE_TYPE, constants_of
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, no_attributes
from tflmgen.kernels.specification.rules import (
    COMMON,
    QUANTIZED,
    SAME_QUANTIZATION,
    constant,
    input_is,
    input_shape,
    input_type,
)
from tflmgen.kernels.traits import Roles, Traits

HEADER = "space_batch.h"


def _block(op: OperatorInstance) -> Ints:
    return constants_of(op, 1)


def _edges(op: OperatorInstance) -> list[tuple[int, int]]:
    """Padding (or cropping) before and after each dimension of space."""
    values = constants_of(op, 2)
    return list(zip(values[::2], values[1::2], strict=True))


def _to_batch_shape(op: OperatorInstance) -> Ints:
    shape, block = input_shape(op), _block(op)
    spatial = zip(shape[1:], block, _edges(op), strict=False)
    rest = shape[1 + len(block) :]
    return (shape[0] * math.prod(block), *((d + before + after) // b for d, b, (before, after) in spatial), *rest)


def _to_space_shape(op: OperatorInstance) -> Ints:
    shape, block = input_shape(op), _block(op)
    spatial = zip(shape[1:], block, _edges(op), strict=False)
    rest = shape[1 + len(block) :]
    return (shape[0] // math.prod(block), *(d * b - before - after for d, b, (before, after) in spatial), *rest)


def _fields(op: OperatorInstance, space: Ints, batch: Ints) -> tuple[tuple[str, ParamValue], ...]:
    block, edges = _block(op), _edges(op)
    single = len(block) == 1
    return (
        ("space_batches", space[0]),
        ("space_height", space[1]),
        ("space_width", 1 if single else space[2]),
        ("batch_height", batch[1]),
        ("batch_width", 1 if single else batch[2]),
        ("block_height", block[0]),
        ("block_width", 1 if single else block[1]),
        ("top", edges[0][0]),
        ("left", 0 if single else edges[1][0]),
        ("pixel_bytes", math.prod(space[1 + len(block) :]) * input_type(op, 0).dtype.bits // 8),
    )


def _to_batch(op: OperatorInstance, target: Target) -> Kernel:
    del target
    shape, output = input_shape(op), op.outputs[0]
    zero = output.quantization.zero_point if output.quantization and output.dtype in QUANTIZED else 0
    pixel = ConstantArray.of("padding", np.full(math.prod(shape[1 + len(_block(op)) :]), zero), output.dtype)
    params = Params("tflmgen_space_batch", _fields(op, shape, _to_batch_shape(op)))
    return Kernel("tflmgen_space_to_batch", HEADER, (Input(0), pixel, Output(0)), params)


def _to_space(op: OperatorInstance, target: Target) -> Kernel:
    del target
    params = Params("tflmgen_space_batch", _fields(op, _to_space_shape(op), input_shape(op)))
    return Kernel("tflmgen_batch_to_space", HEADER, (Input(0), Output(0)), params)


def _is_after_space(op: OperatorInstance, axis: int) -> bool:
    """Batches and space are rearranged; only what lies after them is kept apart."""
    return axis > len(_block(op))


TRAITS = Traits(row_wise=_is_after_space, roles=Roles(shapes=(2,)))


SHARED = (
    *COMMON,
    SAME_MOVABLE_TYPE,
    SAME_QUANTIZATION,
    input_is(1, "block shape", DType.INT32, DType.INT64),
    constant(1, "block shape"),
    input_is(2, "table of paddings or crops", DType.INT32, DType.INT64),
    constant(2, "table of paddings or crops"),
    Rule(
        "a block of 1 or 2 dimensions, and an input of at least one dimension more",
        lambda op: len(_block(op)) in (1, 2) and len(input_shape(op)) > len(_block(op)),
    ),
    Rule("block dimensions of at least 1", lambda op: min(_block(op)) >= 1),
    Rule(
        "a table of two numbers per block dimension, each at least 0",
        lambda op: input_shape(op, 2) == (len(_block(op)), 2) and min(constants_of(op, 2)) >= 0,
    ),
)

TO_BATCH_RULES = (
    *SHARED,
    Rule(
        "padded dimensions that are multiples of their block dimensions",
        lambda op: all(
            (d + sum(e)) % b == 0 for d, b, e in zip(input_shape(op)[1:], _block(op), _edges(op), strict=False)
        ),
    ),
)

TO_SPACE_RULES = (
    *SHARED,
    Rule(
        "a number of batches that is a multiple of the block's elements",
        lambda op: input_shape(op)[0] % math.prod(_block(op)) == 0,
    ),
    Rule("crops that leave at least one element of each dimension", lambda op: min(_to_space_shape(op)) > 0),
)

TO_BATCH_FAULT = (
    "it fills the padding with what its memory happens to hold, since it never sets the value to pad with. LiteRT's "
    "kernels, the reference and the optimised one, pad with the zero point, as ours does"
)

OPERATORS = (
    OperatorSpec(
        "SPACE_TO_BATCH_ND",
        no_attributes,
        (3, 3),
        1,
        TO_BATCH_RULES,
        lambda op: (_to_batch_shape(op),),
        _to_batch,
        fault=TO_BATCH_FAULT,
        traits=TRAITS,
    ),
    OperatorSpec(
        "BATCH_TO_SPACE_ND",
        no_attributes,
        (3, 3),
        1,
        TO_SPACE_RULES,
        lambda op: (_to_space_shape(op),),
        _to_space,
        traits=TRAITS,
    ),
)
