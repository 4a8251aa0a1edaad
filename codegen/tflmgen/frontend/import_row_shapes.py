"""Whole shapes known at run time only: SHAPE, RESHAPE, and outputs as large as an operand says.

A RESHAPE that only splits or joins what lies inside of rows keeps the bytes where they are. Any other one takes the
elements in use together, and spreads them over the new shape.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tflmgen.frontend.import_build import Builder
from tflmgen.frontend.import_context import Context
from tflmgen.frontend.import_row_call import RowCall, RowError, checked
from tflmgen.frontend.import_row_wise import row_wise
from tflmgen.ir import DType, OperatorInstance, TensorType, Value, constant_array
from tflmgen.kernels import MAX_RANK, fold

FROM_RUN_TIME = {"SLICE": (1, 2), "STRIDED_SLICE": (1, 2), "RESHAPE": (1,), "FILL": (0,), "BROADCAST_TO": (1,)}
"""Operators whose output may be as large as operands say that only the run time knows -> which of their inputs."""

MONOTONE_NAMES = (
    "ADD CAST CONCATENATION EXPAND_DIMS GATHER MAXIMUM MINIMUM MUL PACK REDUCE_MAX REDUCE_PROD RESHAPE SLICE SQUEEZE "
    "STRIDED_SLICE SUM"
)
MONOTONE = frozenset(MONOTONE_NAMES.split())
"""Operators on numbers from 0 on whose result is the larger, the larger these are."""

Outputs = tuple[Value, ...] | None


def is_sized_at_run_time(name: str, inputs: Sequence[Value | None]) -> bool:
    """Whether an operand from which the output's shape follows is known at run time only."""
    operands = (inputs[index] for index in FROM_RUN_TIME.get(name, ()) if index < len(inputs))
    return any(value is not None and not value.is_constant for value in operands)


def track_largest(
    context: Context, name: str, inputs: Sequence[Value | None], outputs: Sequence[Value], attributes: object
) -> None:
    """Context.largest for what is made of dimensions that are known at run time only."""
    if name not in MONOTONE or not any(v in context.largest for v in inputs if v is not None):
        return
    if not all(v.type.dtype in (DType.INT32, DType.INT64) for v in outputs):
        return
    arrays = [
        context.largest.get(v) if v in context.largest else constant_array(v, context.constants)
        for v in inputs
        if v is not None
    ]
    if any(array is None or (name in ("MUL", "REDUCE_PROD") and np.any(array < 0)) for array in arrays):
        return
    types = tuple(v.type if v is not None else None for v in inputs)
    found = fold(name, OperatorInstance(types, tuple(v.type for v in outputs), tuple(arrays), attributes))
    for value, array in zip(outputs, found or (), strict=False):
        context.largest[value] = np.asarray(array)


def shape_of(context: Context, builder: Builder, call: RowCall) -> Outputs:
    output = checked(context, call, call.inputs).outputs[0]
    (value,) = (v for v in call.inputs if v is not None)
    shape = builder.shape(value)
    if output.dtype is not shape.type.dtype:
        shape = builder.op("CAST", (shape,), output)
    context.largest[shape] = np.array(value.type.max_shape, output.dtype.numpy)
    return (shape,)


def reshape(context: Context, builder: Builder, call: RowCall) -> Outputs:
    value, wanted = (*call.inputs, None)[:2]
    if value is None:
        return None
    if wanted is None or wanted.is_constant:
        try:
            return row_wise(context, builder, call)
        except RowError:
            pass
    numbers = _constant_shape(context, call, wanted)
    joined = _rows_joined(context, builder, call) if numbers is None else None
    if joined is not None:
        return joined
    rank = len(numbers) if numbers is not None else wanted.type.elements if wanted is not None else 0
    if wanted is None or numbers is not None:
        wanted = builder.integers("shape", numbers or ())
    elif wanted.type.dtype is not DType.INT32:
        context.largest[(cast := builder.op("CAST", (wanted,), replace(wanted.type, dtype=DType.INT32)))] = (
            context.largest.get(wanted, np.full(rank, -1))
        )
        wanted = cast
    known = _known_dims(context, call, wanted, numbers, rank)
    return (respread(builder, value, wanted, _bounds(value, known), known),)


def _constant_shape(context: Context, call: RowCall, wanted: Value | None) -> tuple[int, ...] | None:
    """The shape that the file asks for where it does not come from the run time."""
    if wanted is not None:
        array = constant_array(wanted, context.constants)
        return None if array is None else tuple(int(n) for n in array.reshape(-1))
    return tuple(int(n) for n in (call.op.options or {}).get("new_shape") or ())


