"""Operators that keep the rows along dimensions known at run time only apart: they run over all rows.

Dimensions of several inputs that must be equal (of operands that are added, say) form a group: they are brought to one
size, and their extents compared at run time. Where the rows of a group come out is seen by asking the operator for the
shapes with one row more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tflmgen.frontend.import_build import Builder, with_dim
from tflmgen.frontend.import_context import Context
from tflmgen.frontend.import_row_call import Inputs, RowCall, RowError, check_rows, checked, define
from tflmgen.frontend.operator_check import CheckedOperator
from tflmgen.ir import Op, Value
from tflmgen.kernels import RowWindow, Traits, instance_of, normalize_axis, traits_of

Axis = tuple[int, int]
"""Of an operator: an input and one of its axes."""


def row_wise(
    context: Context, builder: Builder, call: RowCall, absorbed: frozenset[Axis] = frozenset()
) -> tuple[Value, ...]:
    """The outputs of an operator over all rows, those along `absorbed` axes for good. Raises RowError."""
    inputs = list(call.inputs)
    extents: dict[Sequence[Axis], Value] = {}
    for group in _groups(context, call, absorbed):
        extent = unite(context, builder, inputs, group)
        if extent is not None:
            extents[tuple(group)] = extent
    united = replace(call, inputs=tuple(inputs))
    found = checked(context, united, united.inputs)
    found_extents: list[dict[int, Value]] = [{} for _ in found.outputs]
    for members, extent in extents.items():
        places = _places(context, united, members, found)
        for of_output, (axis, factor) in zip(found_extents, places, strict=True):
            if axis in of_output:
                raise refusal(context, united, members[0])
            of_output[axis] = builder.times(extent, factor)
    outputs = define(context, united, found.outputs)
    builder.nodes.append(
        Op(context.new_id(), call.op.name, united.inputs, outputs, found.attributes, call.origin),
    )
    context.extents.update((v, e) for v, e in zip(outputs, found_extents, strict=True) if e)
    return outputs


def refusal(context: Context, call: RowCall, axis: Axis) -> RowError:
    """Why the operator cannot be computed along an axis."""
    value = call.inputs[axis[0]]
    assert value is not None
    dims = context.bound_type(value).shape
    return RowError(
        f"{call.op.name} cannot be computed on '{value.name}', whose dimension {axis[1]} of {len(dims)} (at most "
        f"{value.type.max_shape[axis[1]]}) is known at run time only: it mixes what lies along that dimension"
    )


def _groups(context: Context, call: RowCall, absorbed: frozenset[Axis]) -> Iterator[list[Axis]]:
    """Axes that must be equal, of which one at least is dynamic."""
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


def _key(call: RowCall, traits: Traits, index: int, axis: int) -> object:
    """Equal for axes that must be equal."""
    ranks = [len(v.type.shape) if v is not None else 0 for v in call.inputs]
    options = call.op.options or {}
    name = call.op.name
    if traits.elementwise:
        return axis if traits.aligns_leading else axis - ranks[index]
    if traits.joins:
        along = normalize_axis(int(options.get("axis", 0)), ranks[index]) if name == "CONCATENATION" else None
        return (index, axis) if axis == along else axis
    if name == "BATCH_MATMUL" and index < 2:
        turned = bool(options.get(("adj_x", "adj_y")[index], False))
        if axis < ranks[index] - 2:
            return axis - ranks[index]
        is_depth = (axis == ranks[index] - 1) != turned if index == 0 else (axis == ranks[index] - 2) != turned
        return "depth" if is_depth else (index, axis)
    if name == "GATHER" and axis < int(options.get("batch_dims", 0)):
        return axis
    return (index, axis)


def unite(context: Context, builder: Builder, inputs: list[Value | None], members: Sequence[Axis]) -> Value | None:
    """Brings the axes to one size; their extent, None where that is the whole size."""
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
        own = builder.extent(fitted, axis)
        extent = own if extent is None or sizes[False] else builder.same(extent, own)
    if not sizes[False] or extent is None:
        return extent
    for index, axis in members:
        value = inputs[index]
        assert value is not None
        if axis in context.extents.get(value, {}):
            inputs[index] = builder.window(value, RowWindow(0, size, True, axis), size)
    return None


def _places(context: Context, call: RowCall, members: Sequence[Axis], found: CheckedOperator) -> list[tuple[int, int]]:
    """The axis of each output that has the rows of a group, and how many of its rows are made of one."""
    instance = instance_of(call.inputs, found.outputs, found.attributes, context.constants)
    traits = traits_of(call.op.name, context.operators)
    index, axis = members[0]
    first = call.inputs[index]
    assert first is not None
    rows = first.type.max_shape[axis]
    if rows == 0 or not all(traits.row_wise(instance, at) for _, at in members):
        raise refusal(context, call, members[0])
    more = check_rows(context, call, _with_one_more(call.inputs, members))
    if more.problems or more.open:
        raise refusal(context, call, members[0])
    places = []
    for here, there in zip(found.outputs, more.outputs, strict=True):
        place = _place(here.max_shape, there.max_shape, rows)
        if place is None or (place[1] != 1 and not traits.reshapes_rows):
            raise refusal(context, call, members[0])
        if traits.reshapes_rows and math.prod(here.max_shape[: place[0]]) != math.prod(first.type.max_shape[:axis]):
            raise refusal(context, call, members[0])
        places.append(place)
    return places


def _with_one_more(inputs: Inputs, members: Sequence[Axis]) -> Inputs:
    larger = list(inputs)
    for index, axis in members:
        value = larger[index]
        assert value is not None
        larger[index] = replace(value, type=with_dim(value.type, axis, value.type.max_shape[axis] + 1))
    return tuple(larger)


def _place(before: Sequence[int], after: Sequence[int], rows: int) -> tuple[int, int] | None:
    """The one axis that has more rows after than before, and how many more for one of `rows`."""
    if len(before) != len(after):
        return None
    changed = [axis for axis, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]
    if len(changed) != 1:
        return None
    axis = changed[0]
    factor = before[axis] // rows
    fits = factor > 0 and (before[axis], after[axis]) == (rows * factor, (rows + 1) * factor)
    return (axis, factor) if fits else None
