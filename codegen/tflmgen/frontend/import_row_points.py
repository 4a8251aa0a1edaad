"""GATHER_ND and SCATTER_ND of points, rows or shapes that are known at run time only.

A point names its place by indices, which are the same in the largest shape. Points not in use become -1, a place that
SCATTER_ND leaves out.
"""

from __future__ import annotations

from dataclasses import replace

from tflmgen.frontend.import_build import Builder
from tflmgen.frontend.import_context import Context
from tflmgen.frontend.import_row_call import DynamicCall, RowError, bounded
from tflmgen.frontend.import_row_shapes import known_dims
from tflmgen.frontend.import_row_wise import row_wise, unify_extents
from tflmgen.ir import constant_array
from tflmgen.ir.graph import Value

Outputs = tuple[Value, ...] | None


def gather_nd(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """GATHER_ND; None if neither the table nor the indices have a form that is known. Dynamic axes of the table may be
    indexed."""
    table, indices = (*call.inputs, None)[:2]
    if table is None or indices is None or not indices.type.shape:
        return None
    depth = _depth(context, call, indices)
    named = (axis for axis in context.extents.get(table, {}) if axis < depth)
    return row_wise(context, builder, call, frozenset((0, axis) for axis in named))


def scatter_nd(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """An error at run time where updates are of another size than the output's remaining dimensions."""
    indices, updates, shape = (*call.inputs, None, None)[:3]
    if indices is None or updates is None or shape is None or not indices.type.shape:
        return None
    depth, lead, rank = _depth(context, call, indices), len(indices.type.shape) - 1, shape.type.elements
    if len(updates.type.shape) != lead + rank - depth:
        return None
    operands: list[Value | None] = [indices, updates]
    for axis in range(lead):
        if any(axis in context.extents.get(value, {}) for value in (indices, updates)):
            extent = unify_extents(context, builder, operands, [(0, axis), (1, axis)])
            assert operands[0] is not None
            if extent is not None:
                operands[0] = builder.fill(operands[0], -1, axis, extent)
    array = constant_array(shape, context.constants)
    numbers = None if array is None else tuple(int(n) for n in array.reshape(-1))
    sizes, extents = [], {}
    for axis, (size, is_exact) in enumerate(known_dims(context, call, shape, numbers, rank)):
        source = axis - depth + lead if axis >= depth else None
        rows = None if source is None else context.extents.get(updates, {}).get(source)
        if is_exact:
            if source is not None and rows is not None:
                operands[1] = _exactly(builder, call, operands[1], size, source)
        elif source is not None:
            size = updates.type.max_shape[source]
            wanted = builder.limited_extent(builder.element(shape, axis), size)
            extents[axis] = builder.equal_extent(rows or builder.integers("rows", size), wanted)
        else:
            size = size if size >= 0 else bounded(context, call, axis)
            extents[axis] = builder.limited_extent(builder.element(shape, axis), size)
        sizes.append(size)
    inputs = (*operands, builder.integers("shape", sizes))
    absorbed = {(i, a) for i, v in enumerate(operands) if v is not None for a in context.extents.get(v, {})}
    (output,) = row_wise(context, builder, replace(call, inputs=inputs), frozenset(absorbed))
    if extents:
        context.extents[output] = extents
    return (output,)


def _depth(context: Context, call: DynamicCall, indices: Value) -> int:
    """Number of indices of a point."""
    last = len(indices.type.shape) - 1
    if last in context.extents.get(indices, {}):
        raise RowError(f"{call.op.name} requires points whose number of indices does not depend on the run time")
    return indices.type.max_shape[last]


def _exactly(builder: Builder, call: DynamicCall, value: Value | None, size: int, axis: int) -> Value:
    assert value is not None
    if size > value.type.max_shape[axis]:
        raise RowError(
            f"{call.op.name} requires {size} elements along axis {axis} of '{value.name}', which has at "
            f"most {value.type.max_shape[axis]}"
        )
    return builder.exactly(value, size, axis)
