"""GATHER, GATHER_ND and SCATTER_ND."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Params, Target
from tflmgen.kernels.folding.fold_elements import Array, of_constants, operands, result
from tflmgen.kernels.numeric.strides import MAX_RANK, Ints, normalize_axis, strides_of
from tflmgen.kernels.operators.binary import SUFFIX
from tflmgen.kernels.operators.copying import MOVABLE, constants_of
from tflmgen.kernels.operators.mapped_copy import run_copy
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, Shape, no_attributes
from tflmgen.kernels.specification.rules import (
    COMMON,
    QUANTIZED,
    axis_rule,
    input_is,
    input_shape,
    input_type,
    same_quantization,
    static_shape,
)
from tflmgen.kernels.traits import BY_AXIS, MONOTONE, Roles, Traits

HEADER = "gather.h"


@dataclass(frozen=True, slots=True)
class GatherAxis:
    """The gathered axis (negative: from the end) and how many leading dimensions the indices share with the input."""

    axis: int
    batch_dims: int


def _parse(options: Options | None) -> GatherAxis:
    fields = options or {}
    return GatherAxis(int(fields.get("axis", 0)), int(fields.get("batch_dims", 0)))


def _axis(op: OperatorInstance) -> int | None:
    return normalize_axis(op.attributes.axis, len(input_shape(op, 0)))


def _batch_dims(op: OperatorInstance) -> int | None:
    """Number of shared leading dimensions, or None where the axis or the indices leave no room for them."""
    axis, rank = _axis(op), len(input_shape(op, 1))
    batch_dims = op.attributes.batch_dims
    count = batch_dims + rank if batch_dims < 0 else batch_dims
    if axis is None or not 0 <= count <= min(axis, rank):
        return None
    return int(count) if input_shape(op, 0)[:count] == input_shape(op, 1)[:count] else None


def _gather(op: OperatorInstance, target: Target) -> Kernel:
    del target
    shape, indices = input_shape(op, 0), input_shape(op, 1)
    axis, batches = _axis(op) or 0, _batch_dims(op) or 0
    if op.constants[1] is not None and len(indices) == 1 and not batches and len(shape) <= MAX_RANK:
        places = [tuple(range(size)) for size in shape]
        places[axis] = tuple(constants_of(op, 1))
        copied = run_copy(op, places)
        if copied is not None:
            return copied
    fields = (
        ("batches", math.prod(shape[:batches])),
        ("outer", math.prod(shape[batches:axis])),
        ("axis", shape[axis]),
        ("indices", math.prod(indices[batches:])),
        ("block_bytes", math.prod(shape[axis + 1 :]) * input_type(op, 0).dtype.bits // 8),
    )
    function = f"tflmgen_gather_{SUFFIX[input_type(op, 1).dtype]}"
    return Kernel(function, HEADER, (Input(0), Input(1), Output(0)), Params("tflmgen_gather", fields))


def _gathered(op: OperatorInstance) -> tuple[Shape | None, ...]:
    shape, axis = input_shape(op, 0), _axis(op) or 0
    return ((*shape[:axis], *input_shape(op, 1)[_batch_dims(op) or 0 :], *shape[axis + 1 :]),)


def _depth(op: OperatorInstance, indices: int) -> int:
    return input_shape(op, indices)[-1]


def _padded(values: Ints) -> Ints:
    return values + (0,) * (MAX_RANK - len(values))


def _gather_nd(op: OperatorInstance, target: Target) -> Kernel:
    del target
    shape, depth = input_shape(op, 0), _depth(op, 1)
    size = input_type(op, 0).dtype.bits // 8
    fields = (
        ("points", math.prod(input_shape(op, 1)[:-1])),
        ("depth", depth),
        ("dimension", _padded(shape[:depth])),
        ("stride", _padded(tuple(s * size for s in strides_of(shape)[:depth]))),
        ("block_bytes", math.prod(shape[depth:]) * size),
    )
    function = f"tflmgen_gather_nd_{SUFFIX[input_type(op, 1).dtype]}"
    return Kernel(function, HEADER, (Input(0), Input(1), Output(0)), Params("tflmgen_gather_nd", fields))


def _scatter_shape(op: OperatorInstance) -> Ints:
    """The wanted shape; the declared one where it is known at run time only."""
    return constants_of(op, 2) if op.constants[2] is not None else static_shape(op.outputs[0])


def _scatter_nd(op: OperatorInstance, target: Target) -> Kernel:
    del target
    shape, depth = _scatter_shape(op), _depth(op, 0)
    fields = (
        ("points", math.prod(input_shape(op, 0)[:-1])),
        ("depth", depth),
        ("dimension", _padded(shape[:depth])),
        ("stride", _padded(strides_of(shape)[:depth])),
        ("block", math.prod(shape[depth:])),
        ("elements", math.prod(shape)),
    )
    function = f"tflmgen_scatter_nd_{SUFFIX[input_type(op, 1).dtype]}"
    return Kernel(function, HEADER, (Input(0), Input(1), Output(0)), Params("tflmgen_scatter_nd", fields))


def _scattered(op: OperatorInstance) -> tuple[Shape | None, ...]:
    return (_scatter_shape(op) if op.constants[2] is not None else None,)


def _in_range(op: OperatorInstance, at: int, extent: int) -> bool:
    return op.constants[at] is None or all(0 <= v < extent for v in constants_of(op, at))


def _points_in_range(op: OperatorInstance) -> bool:
    values, depth = op.constants[1], _depth(op, 1)
    if values is None:
        return True
    shape = input_shape(op, 0)
    return all(0 <= int(v) < shape[i % depth] for i, v in enumerate(values.reshape(-1)))


def _same_type(source: int) -> Rule:
    return Rule(
        "an output with the input's type, scale and zero point",
        lambda op: (
            input_type(op, source).dtype in MOVABLE
            and op.outputs[0].dtype is input_type(op, source).dtype
            and (op.outputs[0].dtype not in QUANTIZED or same_quantization(op.outputs[0], input_type(op, source)))
        ),
    )


INDEX_TYPES = (DType.INT32, DType.INT64, DType.INT16)

GATHER_RULES = (
    *COMMON,
    _same_type(0),
    input_is(1, "index tensor", *INDEX_TYPES),
    axis_rule(lambda op: op.attributes.axis, lambda op: len(input_shape(op, 0))),
    Rule("input and indices whose first batch_dims dimensions are equal", lambda op: _batch_dims(op) is not None),
    Rule("a gathered axis of at least one element", lambda op: input_shape(op, 0)[_axis(op) or 0] > 0),
    Rule(
        "constant indices within the range of their dimension",
        lambda op: _in_range(op, 1, input_shape(op, 0)[_axis(op) or 0]),
    ),
)

GATHER_ND_RULES = (
    *COMMON,
    _same_type(0),
    input_is(1, "index tensor", *INDEX_TYPES),
    Rule(
        f"indices with a last dimension of at most the input's rank, and at most {MAX_RANK}",
        lambda op: len(input_shape(op, 1)) >= 1 and _depth(op, 1) <= min(len(input_shape(op, 0)), MAX_RANK),
    ),
    Rule("an input of at least one element", lambda op: input_type(op, 0).elements > 0),
    Rule("constant indices within the range of their dimension", _points_in_range),
)

SCATTER_TYPES = (DType.FLOAT32, DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64, DType.BOOL)

SCATTER_ND_RULES = (
    *COMMON,
    input_is(0, "index tensor", DType.INT32),
    input_is(1, "update tensor", *SCATTER_TYPES),
    input_is(2, "shape", DType.INT32),
    _same_type(1),
    Rule(
        f"indices with a last dimension of at most the output's rank, and at most {MAX_RANK}",
        lambda op: len(input_shape(op, 0)) >= 1 and _depth(op, 0) <= min(len(_scatter_shape(op)), MAX_RANK),
    ),
    Rule("output dimensions of at least 0", lambda op: min(_scatter_shape(op), default=0) >= 0),
    Rule(
        "one update per index, as large as the output's remaining dimensions",
        lambda op: input_shape(op, 1) == input_shape(op, 0)[:-1] + _scatter_shape(op)[_depth(op, 0) :],
    ),
)


def _is_row_wise(op: OperatorInstance, axis: int) -> bool:
    """Points stay apart, and so do the elements of what each of them picks."""
    del op, axis
    return True


@of_constants
def _fold_gather(op: OperatorInstance) -> list[Array] | None:
    source, indices = operands(op)
    axis = normalize_axis(op.attributes.axis, source.ndim)
    if op.attributes.batch_dims or axis is None:
        return None
    return result(op, np.take(source, indices, axis, mode="clip"))


OPERATORS = (
    OperatorSpec(
        "GATHER",
        _parse,
        (2, 2),
        1,
        GATHER_RULES,
        _gathered,
        _gather,
        fold=_fold_gather,
        traits=replace(BY_AXIS, monotone_from=MONOTONE, roles=Roles(table=0)),
    ),
    OperatorSpec(
        "GATHER_ND",
        no_attributes,
        (2, 2),
        1,
        GATHER_ND_RULES,
        lambda op: (input_shape(op, 1)[:-1] + input_shape(op, 0)[_depth(op, 1) :],),
        _gather_nd,
        traits=Traits(row_wise=_is_row_wise),
    ),
    OperatorSpec(
        "SCATTER_ND",
        no_attributes,
        (3, 3),
        1,
        SCATTER_ND_RULES,
        _scattered,
        _scatter_nd,
        traits=Traits(roles=Roles(shapes=(2,)), fills_with_0=True),
    ),
)
