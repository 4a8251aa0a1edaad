"""CONCATENATION, PACK, SPLIT, SPLIT_V and UNPACK."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from tflmgen.ir import DType, TensorType
from tflmgen.ir.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Part, Pieces, Target, View
from tflmgen.kernels.numeric.strides import normalize_axis
from tflmgen.kernels.operators.copying import MOVABLE, are_pieces, constants_of
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, Shape
from tflmgen.kernels.specification.rules import (
    COMMON,
    SAME_QUANTIZATION,
    axis_rule,
    constant,
    input_is,
    input_shape,
    input_type,
    one_type,
    static_shape,
)
from tflmgen.kernels.traits import BY_AXIS, MONOTONE, Roles

HEADER = "concatenation.h"


@dataclass(frozen=True, slots=True)
class JoinAxis:
    """The axis as the file has it (negative: from the end) and, for PACK, UNPACK and SPLIT, the number of tensors."""

    axis: int
    count: int = 0


def _parse_concatenation(options: Options | None) -> JoinAxis:
    fields = options or {}
    if fields.get("fused_activation_function", 0):
        raise ValueError("a fused activation is not supported")
    return JoinAxis(int(fields.get("axis", 0)))


def _parse_pack(options: Options | None) -> JoinAxis:
    fields = options or {}
    return JoinAxis(int(fields.get("axis", 0)), int(fields.get("values_count", 0)))


def _parse_unpack(options: Options | None) -> JoinAxis:
    fields = options or {}
    return JoinAxis(int(fields.get("axis", 0)), int(fields.get("num", 0)))


def _parse_split(options: Options | None) -> JoinAxis:
    return JoinAxis(0, int((options or {}).get("num_splits", 0)))


def _block_bytes(tensor: TensorType, axis: int) -> int:
    """Bytes of one block: the dimensions from `axis` on."""
    return math.prod(static_shape(tensor)[axis:]) * tensor.dtype.bits // 8


def _layout(repeats: int, blocks: Sequence[int]) -> ConstantArray:
    return ConstantArray.of("layout", np.array([repeats, len(blocks), *blocks]), DType.INT32)


def axis_of(op: OperatorInstance) -> int | None:
    """CONCATENATION's axis, counted from the first; None where it is out of range."""
    return normalize_axis(op.attributes.axis, len(input_shape(op)))


def _pack_axis(op: OperatorInstance) -> int | None:
    return normalize_axis(op.attributes.axis, len(input_shape(op)) + 1)


def _join(op: OperatorInstance, axis: int) -> Kernel | View | Pieces:
    if len(op.inputs) == 1:
        return View(0)
    tensors = [input_type(op, i) for i in range(len(op.inputs))]
    repeats = math.prod(input_shape(op)[:axis])
    sizes = [t.bytes for t in tensors]
    if repeats == 1 and are_pieces(sizes):
        starts = accumulate(sizes, initial=0)
        return Pieces(tuple(Part(0, at, i, 0, size) for i, (at, size) in enumerate(zip(starts, sizes, strict=False))))
    layout = _layout(repeats, [_block_bytes(t, axis) for t in tensors])
    inputs = tuple(Input(i) for i in range(len(tensors)))
    return Kernel("tflmgen_concatenation", HEADER, (layout, Output(0), *inputs))


