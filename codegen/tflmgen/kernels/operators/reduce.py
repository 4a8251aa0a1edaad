"""MEAN, SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, REDUCE_ANY and REDUCE_ALL along any axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Overlap, Params, ParamValue, Target
from tflmgen.kernels.folding.fold_elements import Array, Fold, of_constants, operands, result
from tflmgen.kernels.numeric.fixed_point import requantized
from tflmgen.kernels.numeric.int8_tables import scale_ratio_of
from tflmgen.kernels.numeric.quantize_math import is_representable, quantize_multiplier
from tflmgen.kernels.numeric.real_functions import Real, Reals
from tflmgen.kernels.numeric.strides import MAX_RANK, normalize_axis, strides_of
from tflmgen.kernels.operators.rounded_sums import RequantizedSumsAttributes, mean_multiplier, requantized_sum_fields
from tflmgen.kernels.ranges.intervals import Inputs, Interval, Outputs, Transfer, channels_of
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, Shape
from tflmgen.kernels.specification.option_fields import present
from tflmgen.kernels.specification.rules import (
    COMMON,
    constant,
    input_is,
    input_shape,
    input_type,
    labels,
    output_is,
    per_tensor,
    scale,
    static_shape,
    where_computed,
    zero_point,
)
from tflmgen.kernels.traits import BY_AXIS, MONOTONE, Sums

HEADER = "reduce.h"
SUFFIX = {
    DType.FLOAT32: "f32",
    DType.INT8: "s8",
    DType.INT16: "s16",
    DType.INT32: "s32",
    DType.INT64: "s64",
    DType.BOOL: "bool",
}
QUANTIZED = (DType.INT8, DType.INT16)


@dataclass(frozen=True, slots=True)
class ReduceAttributes:
    """Whether reduced dimensions stay, with one element."""

    keep_dims: bool


def parse(options: Options | None) -> ReduceAttributes:
    """Whether reduced dimensions stay."""
    return ReduceAttributes(bool(present(options).get("keep_dims", False)))


def axes(op: OperatorInstance) -> frozenset[int] | None:
    """The reduced dimensions, or None where one is out of range."""
    rank = len(input_type(op, 0).shape)
    listed = [normalize_axis(int(axis), rank) for axis in np.asarray(op.constants[1]).reshape(-1)]
    return frozenset(axis for axis in listed if axis is not None) if None not in listed else None


def infer(op: OperatorInstance) -> tuple[Shape]:
    """The shape without the reduced axes, or with 1 in their place."""
    reduced, shape = axes(op) or frozenset(), input_type(op, 0).shape
    if op.attributes.keep_dims:
        return (tuple(1 if axis in reduced else dim for axis, dim in enumerate(shape)),)
    return (tuple(dim for axis, dim in enumerate(shape) if axis not in reduced),)


def loops(shape: tuple[int, ...], summed_axes: frozenset[int]) -> tuple[tuple[str, ParamValue], ...]:
    """TFLMGEN_REDUCE_FIELDS: neighbouring dimensions of one kind merged, each kind filled up to three loops.

    Kinds alternate, so that of at most 6 dimensions no kind can need more than three loops.
    """
    merged: list[tuple[bool, int, int]] = []
    for axis, (extent, stride) in enumerate(zip(shape, strides_of(shape), strict=True)):
        if extent == 1:
            continue
        if merged and merged[-1][0] == (axis in summed_axes):
            merged[-1] = (merged[-1][0], merged[-1][1] * extent, stride)
        else:
            merged.append((axis in summed_axes, extent, stride))

    def of_kind(kind: bool) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        rows = [(1, 0)] * 3 + [(extent, stride) for reduced, extent, stride in merged if reduced is kind]
        (a, p), (b, q), (c, r) = rows[-3:]
        return (a, b, c), (p, q, r)

    kept, reduced = of_kind(False), of_kind(True)
    return (
        ("kept", kept[0]),
        ("kept_strides", kept[1]),
        ("reduced", reduced[0]),
        ("reduced_strides", reduced[1]),
    )


def reduced_count(op: OperatorInstance) -> int:
    """Elements of the input for each one of the output."""
    shape = input_shape(op)
    return math.prod(shape[axis] for axis in axes(op) or ())


def _kernel(name: str) -> Callable[[OperatorInstance, Target], Kernel]:
    def kernel(op: OperatorInstance, target: Target) -> Kernel:
        del target
        tensor = input_type(op, 0)
        fields = loops(static_shape(tensor), axes(op) or frozenset())
        of_nothing = name == "MEAN" and not tensor.dtype.is_float and reduced_count(op) == 0
        function, struct = f"tflmgen_{name.lower()}_{SUFFIX[tensor.dtype]}", "tflmgen_reduce"
        if of_nothing and tensor.dtype not in QUANTIZED:
            function = f"tflmgen_sum_{SUFFIX[tensor.dtype]}"
        if name in ("MEAN", "SUM") and tensor.dtype in QUANTIZED:
            function, struct = f"tflmgen_requantized_sum_{SUFFIX[tensor.dtype]}", "tflmgen_reduce_quantized"
            fields += requantized_sum_fields(_attributes(name, op), op.outputs[0])
        return Kernel(function, HEADER, (Input(0), Output(0)), Params(struct, fields), (Overlap(0, 0),))

    return kernel


def _attributes(name: str, op: OperatorInstance) -> RequantizedSumsAttributes:
    tensor = input_type(op, 0)
    return RequantizedSumsAttributes(scale(tensor), zero_point(tensor), reduced_count(op), name == "MEAN")


def _sums(name: str, op: OperatorInstance) -> Sums | None:
    """The sums that a quantised SUM or MEAN requantises; no partial sum leaves 32 bits (`_sums_fit`)."""
    reduced = axes(op)
    if name not in ("MEAN", "SUM") or input_type(op, 0).dtype not in QUANTIZED or not reduced or not reduced_count(op):
        return None
    return Sums(reduced, op.attributes.keep_dims, "REQUANTIZED_SUMS", _attributes(name, op))


sum_kernel = _kernel("SUM")
"""The call that sums an operator's operand, whatever the operator makes of the sums."""


