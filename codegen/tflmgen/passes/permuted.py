"""What operators become if their operands come before a TRANSPOSE instead of after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.ir import Op, Value
from tflmgen.kernels import axes, paddings, traits_of
from tflmgen.passes.constant_pool import Pool
from tflmgen.passes.def_use import Dataflow, is_legal
from tflmgen.passes.permutation import Permutation, inverse, is_identity, moves_nothing, permuted, view


@dataclass(frozen=True, slots=True)
class Moved:
    """An operator before the TRANSPOSE: the nodes that compute `value`, of which the old output is a permutation."""

    nodes: tuple[Op, ...]
    value: Value
    permutation: Permutation


@dataclass(frozen=True, slots=True)
class Untransposed:
    """A value's contents before a TRANSPOSE by `permutation`."""

    value: Value
    permutation: Permutation


def move_before(op: Op, web: Mapping[Value, Untransposed], flow: Dataflow, pool: Pool) -> Moved | None:
    """What computes `op` from the untransposed values of `web`; None where it isn't that simple."""
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
        gone = axes(flow.instance(op)) or frozenset()
        changed = replace(op, inputs=(source, pool.table(sorted(permutation[axis] for axis in gone))))
        if not op.attributes.keep_dims:
            kept = [axis for j, axis in enumerate(permutation) if j not in gone]
            result = tuple(sorted(kept).index(axis) for axis in kept)
    elif traits.pads:
        sides = paddings(flow.instance(op))
        table = np.array([sides[j] for j in inverse(permutation)])
        like = op.inputs[1]
        assert like is not None
        changed = replace(op, inputs=(source, pool.add(table, like), *op.inputs[2:]))
    elif op.operator == "CONCATENATION" and all(v in web for v in operands):
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
    """The operator with an output of its own, unless that is the old one unchanged."""
    old = op.outputs[0]
    if not is_identity(permutation):
        shape = permuted(old.type.shape, inverse(permutation))
        # Not the file's tensor of this name: elsewhere values are compared with those, by their names.
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
        one = _adapted(op, operand, permutation, pool)
        if one is None:
            return None
        views.extend(one[1:])
        inputs.append(one[0])
    return _moved(replace(op, inputs=tuple(inputs)), permutation, tuple(views), pool)


def _adapted(op: Op, operand: Value, permutation: Permutation, pool: Pool) -> tuple[Value] | tuple[Value, Op] | None:
    """An operand that a TRANSPOSE would make of what broadcasts to it: a constant, or a view of the same elements."""
    shape = operand.type.max_shape
    padded = (1,) * (len(permutation) - len(shape)) + shape
    if operand.type.elements == 1:
        return (operand,)
    back = inverse(permutation)
    wanted = Value(0, operand.name, operand.type.with_shape(permuted(padded, back)))
    array = pool.array(operand)
    if array is not None:
        return (pool.add(np.transpose(array.reshape(padded), back), wanted),)
    if not moves_nothing(padded, back):
        return None
    result = replace(wanted, id=pool.ids.take())
    return result, view(op, pool.ids.take(), operand, result)
