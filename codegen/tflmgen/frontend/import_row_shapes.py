"""Imports operators on dynamic shapes: SHAPE, RESHAPE, and operators whose output shape is an operand.

A RESHAPE that only splits or joins dimensions within a row moves no bytes. Any other one packs the elements in use and
spreads them over the new shape.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.import_build import Builder
from tflmgen.frontend.import_context import Context
from tflmgen.frontend.import_row_call import DynamicCall, RowError, bounded, checked
from tflmgen.frontend.import_row_wise import row_wise
from tflmgen.ir import DType, constant_array
from tflmgen.ir.graph import Value
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels import fold, traits_of
from tflmgen.kernels.numeric import MAX_RANK
from tflmgen.kernels.operators import Repeat

Outputs = tuple[Value, ...] | None


def is_sized_at_run_time(name: str, inputs: Sequence[Value | None]) -> bool:
    """Whether an operand that determines the output's shape is not constant."""
    operands = (inputs[index] for index in traits_of(name).roles.shapes if index < len(inputs))
    return any(value is not None and not value.is_constant for value in operands)


def track_sizes(
    context: Context, name: str, inputs: Sequence[Value | None], outputs: Sequence[Value], attributes: object
) -> None:
    """Records what is known of outputs computed from dynamic dimensions: upper bounds, and linear forms."""
    _track_largest(context, name, inputs, outputs, attributes)
    _track_linear(context, name, inputs, outputs, attributes)


def _track_largest(
    context: Context, name: str, inputs: Sequence[Value | None], outputs: Sequence[Value], attributes: object
) -> None:
    """Records the upper bounds of outputs computed from dynamic dimensions in Context.largest.

    The lesser of two numbers has one where either does; of no more numbers than a shape has, since all are computed.
    """
    traits = traits_of(name)
    is_lesser = traits.extreme < 0 and all(value.type.elements <= MAX_RANK for value in outputs)
    least = traits.monotone_from
    if least is None or not (is_lesser or any(v in context.largest for v in inputs if v is not None)):
        return
    if not all(v.type.dtype in (DType.INT32, DType.INT64) for v in outputs):
        return
    arrays = [_largest_of(context, v, is_lesser) for v in inputs if v is not None]
    if any(array is None or np.any(array < least) for array in arrays):
        return
    types = tuple(v.type if v is not None else None for v in inputs)
    largest = fold(name, OperatorInstance(types, tuple(v.type for v in outputs), tuple(arrays), attributes))
    for value, array in zip(outputs, largest or (), strict=False):
        if np.all(array < np.iinfo(array.dtype).max):
            context.largest[value] = np.asarray(array)


def _largest_of(context: Context, value: Value, is_lesser: bool) -> NDArray[Any] | None:
    """Upper bounds of a value's elements; for an operator that takes the lesser, those of its type if no others."""
    known = context.largest.get(value)
    known = constant_array(value, context.constants) if known is None else known
    if known is None and is_lesser:
        greatest = np.iinfo(np.int32 if value.type.dtype is DType.INT32 else np.int64).max
        known = np.full(tuple(value.type.max_shape), greatest, value.type.dtype.numpy)
    return known


def _track_linear(
    context: Context, name: str, inputs: Sequence[Value | None], outputs: Sequence[Value], attributes: object
) -> None:
    """Records outputs that are linear in dynamic dimensions in Context.linear, term by term.

    What moves, adds or converts elements does the same with the elements of each term.
    """
    traits, activation = traits_of(name), getattr(attributes, "activation", None)
    is_linear = traits.moves or traits.view or traits.adds or traits.converts
    is_clamped = traits.clamped and activation is not None and activation.value != 0
    if not is_linear or is_clamped or any(value.type.dtype not in (DType.INT32, DType.INT64) for value in outputs):
        return
    is_data = [bool(traits.joins or traits.adds) or index == traits.roles.data for index in range(len(inputs))]
    forms = [
        context.linear_form(value) if value is not None and data else None
        for value, data in zip(inputs, is_data, strict=True)
    ]
    if not any(form and set(form) - {None} for form in forms):
        return
    if any(data and form is None for data, form in zip(is_data, forms, strict=True)):
        return
    types = tuple(v.type if v is not None else None for v in inputs)
    terms = {}
    for term in dict.fromkeys(key for form in forms if form for key in form):
        arrays = tuple(
            constant_array(value, context.constants)
            if form is None
            else form.get(term, np.zeros(form[None].shape, form[None].dtype))
            for value, form in zip(inputs, forms, strict=True)
        )
        folded = fold(name, OperatorInstance(types, tuple(v.type for v in outputs), arrays, attributes))
        if folded is None:
            return
        terms[term] = [np.asarray(array) for array in folded]
    for index, value in enumerate(outputs):
        context.linear[value] = {term: arrays[index] for term, arrays in terms.items()}


