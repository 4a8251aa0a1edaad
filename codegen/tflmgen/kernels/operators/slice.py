"""SLICE and STRIDED_SLICE, with bounds known at build time or, where the size still is, at run time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Params, Pieces, Target, View
from tflmgen.kernels.numeric.strides import MAX_RANK, Nest, strides_of
from tflmgen.kernels.operators.copying import SAME_MOVABLE_TYPE, constants_of, copy_kernel, copy_nest, fits
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, Shape, no_attributes
from tflmgen.kernels.specification.rules import COMMON, constant, input_is, input_shape, input_type, static_shape
from tflmgen.kernels.traits import BY_AXIS, MONOTONE, Roles, Traits


@dataclass(frozen=True, slots=True)
class Masks:
    """STRIDED_SLICE's bit masks over the entries of its bounds, and whether ends count from the beginnings."""

    begin: int
    end: int
    ellipsis: int
    new_axis: int
    shrink_axis: int
    offset: bool


def _parse(options: Options | None) -> Masks:
    fields = options or {}
    if int(fields.get("ellipsis_mask", 0)).bit_count() > 1:
        raise ValueError("ellipsis_mask has more than one bit")
    return Masks(
        begin=int(fields.get("begin_mask", 0)),
        end=int(fields.get("end_mask", 0)),
        ellipsis=int(fields.get("ellipsis_mask", 0)),
        new_axis=int(fields.get("new_axis_mask", 0)),
        shrink_axis=int(fields.get("shrink_axis_mask", 0)),
        offset=bool(fields.get("offset", False)),
    )


@dataclass(frozen=True, slots=True)
class DimensionCut:
    """Range taken along one dimension of the input: `count` elements from `start` on, at a distance of `step`.

    `entry` is the index among the bounds where `start` is read at run time; `kept` tells that the output has the
    dimension too.
    """

    start: int
    step: int
    count: int
    kept: bool = True
    entry: int | None = None


def _slice_cuts(op: OperatorInstance) -> list[DimensionCut] | None:
    """SLICE's cuts; a size of -1 reaches to the end. None where a bound is out of range."""
    shape = input_shape(op)
    begins = constants_of(op, 1) if op.constants[1] is not None else (None,) * len(shape)
    sizes = constants_of(op, 2) if op.constants[2] is not None else static_shape(op.outputs[0])
    if not len(begins) == len(sizes) == len(shape):
        return None
    cuts = []
    for entry, (dim, begin, size) in enumerate(zip(shape, begins, sizes, strict=True)):
        count = dim - begin if size == -1 and begin is not None else size
        if count < 0 or (begin or 0) < 0 or (begin or 0) + count > dim:
            return None
        cuts.append(DimensionCut(begin or 0, 1, count, entry=entry if begin is None else None))
    return cuts


def _ellipsis_length(op: OperatorInstance, entries: int) -> int:
    masks: Masks = op.attributes
    in_range = (1 << entries) - 1
    new = (masks.new_axis & ~masks.ellipsis & in_range).bit_count()
    return len(input_type(op, 0).shape) - (entries - 1 - new)


def _strided_cuts(op: OperatorInstance) -> list[DimensionCut | None] | None:
    """STRIDED_SLICE's cuts in the output's order; None inside the list is a new dimension of 1.

    None where the bounds do not fit the input.
    """
    shape = input_shape(op)
    masks: Masks = op.attributes
    steps = constants_of(op, 3)
    entries = len(steps)
    cuts: list[DimensionCut | None] = []
    axis = 0
    for entry in range(entries):
        bit = 1 << entry
        if masks.ellipsis & bit:
            length = _ellipsis_length(op, entries)
            if length < 0 or axis + length > len(shape):
                return None
            cuts += [DimensionCut(0, 1, dim) for dim in shape[axis : axis + length]]
            axis += length
        elif masks.new_axis & bit:
            cuts.append(None)
        elif axis == len(shape):
            return None
        else:
            cut = _strided_cut(op, entry, shape[axis])
            if cut is None:
                return None
            cuts.append(cut)
            axis += 1
    return cuts + [DimensionCut(0, 1, dim) for dim in shape[axis:]]


