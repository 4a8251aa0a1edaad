"""RESHAPE, SQUEEZE and EXPAND_DIMS: the same bytes under another shape."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import OperatorInstance, Target, View
from tflmgen.kernels.numeric.strides import normalize_axis
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, Shape, no_attributes
from tflmgen.kernels.specification.rules import (
    STATIC,
    axis_rule,
    constant,
    input_is,
    input_shape,
    input_type,
    static_shape,
)
from tflmgen.kernels.traits import MONOTONE, Roles, Traits, any_axis

SAME_TYPE = Rule("an input and an output of one type", lambda op: input_type(op, 0).dtype is op.outputs[0].dtype)


@dataclass(frozen=True, slots=True)
class Dimensions:
    """A new shape (RESHAPE) or the axes to drop (SQUEEZE), as the options give them; empty where they do not."""

    values: tuple[int, ...]


def _parse_reshape(options: Options | None) -> Dimensions:
    return Dimensions(tuple(int(v) for v in (options or {}).get("new_shape") or ()))


def _parse_squeeze(options: Options | None) -> Dimensions:
    return Dimensions(tuple(int(v) for v in (options or {}).get("squeeze_dims") or ()))


def _new_shape(op: OperatorInstance) -> tuple[int, ...] | None:
    """The new shape with at most one -1, from the second input or else the options; None where it is not known."""
    if len(op.inputs) > 1 and op.inputs[1] is not None:
        values = op.constants[1]
        return None if values is None else tuple(int(v) for v in np.ravel(values))
    return tuple(op.attributes.values)


def _reshaped(op: OperatorInstance) -> tuple[int, ...] | None:
    """The output's shape, which is the declared one where the new shape is not constant; None where it does not fit."""
    elements = input_type(op, 0).elements
    wanted = _new_shape(op)
    if wanted is None:
        wanted = static_shape(op.outputs[0])
    if wanted.count(-1) == 1:
        rest = math.prod(v for v in wanted if v != -1)
        if rest <= 0 or elements % rest:
            return None
        wanted = tuple(elements // rest if v == -1 else v for v in wanted)
    return wanted if math.prod(wanted) == elements and all(v >= 0 for v in wanted) else None


def _squeezed(op: OperatorInstance) -> tuple[int, ...] | None:
    shape = input_shape(op)
    axes = {normalize_axis(v, len(shape)) for v in op.attributes.values}
    if not axes:
        return tuple(d for d in shape if d != 1)
    if any(axis is None or shape[axis] != 1 for axis in axes):
        return None
    return tuple(d for axis, d in enumerate(shape) if axis not in axes)


def _expanded(op: OperatorInstance) -> tuple[int, ...] | None:
    shape = input_shape(op)
    axis = normalize_axis(int(np.ravel(np.asarray(op.constants[1]))[0]), len(shape) + 1)
    return None if axis is None else (*shape[:axis], 1, *shape[axis:])


def _view(op: OperatorInstance, target: Target) -> View:
    del op, target
    return View(0)


def _infer_reshape(op: OperatorInstance) -> tuple[Shape | None, ...]:
    return (None if _new_shape(op) is None else _reshaped(op),)


VIEW = Traits(view=True, moves=True, row_wise=any_axis, reshapes_rows=True, monotone_from=MONOTONE)

OPERATORS = (
    OperatorSpec(
        "RESHAPE",
        _parse_reshape,
        (1, 2),
        1,
        (
            STATIC,
            SAME_TYPE,
            input_is(1, "new shape", DType.INT32, DType.INT64),
            Rule("a new shape of as many elements as the input", lambda op: _reshaped(op) is not None),
        ),
        _infer_reshape,
        _view,
        traits=replace(VIEW, roles=Roles(shapes=(1,))),
    ),
    OperatorSpec(
        "SQUEEZE",
        _parse_squeeze,
        (1, 1),
        1,
        (STATIC, SAME_TYPE, Rule("squeezed dimensions that exist and are 1", lambda op: _squeezed(op) is not None)),
        lambda op: (_squeezed(op),),
        _view,
        traits=VIEW,
    ),
    OperatorSpec(
        "EXPAND_DIMS",
        no_attributes,
        (2, 2),
        1,
        (
            STATIC,
            SAME_TYPE,
            input_is(1, "axis", DType.INT32, DType.INT64),
            constant(1, "axis"),
            Rule("an axis that is a single value", lambda op: input_type(op, 1).elements == 1),
            axis_rule(
                lambda op: int(np.ravel(np.asarray(op.constants[1]))[0]),
                lambda op: len(input_type(op, 0).shape) + 1,
                "its output",
            ),
        ),
        lambda op: (_expanded(op),),
        _view,
        traits=VIEW,
    ),
)
