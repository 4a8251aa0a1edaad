"""REDUCE_WINDOW and STABLEHLO_SCATTER: a function joins the elements of windows, and updates with what they meet.

Sources: the StableHLO specification, "reduce_window" and "scatter"; LiteRT's stablehlo_reduce_window.cc and
stablehlo_scatter.cc.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Overlap, Params, Target
from tflmgen.kernels.numeric.strides import MAX_RANK, Ints, strides_of
from tflmgen.kernels.operators.binary import SUFFIX
from tflmgen.kernels.operators.copying import MOVABLE, constants_of
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule
from tflmgen.kernels.specification.option_fields import present
from tflmgen.kernels.specification.rules import COMMON, constant, input_is, input_shape, input_type, labels
from tflmgen.kernels.traits import Traits

HEADER = "window_joins.h"
FUNCTIONS = ("the second", "ADD", "MUL", "MINIMUM", "MAXIMUM", "ALL", "ANY")
"""The schema's ReduceWindowFunction; 0, which it gives no meaning, is the update of STABLEHLO_SCATTER."""
ALL = FUNCTIONS.index("ALL")
SUFFIXES = {**SUFFIX, DType.UINT64: "u64"}
JOINED = tuple(dtype for dtype in MOVABLE if dtype is not DType.FLOAT16)

INPUT, INITIAL, WINDOW, STEPS, DILATIONS = range(5)
"""Inputs of REDUCE_WINDOW."""
INDICES, UPDATES = 1, 2
"""Inputs of STABLEHLO_SCATTER behind its first."""


@dataclass(frozen=True, slots=True)
class JoinAttributes:
    """Number of the function in FUNCTIONS."""

    reduce_function: int


@dataclass(frozen=True, slots=True)
class ScatterAttributes:
    """StableHLO's attributes of a scatter, and the number of its computation in FUNCTIONS."""

    update_window_dims: Ints
    inserted_window_dims: Ints
    scatter_dims_to_operand_dims: Ints
    index_vector_dim: int
    reduce_function: int


def _function(options: Options | None) -> JoinAttributes:
    function = int(present(options).get("reduce_function", 0))
    if not 0 < function < len(FUNCTIONS):
        raise ValueError(f"reduce_function {function} is none: it is 1 to {len(FUNCTIONS) - 1}")
    return JoinAttributes(function)


def _scatter(options: Options | None) -> ScatterAttributes:
    fields = present(options)
    names = ("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims")
    lists = [tuple(int(n) for n in fields.get(name) or ()) for name in names]
    function = fields.get("reduce_function")
    if function is None:
        raise ValueError("its computation is none of one STABLEHLO_ADD, _MULTIPLY, _MAXIMUM or _MINIMUM, or of none")
    return ScatterAttributes(lists[0], lists[1], lists[2], int(fields.get("index_vector_dim", 0)), int(function))


def _padded(values: Ints, rest: int = 0) -> Ints:
    return values + (rest,) * (MAX_RANK - len(values))