def _part(op: OperatorInstance, source: int, axis: int) -> Kernel | View | Pieces:
    """Input `source` cut along `axis` into the outputs."""
    if len(op.outputs) == 1:
        return View(source)
    repeats = math.prod(input_shape(op, source)[:axis])
    total = _block_bytes(input_type(op, source), axis)
    outputs = tuple(Output(i) for i in range(len(op.outputs)))
    extent = input_shape(op, source)[axis]
    blocks = [total // max(extent, 1) * size for size in _parts(op, source, extent)]
    if repeats == 1 and are_pieces(blocks):
        starts = accumulate(blocks, initial=0)
        return Pieces(tuple(Part(i, 0, source, at, n) for i, (at, n) in enumerate(zip(starts, blocks, strict=False))))
    return Kernel("tflmgen_split", HEADER, (_layout(repeats, blocks), Input(source), *outputs))


def _parts(op: OperatorInstance, source: int, extent: int) -> list[int]:
    """Extents of the outputs along the axis that is split."""
    if source == 0 and len(op.inputs) == 3:
        sizes = list(constants_of(op, 1))
        rest = extent - sum(size for size in sizes if size != -1)
        return [rest if size == -1 else size for size in sizes]
    return [extent // len(op.outputs)] * len(op.outputs)


def _split_axis(op: OperatorInstance, source: int, at: int) -> int | None:
    """The axis of SPLIT and SPLIT_V, a constant input."""
    return normalize_axis(constants_of(op, at)[0], len(input_shape(op, source)))


def _concatenated(op: OperatorInstance) -> Shape:
    axis = axis_of(op) or 0
    shapes = [input_shape(op, i) for i in range(len(op.inputs))]
    return (*shapes[0][:axis], sum(s[axis] for s in shapes), *shapes[0][axis + 1 :])


def _packed(op: OperatorInstance) -> Shape:
    axis = _pack_axis(op) or 0
    shape = input_shape(op)
    return (*shape[:axis], len(op.inputs), *shape[axis:])


def _agree_but_for_axis(op: OperatorInstance) -> bool:
    axis = axis_of(op) or 0
    shapes = [input_shape(op, i) for i in range(len(op.inputs))]
    return all(
        len(s) == len(shapes[0]) and s[:axis] + s[axis + 1 :] == shapes[0][:axis] + shapes[0][axis + 1 :]
        for s in shapes
    )


def _split_shapes(op: OperatorInstance, source: int, at: int) -> tuple[Shape | None, ...]:
    axis = _split_axis(op, source, at) or 0
    shape = input_shape(op, source)
    return tuple((*shape[:axis], size, *shape[axis + 1 :]) for size in _parts(op, source, shape[axis]))


def _unpacked(op: OperatorInstance) -> tuple[Shape | None, ...]:
    axis = axis_of(op) or 0
    shape = input_shape(op)
    return ((*shape[:axis], *shape[axis + 1 :]),) * len(op.outputs)


def _concatenation(op: OperatorInstance, target: Target) -> Kernel | View | Pieces:
    del target
    return _join(op, axis_of(op) or 0)


def _pack(op: OperatorInstance, target: Target) -> Kernel | View | Pieces:
    del target
    return _join(op, _pack_axis(op) or 0)


def _split(op: OperatorInstance, target: Target) -> Kernel | View | Pieces:
    del target
    return _part(op, 1, _split_axis(op, 1, 0) or 0)


def _split_v(op: OperatorInstance, target: Target) -> Kernel | View | Pieces:
    del target
    return _part(op, 0, _split_axis(op, 0, 2) or 0)


def _unpack(op: OperatorInstance, target: Target) -> Kernel | View | Pieces:
    del target
    return _part(op, 0, axis_of(op) or 0)


def _outputs_like(source: int) -> Rule:
    return Rule(
        "outputs of the input's type",
        lambda op: (
            input_type(op, source).dtype in MOVABLE and all(t.dtype is input_type(op, source).dtype for t in op.outputs)
        ),
    )


def _split_rules(source: int, at: int) -> tuple[Rule, ...]:
    return (
        *COMMON,
        _outputs_like(source),
        input_is(at, "axis", DType.INT32, DType.INT64),
        constant(at, "axis"),
        Rule("an axis that is a single value", lambda op: input_type(op, at).elements == 1),
        axis_rule(lambda op: constants_of(op, at)[0], lambda op: len(input_shape(op, source))),
        Rule("at least one output", lambda op: len(op.outputs) > 0),
    )


def _extent(op: OperatorInstance, source: int, at: int) -> int:
    return input_shape(op, source)[_split_axis(op, source, at) or 0]


SAME_TYPES = one_type(*MOVABLE)

CONCATENATION_RULES = (
    *COMMON,
    SAME_TYPES,
    axis_rule(lambda op: op.attributes.axis, lambda op: len(input_shape(op))),
    Rule("inputs of equal shapes, except along the axis", _agree_but_for_axis),
    SAME_QUANTIZATION,
)

PACK_RULES = (
    *COMMON,
    SAME_TYPES,
    axis_rule(lambda op: op.attributes.axis, lambda op: len(input_shape(op)) + 1, "its output"),
    Rule(
        "as many inputs as values_count says",
        lambda op: op.attributes.count == len(op.inputs),
        lambda op: f"values_count {op.attributes.count} and {len(op.inputs)} inputs",
    ),
    Rule(
        "inputs of equal shapes",
        lambda op: all(input_shape(op, i) == input_shape(op) for i in range(len(op.inputs))),
    ),
    SAME_QUANTIZATION,
)

SPLIT_RULES = (
    *_split_rules(1, 0),
    Rule(
        "as many outputs as num_splits says",
        lambda op: op.attributes.count == len(op.outputs),
        lambda op: f"num_splits {op.attributes.count} and {len(op.outputs)} outputs",
    ),
    Rule(
        "an axis that divides evenly among the outputs",
        lambda op: _extent(op, 1, 0) % len(op.outputs) == 0,
        lambda op: f"an axis of {_extent(op, 1, 0)} elements and {len(op.outputs)} outputs",
    ),
)

SPLIT_V_RULES = (
    *_split_rules(0, 2),
    input_is(1, "list of sizes", DType.INT32, DType.INT64),
    constant(1, "list of sizes"),
    Rule(
        "one size per output, and as many as num_splits says",
        lambda op: input_type(op, 1).elements == len(op.outputs) == op.attributes.count,
    ),
    Rule("at most one size of -1", lambda op: constants_of(op, 1).count(-1) <= 1),
    Rule(
        "sizes that add up to the axis",
        lambda op: (
            min(_parts(op, 0, _extent(op, 0, 2))) >= 0 and sum(_parts(op, 0, _extent(op, 0, 2))) == _extent(op, 0, 2)
        ),
        lambda op: f"sizes {list(constants_of(op, 1))} and an axis of {_extent(op, 0, 2)} elements",
    ),
)

UNPACK_RULES = (
    *COMMON,
    _outputs_like(0),
    axis_rule(lambda op: op.attributes.axis, lambda op: len(input_shape(op))),
    Rule(
        "an axis as long as the number of outputs, and as num says",
        lambda op: input_shape(op)[axis_of(op) or 0] == len(op.outputs) == op.attributes.count > 0,
        lambda op: (
            f"an axis of {input_shape(op)[axis_of(op) or 0]} elements, {len(op.outputs)} outputs and "
            f"num {op.attributes.count}"
        ),
    ),
)

OPERATORS = (
    OperatorSpec(
        "CONCATENATION",
        _parse_concatenation,
        (1, -1),
        1,
        CONCATENATION_RULES,
        lambda op: (_concatenated(op),),
        _concatenation,
        traits=replace(BY_AXIS, joins=True, concatenates=True, takes_nothing=True, moves=True, monotone_from=MONOTONE),
    ),
    OperatorSpec(
        "PACK",
        _parse_pack,
        (1, -1),
        1,
        PACK_RULES,
        lambda op: (_packed(op),),
        _pack,
        traits=replace(BY_AXIS, joins=True, moves=True, monotone_from=MONOTONE),
    ),
    OperatorSpec(
        "SPLIT",
        _parse_split,
        (2, 2),
        -1,
        SPLIT_RULES,
        lambda op: _split_shapes(op, 1, 0),
        _split,
        traits=replace(BY_AXIS, moves=True, splits=True, roles=Roles(data=1)),
    ),
    OperatorSpec(
        "SPLIT_V",
        _parse_split,
        (3, 3),
        -1,
        SPLIT_V_RULES,
        lambda op: _split_shapes(op, 0, 2),
        _split_v,
        traits=replace(BY_AXIS, moves=True, splits=True),
    ),
    OperatorSpec(
        "UNPACK", _parse_unpack, (1, 1), -1, UNPACK_RULES, _unpacked, _unpack, traits=replace(BY_AXIS, moves=True)
    ),
)