def exact_extent(context: Context, terms: Sequence[tuple[Value, tuple[int, ...]] | Value | int]) -> int | None:
    """The sum of extents, numbers, and elements of values with a linear form, where the extents cancel; else None."""
    total: dict[Value | None, int] = {None: 0}
    for term in terms:
        if isinstance(term, tuple):
            value, place = term
            form = context.linear.get(value)
            if form is None:
                return None
            for key, array in form.items():
                total[key] = total.get(key, 0) + int(array[place])
        else:
            form = {None: np.array(term)} if isinstance(term, int) else context.linear_form(term)
            for key, array in (form or {}).items():
                total[key] = total.get(key, 0) + int(array)
    return total.pop(None) if not any(count for key, count in total.items() if key is not None) else None


def shape_of(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """SHAPE: extents of dynamic axes and constants of the others, as one vector."""
    output = checked(context, call, call.inputs).outputs[0]
    (value,) = (v for v in call.inputs if v is not None)
    shape = builder.shape(value)
    if output.dtype is not shape.type.dtype:
        shape = builder.cast(shape, output.dtype)
    context.largest[shape] = np.array(value.type.max_shape, output.dtype.numpy)
    extents, axes = context.extents.get(value, {}), np.arange(len(value.type.max_shape))
    fixed = [0 if axis in extents else size for axis, size in enumerate(value.type.max_shape)]
    form: dict[Value | None, NDArray[Any]] = {None: np.array(fixed, output.dtype.numpy)}
    for axis, extent in extents.items():
        form[extent] = form.get(extent, 0) + (axes == axis).astype(output.dtype.numpy)
    context.linear[shape] = form
    return (shape,)


def reshape(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """RESHAPE of dynamic rows, or to a computed shape; None if the operator must be imported as it stands."""
    value, shape = (*call.inputs, None)[:2]
    if value is None:
        return None
    if shape is None or shape.is_constant:
        try:
            return row_wise(context, builder, call)
        except RowError:
            pass
    numbers = _constant_shape(context, call, shape)
    viewed = _rows_joined(context, builder, call) if numbers is None else None
    if viewed is not None:
        return viewed
    rank = len(numbers) if numbers is not None else shape.type.elements if shape is not None else 0
    if shape is None or numbers is not None:
        shape = builder.integers("shape", numbers or ())
    elif shape.type.dtype is not DType.INT32:
        context.largest[(cast := builder.cast(shape, DType.INT32))] = context.largest.get(shape, np.full(rank, -1))
        shape = cast
    dims = known_dims(context, call, shape, numbers, rank)
    return (respread(builder, value, shape, _bounds(value, dims), dims),)


def _constant_shape(context: Context, call: DynamicCall, shape: Value | None) -> tuple[int, ...] | None:
    """The requested shape if it is constant; else None."""
    if shape is not None:
        array = constant_array(shape, context.constants)
        return None if array is None else tuple(int(n) for n in array.reshape(-1))
    return tuple(int(n) for n in (call.op.options or {}).get("new_shape") or ())


def _rows_joined(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """RESHAPE to a dynamic shape whose declared dimensions after the first are static: a view of the rows."""
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


def known_dims(
    context: Context, call: DynamicCall, shape: Value, numbers: Sequence[int] | None, rank: int
) -> list[tuple[int, bool]]:
    """Per dimension of the output: its upper bound (-1: unknown), and whether the bound is exact."""
    tensor = call.tensors[0]
    signature = numbers or tensor.shape_signature or tensor.shape
    largest = context.largest.get(shape)
    dims = []
    for axis in range(rank):
        if len(signature) == rank and signature[axis] >= 0 and (tensor.has_rank or numbers):
            dims.append((int(signature[axis]), True))
            continue
        bound = int(largest.reshape(-1)[axis]) if largest is not None and largest.size == rank else -1
        user_bound = call.max_dims.get(axis)
        dims.append((user_bound if user_bound is not None else bound, False))
    return dims


def _bounds(value: Value, dims: Sequence[tuple[int, bool]]) -> list[int]:
    """Upper bound of each dimension of a reshaped value, given its number of elements."""
    fixed = math.prod(size for size, is_exact in dims if is_exact)
    room = value.type.elements // fixed if fixed else 0
    return [size if is_exact else room if size < 0 else min(size, room) for size, is_exact in dims]


def respread(
    builder: Builder,
    value: Value,
    shape: Value,
    bounds: Sequence[int],
    max_dims: Sequence[tuple[int, bool]],
) -> Value:
    """Elements in use of `value` in the run-time shape `shape`, within `bounds`. Raises RowError over rank MAX_RANK."""
    if max(len(bounds), len(value.type.shape)) > MAX_RANK:
        raise RowError(f"a dynamic shape is supported up to {MAX_RANK} dimensions")
    resolved = builder.new_shape(builder.shape(value), builder.view(shape, (len(bounds),)))
    dims, extents = _limited(builder, resolved, bounds, [is_exact for _, is_exact in max_dims])
    dims_vector = builder.packed(dims)
    return builder.spread(builder.dense(value), value.type.with_shape(tuple(bounds)), dims_vector, extents)


def _limited(
    builder: Builder, shape: Value, bounds: Sequence[int], exact: Sequence[bool]
) -> tuple[list[Value], Mapping[int, Value]]:
    """Elements of a shape vector as checked extents, and those of the dynamic dimensions by axis."""
    dims = [
        builder.limited_extent(builder.element(shape, axis), maximum, maximum if is_exact else 0, is_exact)
        for axis, (maximum, is_exact) in enumerate(zip(bounds, exact, strict=True))
    ]
    return dims, {axis: dim for axis, dim in enumerate(dims) if not exact[axis]}


def fully_connected(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """FULLY_CONNECTED on a dynamic input of any rank: all dimensions but the last become rows of a matrix."""
    value, weights = (*call.inputs, None)[:2]
    if value is None or weights is None or len(weights.type.shape) != 2 or len(call.tensors[0].shape) != 2:
        return None
    extents = context.extents.get(value, {})
    depth = weights.type.max_shape[1]
    if not extents or max(extents) == 0 or depth == 0 or (len(value.type.shape) == 2 and 1 not in extents):
        return None
    dims = [(-1, False), (depth, True)]
    shape_value = builder.integers("shape", [-1, depth])
    matrix = respread(builder, value, shape_value, _bounds(value, dims), dims)
    return row_wise(context, builder, replace(call, inputs=(matrix, *call.inputs[1:])))


def broadcast_to(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """BROADCAST_TO of a dynamic operand: its rows are repeated; an error at run time unless they fit or are one."""
    value, shape = call.inputs[:2]
    if value is None or shape is None or value not in context.extents:
        return filled_shape(context, builder, call)
    rank, absent = shape.type.elements, shape.type.elements - len(value.type.shape)
    if absent < 0:
        return None
    array = constant_array(shape, context.constants)
    numbers = None if array is None else tuple(int(n) for n in array.reshape(-1))
    dynamic = {axis + absent for axis in context.extents[value]}
    bounds, exact = [], []
    for axis, (size, is_exact) in enumerate(known_dims(context, call, shape, numbers, rank)):
        largest = value.type.max_shape[axis - absent] if axis >= absent else 1
        is_fixed = is_exact or (axis not in dynamic and largest != 1)
        if size < 0 and not (axis in dynamic and context.bounds.largest is None):
            size = bounded(context, call, axis)
        bounds.append(largest if is_fixed and not is_exact else max(size, largest) if size < 0 else size)
        exact.append(is_fixed)
    wanted, extents = _limited(builder, shape, bounds, exact)
    for axis in sorted(dynamic):
        value = builder.repeat(value, wanted[axis], bounds[axis], Repeat(axis - absent, broadcast=True))
    (output,) = row_wise(context, builder, replace(call, inputs=(value, builder.integers("shape", bounds))))
    if extents:
        context.extents[output] = dict(extents)
    return (output,)


def filled_shape(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """FILL and BROADCAST_TO with a dynamic shape: they fill the largest one, and the extents follow from it."""
    (shape_index,) = traits_of(call.op.name).roles.shapes
    shape, operand = call.inputs[shape_index], call.inputs[1 - shape_index]
    if shape is None or operand is None or shape.is_constant or operand in context.extents:
        return None
    rank = shape.type.elements
    dims = known_dims(context, call, shape, None, rank)
    sizes = (1,) * (rank - len(operand.type.shape)) + operand.type.max_shape
    dims = [(size, True) if size != 1 else dim for dim, size in zip(dims, sizes, strict=True)]
    bounds = [size if size >= 0 else bounded(context, call, axis) for axis, (size, _) in enumerate(dims)]
    inputs = list(call.inputs)
    inputs[shape_index] = builder.integers("shape", bounds)
    (output,) = row_wise(context, builder, replace(call, inputs=tuple(inputs)))
    _, extents = _limited(builder, shape, bounds, [is_exact for _, is_exact in dims])
    if extents:
        context.extents[output] = dict(extents)
    return (output,)