def _extents(op: OperatorInstance) -> Ints:
    """Extents of the output: how many windows lie within the input."""
    sizes = zip(input_shape(op), *(constants_of(op, i) for i in (WINDOW, STEPS, DILATIONS)), strict=True)
    return tuple(max((size - (taps - 1) * dilation - 1) // step + 1, 0) for size, taps, step, dilation in sizes)


def _windows_kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    strides, extents = strides_of(input_shape(op)), _extents(op)
    window, steps, dilations = (constants_of(op, i) for i in (WINDOW, STEPS, DILATIONS))
    if 0 in extents:
        extents = tuple(0 if i == len(extents) - 1 else 1 for i in range(len(extents)))
    fields = (
        ("rank", len(extents)),
        ("output", _padded(extents)),
        ("step", _padded(tuple(a * b for a, b in zip(strides, steps, strict=True)))),
        ("window", _padded(window)),
        ("tap_step", _padded(tuple(a * b for a, b in zip(strides, dilations, strict=True)))),
        ("function", op.attributes.reduce_function),
    )
    function = f"tflmgen_reduce_window_{SUFFIXES[op.outputs[0].dtype]}"
    operands = (Input(INPUT), Input(INITIAL), Output(0))
    return Kernel(function, HEADER, operands, Params("tflmgen_reduce_window", fields))


def _index_shape(op: OperatorInstance) -> tuple[Ints, Ints]:
    """Extents of the indices' dimensions that count points, and strides of all, with the dimension of the vectors."""
    shape, axis = input_shape(op, INDICES), op.attributes.index_vector_dim
    whole = (*shape, 1) if axis == len(shape) else shape
    return whole[:axis] + whole[axis + 1 :], strides_of(whole)


def _vector_size(op: OperatorInstance) -> int:
    shape, axis = input_shape(op, INDICES), op.attributes.index_vector_dim
    return 1 if axis == len(shape) else shape[axis]


def _window_dims(op: OperatorInstance) -> Ints:
    """Dimensions of the input that a window has more than one place in, in order."""
    return tuple(d for d in range(len(input_shape(op))) if d not in op.attributes.inserted_window_dims)


def _scatter_kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    attributes, shape, updates = op.attributes, input_shape(op), input_shape(op, UPDATES)
    axis, (_, index_strides) = attributes.index_vector_dim, _index_shape(op)
    point_steps = iter(index_strides[:axis] + index_strides[axis + 1 :])
    along = dict(zip(_window_dims(op), attributes.update_window_dims, strict=True))
    component = {d: k * index_strides[axis] for k, d in enumerate(attributes.scatter_dims_to_operand_dims)}
    dims = range(len(shape))
    steps = tuple(0 if k in attributes.update_window_dims else next(point_steps) for k in range(len(updates)))
    fields = (
        ("bytes", op.outputs[0].bytes),
        ("updates", math.prod(updates)),
        ("rank", len(updates)),
        ("extent", _padded(updates)),
        ("index_step", _padded(steps)),
        ("dimensions", len(shape)),
        ("dimension", _padded(shape)),
        ("stride", _padded(strides_of(shape))),
        ("window_axis", _padded(tuple(along.get(d, -1) for d in dims), -1)),
        ("component", _padded(tuple(component.get(d, -1) for d in dims), -1)),
        ("function", attributes.reduce_function),
    )
    dtype = DType.UINT16 if op.outputs[0].dtype is DType.FLOAT16 else op.outputs[0].dtype
    function = f"tflmgen_stablehlo_scatter_{SUFFIXES[dtype]}_{SUFFIX[input_type(op, INDICES).dtype]}"
    operands = (Input(0), Input(INDICES), Input(UPDATES), Output(0))
    params = Params("tflmgen_stablehlo_scatter", fields)
    return Kernel(function, HEADER, operands, params, overlaps=(Overlap(0, 0),))


def _ascend(values: Ints, limit: int) -> bool:
    return all(0 <= v < limit for v in values) and all(a < b for a, b in pairwise(values))


def _dims_fit(op: OperatorInstance) -> bool:
    attributes, rank, updates = op.attributes, len(input_shape(op)), len(input_shape(op, UPDATES))
    chosen = attributes.scatter_dims_to_operand_dims
    return (
        0 <= attributes.index_vector_dim <= len(input_shape(op, INDICES))
        and _ascend(attributes.update_window_dims, updates)
        and _ascend(attributes.inserted_window_dims, rank)
        and len(set(chosen)) == len(chosen) == _vector_size(op)
        and all(0 <= d < rank for d in chosen)
        and len(attributes.update_window_dims) + len(attributes.inserted_window_dims) == rank
    )


def _updates_fit(op: OperatorInstance) -> bool:
    shape, updates, windows = input_shape(op), input_shape(op, UPDATES), op.attributes.update_window_dims
    points = tuple(size for k, size in enumerate(updates) if k not in windows)
    bounds = zip(windows, _window_dims(op), strict=True)
    return points == _index_shape(op)[0] and all(updates[k] <= shape[d] for k, d in bounds)


def _same_types(others: Ints) -> Rule:
    return Rule(
        "operands and an output of one type",
        lambda op: all(t.dtype is input_type(op, 0).dtype for t in (*(input_type(op, i) for i in others), *op.outputs)),
    )


def _positive(place: int, label: str) -> Rule:
    return Rule(
        f"a positive {label} for each dimension of the input",
        lambda op: len(constants_of(op, place)) == len(input_shape(op)) and min(constants_of(op, place)) > 0,
    )


WINDOW_RULES = (
    *COMMON,
    input_is(INPUT, "input", *JOINED),
    _same_types((INITIAL,)),
    *(
        rule
        for place, label in ((WINDOW, "window"), (STEPS, "stride"), (DILATIONS, "dilation"))
        for rule in (input_is(place, f"tensor of the {label}s", DType.INT64), constant(place, label))
    ),
    Rule(f"an input of 1 to {MAX_RANK} dimensions", lambda op: 1 <= len(input_shape(op)) <= MAX_RANK),
    Rule("an initial value of one element", lambda op: input_type(op, INITIAL).elements == 1),
    _positive(WINDOW, "window"),
    _positive(STEPS, "stride"),
    _positive(DILATIONS, "dilation"),
)

SCATTER_RULES = (
    *COMMON,
    input_is(0, "input", *MOVABLE),
    _same_types((UPDATES,)),
    input_is(INDICES, "index tensor", DType.INT32, DType.INT64),
    Rule(
        f"float16 elements to be replaced, not joined; other types are {labels(JOINED)}",
        lambda op: input_type(op, 0).dtype in JOINED or op.attributes.reduce_function == 0,
    ),
    Rule(
        f"an input and updates of at most {MAX_RANK} dimensions, the input of at least 1",
        lambda op: 1 <= len(input_shape(op)) <= MAX_RANK >= len(input_shape(op, UPDATES)),
    ),
    Rule("dimensions of windows and of index vectors that fit the input, the indices and the updates", _dims_fit),
    Rule("one update for each point, in a window no larger than the input", _updates_fit),
)

OPERATORS = (
    OperatorSpec(
        "REDUCE_WINDOW",
        _function,
        (5, 5),
        1,
        WINDOW_RULES,
        lambda op: (_extents(op),),
        _windows_kernel,
        traits=Traits(ignores_scales=True, takes_nothing=True),
    ),
    OperatorSpec(
        "STABLEHLO_SCATTER",
        _scatter,
        (3, 3),
        1,
        SCATTER_RULES,
        lambda op: (input_shape(op),),
        _scatter_kernel,
        traits=Traits(ignores_scales=True, takes_nothing=True),
    ),
)