def _sums_fit(op: OperatorInstance) -> bool:
    tensor = input_type(op, 0)
    return tensor.dtype not in QUANTIZED or reduced_count(op) << tensor.dtype.bits < 2**31


def _kept_channels(op: OperatorInstance, x: Interval) -> Interval:
    """Range of the elements that are reduced to each channel of the output."""
    reduced = axes(op) or frozenset()
    last = len(input_type(op, 0).shape) - 1
    return x if last not in reduced else x.spread(channels_of(op.outputs[0]))


def _extreme_range(op: OperatorInstance, inputs: Inputs) -> Outputs:
    return None if inputs[0] is None else [_kept_channels(op, inputs[0])]


def _sum_range(is_mean: bool) -> Transfer:
    """Ranges of SUM or MEAN of quantised elements: it is monotone in each of them, so that the ends of the result are
    its results for the ends of the elements' range.
    """

    def ranges(op: OperatorInstance, inputs: Inputs) -> Outputs:
        source, output = input_type(op, 0), op.outputs[0]
        if inputs[0] is None or source.dtype not in QUANTIZED:
            return None
        x, count = _kept_channels(op, inputs[0]), reduced_count(op)
        if not count:
            return None
        multiplier, shift = quantize_multiplier(scale_ratio_of(op))
        if is_mean:
            multiplier, shift = mean_multiplier(multiplier, shift, count)
        sums = [count * (end - zero_point(source)) for end in (x.low, x.high)]
        left = max(0, shift)
        if not Interval(*sums).within(-(2**31 >> left), (2**31 >> left) - 1):
            return None
        least, greatest = output.dtype.limits
        low, high = (requantized(end, multiplier, shift) + zero_point(output) for end in sums)
        return [Interval(low, high).meet(least, greatest)]

    return ranges


def _fold_extreme(function: Callable[..., Any], limit: int) -> Callable[..., Array]:
    """`function` along axes; the least (limit 0) or greatest (1) number of the type where there are no elements."""

    def extreme(array: Array, axis: tuple[int, ...]) -> Array:
        kind: Any = np.finfo(array.dtype) if array.dtype.kind == "f" else np.iinfo(array.dtype)
        extremes: Array = function(array, axis=axis, **({} if array.size else {"initial": (kind.min, kind.max)[limit]}))
        return extremes

    return extreme


def _reduction(function: Callable[..., Any]) -> Fold:
    def evaluate(op: OperatorInstance) -> list[Array] | None:
        reduced = axes(op)
        array = operands(op)[0]
        exact = input_type(op, 0).dtype in (DType.INT32, DType.INT64, DType.BOOL) or not array.size
        return result(op, function(array, axis=tuple(sorted(reduced)))) if exact and reduced is not None else None

    return of_constants(evaluate)


def _real(function: Callable[..., Any]) -> Real:
    def evaluate(op: OperatorInstance, operands: Sequence[Reals]) -> Reals:
        reduced = tuple(sorted(axes(op) or ()))
        return np.asarray(function(operands[0], axis=reduced)).reshape(op.outputs[0].max_shape)

    return evaluate


