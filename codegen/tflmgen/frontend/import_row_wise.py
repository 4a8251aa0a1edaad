"""Imports row-wise operators on dynamic tensors: each output row depends on one input row, so they compute all rows.

Dimensions of several inputs that must be equal (of the operands of ADD, for example) form a group. The group gets one
size, and a run-time check compares its extents. The output axis of a group is found by inferring the output shapes
again with one more row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tflmgen.frontend.import_build import Builder
from tflmgen.frontend.import_context import Context
from tflmgen.frontend.import_row_call import DynamicCall, Inputs, RowError, check_rows, checked, define
from tflmgen.frontend.operator_check import CheckedOperator
from tflmgen.ir.graph import Op, Value
from tflmgen.kernels import Traits, instance_of, traits_of
from tflmgen.kernels.numeric import normalize_axis
from tflmgen.kernels.operators import Repeat, RowWindow

Axis = tuple[int, int]
"""(input index, axis) of an operator."""


def row_wise(
    context: Context, builder: Builder, call: DynamicCall, absorbed: frozenset[Axis] = frozenset()
) -> tuple[Value, ...]:
    """Outputs of an operator computed over all rows. Raises RowError if it mixes rows.

    absorbed  axes whose rows not in use have been filled, so that the operator may reduce over them
    """
    inputs = list(call.inputs)
    extents: dict[Sequence[Axis], Value] = {}
    for group in _groups(context, call, absorbed):
        unify = _broadcast if traits_of(call.op.name, context.operators).elementwise else unify_extents
        extent = unify(context, builder, inputs, group)
        if extent is not None:
            extents[tuple(group)] = extent
    unified = replace(call, inputs=tuple(inputs))
    operator = checked(context, unified, unified.inputs)
    output_extents: list[dict[int, Value]] = [{} for _ in operator.outputs]
    for members, extent in extents.items():
        places = _places(context, unified, members, operator)
        for extents_by_axis, (axis, factor) in zip(output_extents, places, strict=True):
            if axis in extents_by_axis:
                raise mixing_error(context, unified, members[0])
            extents_by_axis[axis] = builder.times(extent, factor)
    outputs = define(context, unified, operator.outputs)
    builder.nodes.append(
        Op(context.new_id(), call.op.name, unified.inputs, outputs, operator.attributes, call.origin),
    )
    context.extents.update((v, e) for v, e in zip(outputs, output_extents, strict=True) if e)
    return outputs


def mixing_error(context: Context, call: DynamicCall, axis: Axis) -> RowError:
    """The error for an operator that combines elements along a dynamic axis."""
    value = call.inputs[axis[0]]
    assert value is not None
    dims = context.bound_type(value).shape
    return RowError(
        f"{call.op.name} cannot be computed on '{value.name}', whose dimension {axis[1]} of {len(dims)} (at most "
        f"{value.type.max_shape[axis[1]]}) is known at run time only: it combines elements along that dimension"
    )


def _groups(context: Context, call: DynamicCall, absorbed: frozenset[Axis]) -> Iterator[list[Axis]]:
    """Groups of axes of equal dimension, each with at least one dynamic axis."""
    traits = traits_of(call.op.name, context.operators)
    groups: dict[object, list[Axis]] = {}
    dynamic: set[object] = set()
    for index, value in enumerate(call.inputs):
        if value is None:
            continue
        for axis, dim in enumerate(value.type.max_shape):
            key = _key(call, traits, index, axis)
            is_dynamic = axis in context.extents.get(value, {})
            if (index, axis) in absorbed or (not traits.joins and dim == 1 and not is_dynamic):
                continue
            groups.setdefault(key, []).append((index, axis))
            if is_dynamic:
                dynamic.add(key)
    return (members for key, members in groups.items() if key in dynamic)


def _key(call: DynamicCall, traits: Traits, index: int, axis: int) -> object:
    """Key of an axis, equal for axes whose dimensions must be equal."""
    ranks = [len(v.type.shape) if v is not None else 0 for v in call.inputs]
    options = call.op.options or {}
    if traits.elementwise:
        return axis if traits.aligns_leading else axis - ranks[index]
    if traits.joins:
        along = normalize_axis(int(options.get("axis", 0)), ranks[index]) if traits.concatenates else None
        return (index, axis) if axis == along else axis
    if traits.products and index < 2:
        is_transposed = bool(options.get(("adj_x", "adj_y")[index], False))
        if axis < ranks[index] - 2:
            return axis - ranks[index]
        is_depth = (
            (axis == ranks[index] - 1) != is_transposed if index == 0 else (axis == ranks[index] - 2) != is_transposed
        )
        return "depth" if is_depth else (index, axis)
    if traits.roles.table is not None and axis < int(options.get("batch_dims", 0)):
        return axis
    return (index, axis)


def unify_extents(
    context: Context, builder: Builder, inputs: list[Value | None], members: Sequence[Axis]
) -> Value | None:
    """Brings the axes of `members` to one size in `inputs`, and returns their extent; None if all rows are in use."""
    sizes: dict[bool, list[int]] = {False: [], True: []}
    for index, axis in members:
        value = inputs[index]
        assert value is not None
        sizes[axis in context.extents.get(value, {})].append(value.type.max_shape[axis])
    size = min(sizes[False] or sizes[True])
    extent = None
    for index, axis in members:
        value = inputs[index]
        assert value is not None
        if axis not in context.extents.get(value, {}):
            continue
        fitted = builder.fit(value, size, axis)
        inputs[index] = fitted
        value_extent = builder.extent(fitted, axis)
        extent = value_extent if extent is None or sizes[False] else builder.equal_extent(extent, value_extent)
    if not sizes[False] or extent is None:
        return extent
    for index, axis in members:
        value = inputs[index]
        assert value is not None
        if axis in context.extents.get(value, {}):
            inputs[index] = builder.window(value, RowWindow(0, size, True, axis), size)
    return None


def _broadcast(context: Context, builder: Builder, inputs: list[Value | None], members: Sequence[Axis]) -> Value | None:
    """Row-wise import in which a single row that meets many is repeated."""
    values = [(index, axis, value) for index, axis in members if (value := inputs[index]) is not None]
    dynamic = [(index, axis, v) for index, axis, v in values if axis in context.extents.get(v, {})]
    fixed = [v.type.max_shape[axis] for _, axis, v in values if axis not in context.extents.get(v, {})]
    extents = [builder.extent(value, axis) for _, axis, value in dynamic]
    if len(set(extents)) == 1 and not fixed:
        return unify_extents(context, builder, inputs, members)
    wanted = builder.integers("rows", fixed[0]) if fixed else extents[0]
    for extent in () if fixed else extents[1:]:
        wanted = builder.common_extent(wanted, extent)
    size = fixed[0] if fixed else max(v.type.max_shape[axis] for _, axis, v in dynamic)
    for index, axis, value in dynamic:
        inputs[index] = builder.repeat(value, wanted, size, Repeat(axis, broadcast=True))
    return None if fixed else wanted


def _places(
    context: Context, call: DynamicCall, members: Sequence[Axis], operator: CheckedOperator
) -> list[tuple[int, int]]:
    """Per output: the axis that carries the rows of a group, and its number of output rows per input row."""
    instance = instance_of(call.inputs, operator.outputs, operator.attributes, context.constants)
    traits = traits_of(call.op.name, context.operators)
    index, axis = members[0]
    value = call.inputs[index]
    assert value is not None
    rows = value.type.max_shape[axis]
    if rows == 0 or not all(traits.row_wise(instance, member_axis) for _, member_axis in members):
        raise mixing_error(context, call, members[0])
    enlarged = check_rows(context, call, _with_row_added(call.inputs, members))
    if enlarged.problems or enlarged.open:
        raise mixing_error(context, call, members[0])
    places = []
    for shape_before, shape_after in zip(operator.outputs, enlarged.outputs, strict=True):
        place = _place(shape_before.max_shape, shape_after.max_shape, rows)
        if place is None or (place[1] != 1 and not traits.reshapes_rows):
            raise mixing_error(context, call, members[0])
        if traits.reshapes_rows and math.prod(shape_before.max_shape[: place[0]]) != math.prod(
            value.type.max_shape[:axis]
        ):
            raise mixing_error(context, call, members[0])
        places.append(place)
    return places


def _with_row_added(inputs: Inputs, members: Sequence[Axis]) -> Inputs:
    larger = list(inputs)
    for index, axis in members:
        value = larger[index]
        assert value is not None
        larger[index] = replace(value, type=value.type.with_dim(axis, value.type.max_shape[axis] + 1))
    return tuple(larger)


def _place(before: Sequence[int], after: Sequence[int], rows: int) -> tuple[int, int] | None:
    """The only axis that grew, and its growth per added row; None if several axes changed."""
    if len(before) != len(after):
        return None
    changed = [axis for axis, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    if len(changed) != 1:
        return None
    axis = changed[0]
    factor = before[axis] // rows
    is_multiple = factor > 0 and (before[axis], after[axis]) == (rows * factor, (rows + 1) * factor)
    return (axis, factor) if is_multiple else None