def _strided_cut(op: OperatorInstance, entry: int, dim: int) -> DimensionCut | None:
    masks: Masks = op.attributes
    step, bit = constants_of(op, 3)[entry], 1 << entry
    begin_known = op.constants[1] is not None
    begin = constants_of(op, 1)[entry] if begin_known else 0
    if masks.shrink_axis & bit:
        if masks.begin & bit:
            # TensorFlow ignores the mask here; its Lite runtimes do not.
            return DimensionCut(0 if step > 0 else dim - 1, 1, 1, kept=False) if dim else None
        if not begin_known:
            return DimensionCut(0, 1, 1, kept=False, entry=entry)
        start = begin + dim if begin < 0 else begin
        return DimensionCut(start, 1, 1, kept=False) if 0 <= start < dim else None
    if not begin_known and not masks.begin & bit:
        return DimensionCut(0, step, _declared(op, entry), entry=entry)
    low, high = (0, dim) if step > 0 else (-1, dim - 1)

    def clamped(value: int) -> int:
        return min(max(value + dim if value < 0 else value, low), high)

    start = (low if step > 0 else high) if masks.begin & bit else clamped(begin)
    if masks.end & bit:
        stop = high if step > 0 else low
    elif op.constants[2] is None:
        return DimensionCut(start, step, _declared(op, entry))
    else:
        end = constants_of(op, 2)[entry]
        stop = clamped(begin + end if masks.offset else end)
    return DimensionCut(start, step, max(0, -(-(stop - start) // step)))


def _declared(op: OperatorInstance, entry: int) -> int:
    """The declared extent of the output's dimension for a bound read at run time; no ellipsis or new axis is near."""
    before = (op.attributes.shrink_axis & ((1 << entry) - 1)).bit_count()
    shape = static_shape(op.outputs[0])
    return shape[entry - before] if entry - before < len(shape) else -1


def _cuts(op: OperatorInstance) -> list[DimensionCut]:
    cuts = _strided_cuts(op) if isinstance(op.attributes, Masks) else _slice_cuts(op)
    return [cut for cut in cuts or () if cut is not None]


def rows_cut(op: OperatorInstance) -> int | None:
    """First row of a slice of [batch, height, width, channels] that takes some rows whole; None for any other."""
    shape, output = input_shape(op), static_shape(op.outputs[0])
    cuts = _cuts(op)
    if len(shape) != 4 or len(output) != 4 or any(c.entry is not None or c.step != 1 or not c.kept for c in cuts):
        return None
    whole = (shape[0], output[1], *shape[2:])
    return cuts[1].start if len(cuts) == 4 and output == whole else None


def fixed_cuts(op: OperatorInstance) -> tuple[tuple[int, int, bool], ...] | None:
    """(start, count, whether the output has the dimension) for each dimension of the input.

    None for bounds that are read at run time, steps other than 1, and new dimensions.
    """
    cuts = _strided_cuts(op) if isinstance(op.attributes, Masks) else _slice_cuts(op)
    if cuts is None or len(cuts) != len(input_type(op, 0).shape):
        return None
    if any(cut is None or cut.entry is not None or cut.step != 1 for cut in cuts):
        return None
    return tuple((cut.start, cut.count, cut.kept) for cut in cuts if cut is not None)


def _nest(op: OperatorInstance) -> Nest:
    strides = strides_of(input_shape(op))
    cuts = _cuts(op)
    return copy_nest(tuple(c.count for c in cuts), tuple(c.step * s for c, s in zip(cuts, strides, strict=True)))


def _kernel(op: OperatorInstance, target: Target) -> Kernel | View | Pieces:
    del target
    shape = input_shape(op)
    cuts, strides = _cuts(op), strides_of(shape)
    offset = sum(c.start * s for c, s in zip(cuts, strides, strict=True))
    if all(cut.entry is None for cut in cuts):
        return copy_kernel(op, _nest(op), offset if op.outputs[0].elements else 0)
    size = input_type(op, 0).dtype.bits // 8
    pad = (0,) * (MAX_RANK - len(cuts))
    fields = (
        ("rank", len(cuts)),
        ("extent", tuple(c.count for c in cuts) + pad),
        ("stride", tuple(s * size for s in strides) + pad),
        ("dimension", shape + pad),
        ("entry", tuple(-1 if c.entry is None else c.entry for c in cuts) + pad),
        ("offset", offset * size),
        ("element_bytes", size),
    )
    return Kernel("tflmgen_slice", "slice.h", (Input(0), Input(1), Output(0)), Params("tflmgen_slice", fields))


def _infer_slice(op: OperatorInstance) -> tuple[Shape | None, ...]:
    if op.constants[2] is None or (op.constants[1] is None and -1 in constants_of(op, 2)):
        return (None,)
    return (tuple(c.count for c in _slice_cuts(op) or ()),)


def _infer_strided(op: OperatorInstance) -> tuple[Shape | None, ...]:
    masks: Masks = op.attributes
    open_entries = ~masks.shrink_axis & ((1 << len(constants_of(op, 3))) - 1)
    open_begin = op.constants[1] is None and open_entries & ~masks.begin
    if open_begin or (op.constants[2] is None and open_entries & ~masks.end):
        return (None,)
    cuts = _strided_cuts(op) or ()
    return (tuple(1 if c is None else c.count for c in cuts if c is None or c.kept),)


def _run_time_starts_fit(op: OperatorInstance) -> bool:
    """Bounds read at run time leave a size that is known: at least 0, within the input, in steps of 1."""
    if op.constants[1] is not None and op.constants[2] is not None:
        return True
    cuts, shape = _cuts(op), input_shape(op)
    if isinstance(op.attributes, Masks) and (op.attributes.ellipsis or op.attributes.new_axis):
        return False
    return len(cuts) <= MAX_RANK and all(
        1 <= c.count <= dim
        and (c.entry is None or c.step == 1)
        and (c.entry is not None or 0 <= c.start + (c.count - 1) * c.step < dim)
        for c, dim in zip(cuts, shape, strict=True)
    )


def _bounds(*indices: int) -> tuple[Rule, ...]:
    return tuple(
        input_is(i, name, DType.INT32, DType.INT64) for i, name in zip(indices, ("begin", "end or size"), strict=True)
    )


SHARED = (
    *COMMON,
    SAME_MOVABLE_TYPE,
    *_bounds(1, 2),
    Rule(
        "a begin that is read at run time to be int32",
        lambda op: op.constants[1] is not None or input_type(op, 1).dtype is DType.INT32,
    ),
)

LAST = (
    Rule(
        "bounds read at run time to leave the size fixed, in steps of 1, in at most 6 dimensions", _run_time_starts_fit
    ),
    fits(_nest),
)

SLICE_RULES = (
    *SHARED,
    Rule("a begin and a size of one number per dimension, within the input", lambda op: _slice_cuts(op) is not None),
    *LAST,
)

STRIDED_RULES = (
    *SHARED,
    input_is(3, "stride", DType.INT32, DType.INT64),
    constant(3, "stride"),
    Rule(
        "a begin, an end and a stride of the same length",
        lambda op: all(input_type(op, i).elements == len(constants_of(op, 3)) for i in (1, 2)),
    ),
    Rule("strides other than 0", lambda op: all(step != 0 for step in constants_of(op, 3))),
    Rule("bounds that fit the input's dimensions", lambda op: _strided_cuts(op) is not None),
    *LAST,
)


def entries_of(masks: Masks, entries: int, rank: int) -> Iterator[tuple[int, int]]:
    """The entries of a STRIDED_SLICE's bounds that cut an axis, with this axis."""
    axis = 0
    for entry in range(entries):
        bit = 1 << entry
        if masks.ellipsis & bit:
            new = (masks.new_axis & ~masks.ellipsis & ((1 << entries) - 1)).bit_count()
            axis += rank - (entries - 1 - new)
        elif not masks.new_axis & bit:
            yield entry, axis
            axis += 1


def _keeps_order(op: OperatorInstance, axis: int) -> bool:
    """A STRIDED_SLICE that does not turn the axis round."""
    masks, steps = op.attributes, op.constants[3]
    if not isinstance(masks, Masks) or steps is None:
        return False
    rank = len(input_type(op, 0).shape)
    return all(at != axis or int(steps.reshape(-1)[entry]) == 1 for entry, at in entries_of(masks, steps.size, rank))


OPERATORS = (
    OperatorSpec(
        "SLICE",
        no_attributes,
        (3, 3),
        1,
        SLICE_RULES,
        _infer_slice,
        _kernel,
        traits=replace(
            BY_AXIS, same_if_typed=True, cuts=True, moves=True, monotone_from=MONOTONE, roles=Roles(shapes=(1, 2))
        ),
    ),
    OperatorSpec(
        "STRIDED_SLICE",
        _parse,
        (4, 4),
        1,
        STRIDED_RULES,
        _infer_strided,
        _kernel,
        traits=Traits(row_wise=_keeps_order, cuts=True, moves=True, monotone_from=MONOTONE, roles=Roles(shapes=(1, 2))),
    ),
)