def _wrapping(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction in the elements' own type, where NumPy would widen."""
    return lambda array, axis: function(array, axis=axis, dtype=array.dtype)


REQUANTIZED = "one scale each for an int8 or int16 input and output, the input's less than 2^30 times the output's"
UNCHANGED = "one scale and zero point for an int8 or int16 input and output"


def _quantization_fits(name: str, op: OperatorInstance) -> bool:
    before, after = input_type(op, 0), op.outputs[0]
    if before.dtype not in QUANTIZED:
        return True
    if not (per_tensor(before) and per_tensor(after)):
        return False
    if name in ("MEAN", "SUM"):
        return is_representable(scale_ratio_of(op))
    return scale(before) == scale(after) and zero_point(before) == zero_point(after)


# LiteRT's kernels leave such an output as their memory holds it.
QUANTIZED_SUM_HAS_ELEMENTS = where_computed(
    "an input of at least one element for a quantised sum",
    lambda op: input_type(op, 0).elements > 0 or input_type(op, 0).dtype not in QUANTIZED,
)


def _row(
    name: str, *dtypes: DType, fold: Fold | None, value_range: Transfer | None, real: Real | None = None, **traits: Any
) -> OperatorSpec:
    """One operator. Sums and means requantise int8 and int16; the extremes leave them as they are."""

    rules = (
        *COMMON,
        Rule(
            f"an input and an output of one type: {labels(dtypes)}",
            lambda op: input_type(op, 0).dtype in dtypes and op.outputs[0].dtype is input_type(op, 0).dtype,
        ),
        input_is(1, "list of axes", DType.INT32),
        constant(1, "list of axes"),
        Rule(f"an input of at most {MAX_RANK} dimensions", lambda op: len(input_type(op, 0).shape) <= MAX_RANK),
        Rule(
            "axes within the rank of its input",
            lambda op: axes(op) is not None,
            lambda op: f"axes {np.ravel(np.asarray(op.constants[1])).tolist()} and rank {len(input_type(op, 0).shape)}",
        ),
        *((QUANTIZED_SUM_HAS_ELEMENTS,) if name == "SUM" else ()),
        Rule(REQUANTIZED if name in ("MEAN", "SUM") else UNCHANGED, partial(_quantization_fits, name)),
        Rule("sums of int8 or int16 values that fit into 32 bits", _sums_fit),
        Rule("an output of the shape that the axes leave", lambda op: (op.outputs[0].shape,) == infer(op)),
    )
    return OperatorSpec(
        name,
        parse,
        (2, 2),
        1,
        rules,
        infer,
        _kernel(name),
        real=real,
        fold=fold,
        value_range=value_range,
        traits=replace(BY_AXIS, reduces=True, takes_nothing=True, sums=partial(_sums, name), **traits),
    )


def _wide_kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    tensor = input_type(op, 0)
    params = Params("tflmgen_reduce", loops(static_shape(tensor), axes(op) or frozenset()))
    return Kernel(f"tflmgen_wide_sum_{SUFFIX[tensor.dtype]}", HEADER, (Input(0), Output(0)), params)


_WIDE_RULES = (*COMMON, input_is(0, "input", *QUANTIZED), output_is(DType.INT32))

WIDE_SUM = OperatorSpec("WIDE_SUM", parse, (2, 2), 1, _WIDE_RULES, infer, _wide_kernel)
"""Sums of int8 or int16 elements as int32. Not an operator of TFLite: a sliding window keeps such sums."""

_NUMBERS = (DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32, DType.INT64)
_MEANS = (DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32)
_PRODUCTS = (DType.FLOAT32, DType.INT32, DType.INT64)

_FOLD_SUM, _FOLD_PROD = _reduction(_wrapping(np.sum)), _reduction(_wrapping(np.prod))
_FOLD_MAX, _FOLD_MIN = _reduction(_fold_extreme(np.max, 0)), _reduction(_fold_extreme(np.min, 1))

OPERATORS = (
    WIDE_SUM,
    _row(
        "MEAN",
        *_MEANS,
        fold=None,
        value_range=_sum_range(is_mean=True),
        real=_real(np.mean),
        neutral=0,
        monotone_from=MONOTONE,
    ),
    _row(
        "SUM",
        *_NUMBERS,
        fold=_FOLD_SUM,
        value_range=_sum_range(is_mean=False),
        real=_real(np.sum),
        neutral=0,
        monotone_from=MONOTONE,
    ),
    _row(
        "REDUCE_MAX",
        *_NUMBERS,
        fold=_FOLD_MAX,
        value_range=_extreme_range,
        real=_real(np.max),
        neutral=-math.inf,
        monotone_from=MONOTONE,
    ),
    _row("REDUCE_MIN", *_NUMBERS, fold=_FOLD_MIN, value_range=_extreme_range, real=_real(np.min), neutral=math.inf),
    _row("REDUCE_PROD", *_PRODUCTS, fold=_FOLD_PROD, value_range=None, real=_real(np.prod), neutral=1, monotone_from=0),
    _row("REDUCE_ANY", DType.BOOL, fold=_reduction(np.any), value_range=_extreme_range, neutral=0),
    _row("REDUCE_ALL", DType.BOOL, fold=_reduction(np.all), value_range=_extreme_range, neutral=1),
)