def _rows_joined(context: Context, builder: Builder, call: RowCall) -> Outputs:
    """A shape from the run time: the declared one, of which only the first dimension may be open, tells it all."""
    value = call.inputs[0]
    signature = call.tensors[0].shape_signature or ()
    if value is None or set(context.extents.get(value, {})) != {0} or signature[:1] != (-1,) or -1 in signature[1:]:
        return None
    row, rows = max(1, math.prod(signature[1:])), value.type.max_shape[0]
    if not rows or value.type.elements % (row * rows):
        return None
    shape = (value.type.elements // row, *signature[1:])
    viewed = builder.view(value, shape)
    context.extents[viewed] = {0: builder.times(builder.extent(value), shape[0] // rows)}
    return (viewed,)


def _known_dims(
    context: Context, call: RowCall, wanted: Value, numbers: Sequence[int] | None, rank: int
) -> list[tuple[int, bool]]:
    """Of each dimension what it is at most (-1: not known), and whether it is that."""
    tensor = call.tensors[0]
    signature = numbers or tensor.shape_signature or tensor.shape
    largest = context.largest.get(wanted)
    known = []
    for axis in range(rank):
        if len(signature) == rank and signature[axis] >= 0 and (tensor.has_rank or numbers):
            known.append((int(signature[axis]), True))
            continue
        bound = int(largest.reshape(-1)[axis]) if largest is not None and largest.size == rank else -1
        given = call.most.get(axis)
        known.append((given if given is not None else bound, False))
    return known


def _bounds(value: Value, known: Sequence[tuple[int, bool]]) -> list[int]:
    """The most that each dimension of a reshaped value can be."""
    fixed = math.prod(size for size, is_exact in known if is_exact)
    room = value.type.elements // fixed if fixed else 0
    return [size if is_exact else room if size < 0 else min(size, room) for size, is_exact in known]


def respread(
    builder: Builder,
    value: Value,
    wanted: Value,
    bounds: Sequence[int],
    known: Sequence[tuple[int, bool]],
) -> Value:
    """The elements of `value` that are in use in the shape `wanted`, which has at most these dimensions."""
    if max(len(bounds), len(value.type.shape)) > MAX_RANK:
        raise RowError(f"a shape known at run time only has at most {MAX_RANK} dimensions here")
    resolved = builder.new_shape(builder.shape(value), builder.view(wanted, (len(bounds),)))
    dims, extents = _limited(builder, resolved, bounds, [is_exact for _, is_exact in known])
    shape = builder.op("PACK", dims, TensorType(DType.INT32, (len(dims),)), {"values_count": len(dims), "axis": 0})
    return builder.spread(builder.dense(value), value.type.with_shape(tuple(bounds)), shape, extents)


def _limited(
    builder: Builder, shape: Value, bounds: Sequence[int], exact: Sequence[bool]
) -> tuple[list[Value], Mapping[int, Value]]:
    """The dimensions in a vector as extents that are within bounds; those that are dynamic by axis."""
    dims = [
        builder.limit(builder.element(shape, axis), most, is_exact, is_exact)
        for axis, (most, is_exact) in enumerate(zip(bounds, exact, strict=True))
    ]
    return dims, {axis: dim for axis, dim in enumerate(dims) if not exact[axis]}


def fully_connected(context: Context, builder: Builder, call: RowCall) -> Outputs:
    """Of an input of more than two dimensions all but the last become rows of one matrix."""
    value, weights = (*call.inputs, None)[:2]
    if value is None or weights is None or len(weights.type.shape) != 2 or len(call.tensors[0].shape) != 2:
        return None
    extents = context.extents.get(value, {})
    depth = weights.type.max_shape[1]
    if not extents or max(extents) == 0 or depth == 0 or (len(value.type.shape) == 2 and 1 not in extents):
        return None
    known = [(-1, False), (depth, True)]
    shape = builder.integers("shape", [-1, depth])
    matrix = respread(builder, value, shape, _bounds(value, known), known)
    return row_wise(context, builder, replace(call, inputs=(matrix, *call.inputs[1:])))


def filled_shape(context: Context, builder: Builder, call: RowCall) -> Outputs:
    """FILL and BROADCAST_TO with a shape from the run time: they fill the largest one."""
    at = 0 if call.op.name == "FILL" else 1
    wanted, other = call.inputs[at], call.inputs[1 - at]
    if wanted is None or other is None or wanted.is_constant or other in context.extents:
        return None
    rank = wanted.type.elements
    known = _known_dims(context, call, wanted, None, rank)
    sizes = (1,) * (rank - len(other.type.shape)) + other.type.max_shape
    known = [(size, True) if size != 1 else one for one, size in zip(known, sizes, strict=True)]
    for axis, (size, _) in enumerate(known):
        if size < 0:
            name = call.tensors[0].name
            rule = f"how large axis {axis} of '{name}' may become is not known: bound it with --max-shape or --max-dim"
            raise RowError(rule)
    bounds = [size for size, _ in known]
    inputs = list(call.inputs)
    inputs[at] = builder.integers("shape", bounds)
    (output,) = row_wise(context, builder, replace(call, inputs=tuple(inputs)))
    _, extents = _limited(builder, wanted, bounds, [is_exact for _, is_exact in known])
    if extents:
        context.extents[output] = dict(extents)
    return (output,)
