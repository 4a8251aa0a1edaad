"""REVERSE_V2, BROADCAST_TO, TILE, DEPTH_TO_SPACE and SPACE_TO_DEPTH: copies along one nest of loops each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Kernel, OperatorInstance, Pieces, Target, View
from tflmgen.kernels.numeric.strides import Nest, broadcast_shape, broadcast_strides, normalize_axis, strides_of
from tflmgen.kernels.operators.copying import SAME_MOVABLE_TYPE, constants_of, copy_kernel, copy_nest, fits
from tflmgen.kernels.operators.row_wise import not_named_axis
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, Shape, no_attributes
from tflmgen.kernels.specification.rules import COMMON, constant, input_is, input_shape, static_shape
from tflmgen.kernels.traits import BY_AXIS, BY_BATCH, Roles, Traits


@dataclass(frozen=True, slots=True)
class PixelBlock:
    """The edge of the square of pixels that DEPTH_TO_SPACE makes of one, and SPACE_TO_DEPTH the other way round."""

    size: int


def _parse_block(options: Options | None) -> PixelBlock:
    size = int((options or {}).get("block_size", 0))
    if size < 1:
        raise ValueError(f"the block size is {size}, it must be at least 1")
    return PixelBlock(size)


def _reverse_axes(op: OperatorInstance) -> set[int | None]:
    return {normalize_axis(axis, len(input_shape(op))) for axis in constants_of(op, 1)}


def _reverse_nest(op: OperatorInstance) -> Nest:
    axes, shape = _reverse_axes(op), input_shape(op)
    strides = strides_of(shape)
    flipped = tuple(-s if axis in axes and d > 1 else s for axis, (s, d) in enumerate(zip(strides, shape, strict=True)))
    return copy_nest(shape, flipped)


def _reverse_kernel(op: OperatorInstance, target: Target) -> Kernel | View | Pieces:
    del target
    shape = input_shape(op)
    strides = strides_of(shape)
    start = sum((shape[a] - 1) * strides[a] for a in _reverse_axes(op) if a is not None)
    return copy_kernel(op, _reverse_nest(op), start)


def _broadcast_shape(op: OperatorInstance) -> tuple[int, ...]:
    """The wanted shape; the declared one where it is known at run time only."""
    return constants_of(op, 1) if op.constants[1] is not None else static_shape(op.outputs[0])


def _broadcast_nest(op: OperatorInstance) -> Nest:
    result = _broadcast_shape(op)
    return copy_nest(result, broadcast_strides(input_shape(op), result))


def _multiples(op: OperatorInstance) -> tuple[int, ...]:
    """Repetitions of each dimension by TILE; from the declared shape where they are known at run time only."""
    if op.constants[1] is not None:
        return constants_of(op, 1)
    return tuple(out // max(d, 1) for out, d in zip(static_shape(op.outputs[0]), input_shape(op), strict=False))


def _tiled(op: OperatorInstance) -> tuple[int, ...]:
    return tuple(d * m for d, m in zip(input_shape(op), _multiples(op), strict=True))


def _tile_nest(op: OperatorInstance) -> Nest:
    shape = input_shape(op)
    extents = tuple(n for d, m in zip(shape, _multiples(op), strict=True) for n in (m, d))
    strides = tuple(n for s in strides_of(shape) for n in (0, s))
    return copy_nest(extents, strides)


def _to_space_shape(op: OperatorInstance) -> tuple[int, ...]:
    (n, h, w, c), b = input_shape(op), op.attributes.size
    return (n, h * b, w * b, c // (b * b))


def _to_space_nest(op: OperatorInstance) -> Nest:
    (n, h, w, c), b = input_shape(op), op.attributes.size
    depth = c // (b * b)
    return copy_nest((n, h, b, w, b, depth), (h * w * c, w * c, b * depth, c, depth, 1))


def _to_depth_shape(op: OperatorInstance) -> tuple[int, ...]:
    (n, h, w, c), b = input_shape(op), op.attributes.size
    return (n, h // b, w // b, c * b * b)


def _to_depth_nest(op: OperatorInstance) -> Nest:
    (n, h, w, c), b = input_shape(op), op.attributes.size
    return copy_nest((n, h // b, w // b, b, b, c), (h * w * c, b * w * c, b * c, w * c, c, 1))


def _plain(nest: Callable[[OperatorInstance], Nest]) -> Callable[[OperatorInstance, Target], Kernel | View | Pieces]:
    return lambda op, _: copy_kernel(op, nest(op))


def _where_constant(
    shape: Callable[[OperatorInstance], Shape],
) -> Callable[[OperatorInstance], tuple[Shape | None, ...]]:
    return lambda op: (None if op.constants[1] is None else shape(op),)


def _index_rules(label: str) -> tuple[Rule, ...]:
    return (*COMMON, SAME_MOVABLE_TYPE, input_is(1, label, DType.INT32, DType.INT64))


RANK_4 = Rule("an input of 4 dimensions", lambda op: len(input_shape(op)) == 4)

REVERSE_RULES = (
    *_index_rules("list of axes"),
    constant(1, "list of axes"),
    Rule("reversed axes within the rank of its input", lambda op: None not in _reverse_axes(op)),
    fits(_reverse_nest),
)

BROADCAST_RULES = (
    *_index_rules("shape"),
    Rule("a new shape of dimensions of at least 0", lambda op: min(_broadcast_shape(op), default=0) >= 0),
    Rule(
        "an input that broadcasts to the new shape",
        lambda op: (
            len(_broadcast_shape(op)) >= len(input_shape(op))
            and broadcast_shape(input_shape(op), _broadcast_shape(op)) == _broadcast_shape(op)
        ),
    ),
    fits(_broadcast_nest),
)

TILE_RULES = (
    *_index_rules("list of multiples"),
    Rule("one multiple per dimension", lambda op: len(_multiples(op)) == len(input_shape(op))),
    Rule("multiples of at least 0", lambda op: min(_multiples(op), default=0) >= 0),
    Rule(
        "an output of the input's shape times the multiples",
        lambda op: op.constants[1] is not None or _tiled(op) == static_shape(op.outputs[0]),
    ),
    fits(_tile_nest),
)

TO_SPACE_RULES = (
    *COMMON,
    SAME_MOVABLE_TYPE,
    RANK_4,
    Rule(
        "channels that are a multiple of the pixels of a block",
        lambda op: input_shape(op)[3] % op.attributes.size**2 == 0,
    ),
    fits(_to_space_nest),
)

TO_DEPTH_RULES = (
    *COMMON,
    SAME_MOVABLE_TYPE,
    RANK_4,
    Rule(
        "a height and a width that are multiples of the block size",
        lambda op: input_shape(op)[1] % op.attributes.size == 0 and input_shape(op)[2] % op.attributes.size == 0,
    ),
    fits(_to_depth_nest),
)

OPERATORS = (
    OperatorSpec(
        "REVERSE_V2",
        no_attributes,
        (2, 2),
        1,
        REVERSE_RULES,
        lambda op: (input_shape(op),),
        _reverse_kernel,
        traits=Traits(row_wise=not_named_axis, moves=True),
    ),
    OperatorSpec(
        "BROADCAST_TO",
        no_attributes,
        (2, 2),
        1,
        BROADCAST_RULES,
        _where_constant(_broadcast_shape),
        _plain(_broadcast_nest),
        real=lambda op, operands: np.broadcast_to(operands[0], op.outputs[0].max_shape),
        traits=replace(BY_AXIS, same_if_typed=True, moves=True, roles=Roles(shapes=(1,))),
    ),
    OperatorSpec(
        "TILE",
        no_attributes,
        (2, 2),
        1,
        TILE_RULES,
        _where_constant(_tiled),
        _plain(_tile_nest),
        traits=replace(BY_AXIS, moves=True, roles=Roles(shapes=(1,))),
    ),
    OperatorSpec(
        "DEPTH_TO_SPACE",
        _parse_block,
        (1, 1),
        1,
        TO_SPACE_RULES,
        lambda op: (_to_space_shape(op),),
        _plain(_to_space_nest),
        traits=replace(BY_BATCH, ignores_scales=True),
    ),
    OperatorSpec(
        "SPACE_TO_DEPTH",
        _parse_block,
        (1, 1),
        1,
        TO_DEPTH_RULES,
        lambda op: (_to_depth_shape(op),),
        _plain(_to_depth_nest),
        traits=replace(BY_BATCH, ignores_scales=True),
    ),
)
