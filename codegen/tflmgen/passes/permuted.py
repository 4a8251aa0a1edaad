"""Rewrites operators on transposed operands as operators on the untransposed ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.ir.graph import Op, Value
from tflmgen.kernels import traits_of
from tflmgen.kernels.operators import axes, paddings
from tflmgen.passes.constant_pool import Pool
from tflmgen.passes.def_use import Dataflow, is_legal
from tflmgen.passes.permutation import Permutation, inverse, is_identity, moves_nothing, permuted, view


@dataclass(frozen=True, slots=True)
class Moved:
    """An operator on untransposed operands: its nodes, and `value`, of which the old output is a permutation."""

    nodes: tuple[Op, ...]
    value: Value
    permutation: Permutation


@dataclass(frozen=True, slots=True)
class Untransposed:
    """A value's contents before a TRANSPOSE by `permutation`."""

    value: Value
    permutation: Permutation


def move_before(op: Op, web: Mapping[Value, Untransposed], flow: Dataflow, pool: Pool) -> Moved | None:
    """`op` on the untransposed values of `web`; None if it has no such form."""
    operands = [v for v in op.inputs if v is not None]
    permutations = {web[v].permutation for v in operands if v in web}
    if len(op.outputs) != 1 or len(permutations) != 1 or not all(_is_plain(v) for v in (*operands, *op.outputs)):
        return None
    (permutation,) = permutations
    traits = traits_of(op.operator)
    if traits.elementwise and not traits.aligns_leading:
        return _elementwise(op, web, permutation, pool)
    first = op.inputs[0]
    if first is None or first not in web:
        return None
    source, changed, result = web[first].value, op, permutation
    if traits.reduces:
        reduced = axes(flow.instance(op)) or frozenset()
        changed = replace(op, inputs=(source, pool.table(sorted(permutation[axis] for axis in reduced))))
        if not op.attributes.keep_dims:
            remaining_axes = [axis for j, axis in enumerate(permutation) if j not in reduced]
            result = tuple(sorted(remaining_axes).index(axis) for axis in remaining_axes)
    elif traits.pads:
        sides = paddings(flow.instance(op))
        table = np.array([sides[j] for j in inverse(permutation)])
        template = op.inputs[1]
        assert template is not None
        changed = replace(op, inputs=(source, pool.add(table, template), *op.inputs[2:]))
    elif traits.concatenates and all(v in web for v in operands):
        axis = permutation[op.attributes.axis]
        attributes = replace(op.attributes, axis=axis)
        changed = replace(op, inputs=tuple(web[v].value for v in operands), attributes=attributes)
    elif traits.along_last and permutation[-1] == len(permutation) - 1:
        changed = replace(op, inputs=(source,))
    else:
        return None
    return _moved(changed, result, (), pool)


def _is_plain(value: Value) -> bool:
    quantization = value.type.quantization
    return value.type.is_static and not (quantization is not None and quantization.per_channel)


def _moved(op: Op, permutation: Permutation, before: tuple[Op, ...], pool: Pool) -> Moved | None:
    """The operator with a new output, or with the old one if that is not permuted."""
    old = op.outputs[0]
    if not is_identity(permutation):
        shape = permuted(old.type.shape, inverse(permutation))
        # A new name, since `test --layers` compares values with the file's tensors by name.
        new = Value(pool.ids.take(), f"{old.name}/untransposed", old.type.with_shape(shape))
        op = replace(op, id=pool.ids.take(), outputs=(new,))
    return Moved((*before, op), op.outputs[0], permutation) if is_legal(op, pool.constants) else None


def _elementwise(op: Op, web: Mapping[Value, Untransposed], permutation: Permutation, pool: Pool) -> Moved | None:
    rank = len(permutation)
    if len(op.outputs[0].type.shape) != rank:
        return None
    views: list[Op] = []
    inputs: list[Value | None] = []
    for operand in op.inputs:
        if operand is None or operand in web:
            inputs.append(web[operand].value if operand is not None else None)
            continue
        adapted = _adapted(op, operand, permutation, pool)
        if adapted is None:
            return None
        views.extend(adapted[1:])
        inputs.append(adapted[0])
    return _moved(replace(op, inputs=tuple(inputs)), permutation, tuple(views), pool)


def _adapted(op: Op, operand: Value, permutation: Permutation, pool: Pool) -> tuple[Value] | tuple[Value, Op] | None:
    """A broadcast operand in the untransposed order of dimensions: a constant, or a view that moves no element."""
    shape = operand.type.max_shape
    padded = (1,) * (len(permutation) - len(shape)) + shape
    if operand.type.elements == 1:
        return (operand,)
    inverse_axes = inverse(permutation)
    target_shape = Value(0, operand.name, operand.type.with_shape(permuted(padded, inverse_axes)))
    array = pool.array(operand)
    if array is not None:
        return (pool.add(np.transpose(array.reshape(padded), inverse_axes), target_shape),)
    if not moves_nothing(padded, inverse_axes):
        return None
    result = replace(target_shape, id=pool.ids.take())
    return result, view(op, pool.ids.take(), operand, result)
