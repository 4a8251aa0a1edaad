"""Transfer functions of the range analysis beside brute force: no element is outside, and ends are reached."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tflmgen.ir.kernel.call import OperatorInstance
from tflmgen.ir.types import DType, Quantization, TensorType
from tflmgen.kernels.folding.evaluate import fold
from tflmgen.kernels.numeric.fixed_point import requantize
from tflmgen.kernels.numeric.quantize_math import Activation, activation_range, quantize_multiplier
from tflmgen.kernels.operators.arithmetic import Fused
from tflmgen.kernels.operators.concatenation import JoinAxis
from tflmgen.kernels.operators.conv import ConvAttributes
from tflmgen.kernels.operators.fully_connected import FullyConnectedAttributes
from tflmgen.kernels.operators.pool import PoolAttributes
from tflmgen.kernels.operators.reduce import ReduceAttributes
from tflmgen.kernels.ranges.intervals import Interval, of_array, whole
from tflmgen.kernels.ranges.transfer import output_ranges
from tflmgen.kernels.specification.window import Steps

Array = NDArray[Any]
EVERY = np.arange(-128, 128)


def kind(dtype: str, shape: tuple[int, ...], scale: float = 0.0, point: int = 0, axis: int = 0) -> TensorType:
    return TensorType(DType[dtype.upper()], shape, Quantization((scale,), (point,), axis) if scale else None)


def input_ranges(op: OperatorInstance, known: Sequence[Interval | None]) -> tuple[Interval | None, ...]:
    """The intervals of an operator's inputs: those of constants by their elements, of others `known`."""
    ranges: list[Interval | None] = []
    for kind, array, interval in zip(op.inputs, op.constants, known, strict=True):
        if kind is None:
            ranges.append(None)
        elif array is not None:
            ranges.append(of_array(array, kind))
        else:
            ranges.append(interval if interval is not None else whole(kind))
    return tuple(ranges)


def intervals(name: str, op: OperatorInstance, *known: Interval | None) -> Interval:
    padded = (*known, *(None,) * (len(op.inputs) - len(known)))
    result = output_ranges(name, op, input_ranges(op, padded))[0]
    assert result is not None
    return result


def interval(low: Any, high: Any) -> Interval:
    return Interval(np.array(low, np.int64), np.array(high, np.int64))


def convolved(
    x: Array, weights: Array, bias: Array, scales: tuple[float, float, float], points: tuple[int, int], act: Activation
) -> Array:
    """Windows x[n, k, c] by weights[o, k, c], rounded as TFLite does it; a NaN in x is outside the image."""
    multiplier, shift = quantize_multiplier(scales[0] * scales[1] / scales[2])
    inside = np.where(np.isnan(x), points[0], x) - points[0]
    sums = np.einsum("nkc,okc->no", inside, weights).astype(np.int64) + bias
    low, high = activation_range(act, DType.INT8, Quantization((scales[2],), (points[1],)))
    distinct, places = np.unique(sums, return_inverse=True)
    results = np.array([requantize(int(v), multiplier, shift) + points[1] for v in distinct])
    clipped: Array = np.clip(results[places].reshape(sums.shape), low, high)
    return clipped


@pytest.mark.parametrize("activation", [Activation.NONE, Activation.RELU, Activation.RELU6])
@pytest.mark.parametrize(("low", "high"), [(-128, 127), (-30, 40), (5, 5)])
@pytest.mark.parametrize("seed", range(4))
def test_a_convolution_of_every_input(activation: Activation, low: int, high: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, bias = rng.integers(-127, 128, (5, 1, 1, 2)), rng.integers(-4000, 4000, 5)
    weights[1], weights[2, ..., 0] = 0, 0
    scales, points = (0.05, 0.01, 0.2), (int(rng.integers(-128, 128)), int(rng.integers(-128, 128)))
    steps = Steps(False, 1, 1)
    types = kind("int8", (1, 1, 1, 2), scales[0], points[0]), kind("int8", weights.shape, scales[1])
    op = OperatorInstance(
        (*types, kind("int32", (5,))),
        (kind("int8", (1, 1, 1, 5), scales[2], points[1]),),
        (None, weights, bias),
        ConvAttributes(steps, activation),
    )
    result = intervals("CONV_2D", op, interval([low, -128], [high, 127]))
    low_values, other = np.meshgrid(np.arange(low, high + 1), EVERY)
    x = np.stack([low_values.ravel(), other.ravel()], axis=-1)[:, None, :].astype(float)
    results = convolved(x, weights.reshape(5, 1, 2), bias, scales, points, activation)
    assert result == interval(results.min(axis=0), results.max(axis=0))


@pytest.mark.parametrize("constant", [-128, 17])
def test_a_constant_is_none_where_windows_reach_beyond_it_unless_it_is_zero(constant: int) -> None:
    weights = np.full((1, 3, 3, 1), 2)
    types = kind("int8", (1, 3, 3, 1), 0.1, -128), kind("int8", weights.shape, 0.1)
    for same, known in ((True, constant == -128), (False, True)):
        size = 3 if same else 1
        op = OperatorInstance(
            types,
            (kind("int8", (1, size, size, 1), 0.5, -128),),
            (None, weights),
            ConvAttributes(Steps(same, 1, 1), Activation.NONE),
        )
        result = intervals("DEPTHWISE_CONV_2D", op, interval([constant], [constant]))
        taps = [
            [float(constant) if y and x else np.nan for y in (a, 1, 1) for x in (b, 1, 1)] for a, b in CORNERS[same]
        ]
        results = convolved(
            np.array(taps)[..., None],
            weights.reshape(1, 9, 1),
            np.zeros(1),
            (0.1, 0.1, 0.5),
            (-128, -128),
            Activation.NONE,
        )
        assert bool(result.known[0]) is known
        assert result.low[0] <= results.min()
        assert result.high[0] >= results.max()


CORNERS = {True: [(0, 0), (0, 1), (1, 0), (1, 1)], False: [(1, 1)]}


def test_a_matrix_whose_rows_are_several_pixels() -> None:
    weights = np.array([[1, 0, 0, 0], [0, 0, 0, -2]])
    types = kind("int8", (1, 2, 2), 1.0, 0), kind("int8", (2, 4), 1.0)
    attributes = FullyConnectedAttributes(Activation.NONE, False, False)
    op = OperatorInstance(types, (kind("int8", (1, 2), 1.0, 0),), (None, weights), attributes)
    assert intervals("FULLY_CONNECTED", op, interval([1, 3], [2, 9])) == interval([1, -18], [2, -6])


def test_sums_that_could_overflow_are_not_known() -> None:
    weights, bias = np.zeros((1, 1), np.int64), np.array([2**31 - 1])
    types = kind("int8", (1, 1), 1.0), kind("int8", (1, 1), 1.0), kind("int32", (1,))
    attributes = FullyConnectedAttributes(Activation.RELU, False, False)
    for scale, expected in ((4.0, interval([127], [127])), (0.001, interval([0], [127]))):
        op = OperatorInstance(types, (kind("int8", (1, 1), scale),), (None, weights, bias), attributes)
        assert intervals("FULLY_CONNECTED", op) == expected


@pytest.mark.parametrize("name", ["ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM"])
@pytest.mark.parametrize("seed", range(3))
def test_two_operands(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    same = name in ("MAXIMUM", "MINIMUM")
    scales, points = rng.uniform(0.01, 0.1, 3), rng.integers(-128, 128, 3)
    if same:
        scales[:], points[:] = scales[0], points[0]
    ends = np.sort(rng.integers(-128, 128, (2, 2)), axis=1)
    pairs = np.array(list(itertools.product(*(np.arange(a, b + 1) for a, b in ends)))).T
    types = [kind("int8", (pairs.shape[1],), float(s), int(p)) for s, p in zip(scales, points, strict=True)]
    attributes = Fused(Activation.NONE)
    results = fold(name, OperatorInstance(tuple(types[:2]), (types[2],), tuple(pairs.astype(np.int8)), attributes))
    assert results is not None
    op = OperatorInstance(tuple(types[:2]), (types[2],), (None, None), attributes)
    wide = [interval(np.full(pairs.shape[1], a), np.full(pairs.shape[1], b)) for a, b in ends]
    result = intervals(name, op, *wide)
    assert result.hull == (int(results[0].min()), int(results[0].max()))


@pytest.mark.parametrize("name", ["LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL"])
def test_comparisons(name: str) -> None:
    ends = list(itertools.combinations_with_replacement(range(4), 2))
    op = OperatorInstance((kind("int32", (1,)),) * 2, (kind("bool", (1,)),), (None, None), None)
    for (a, b), (c, d) in itertools.product(ends, ends):
        function = getattr(np, name.lower())
        outcomes = {int(function(x, y)) for x in range(a, b + 1) for y in range(c, d + 1)}
        assert intervals(name, op, interval([a], [b]), interval([c], [d])).hull == (min(outcomes), max(outcomes))


@pytest.mark.parametrize("name", ["RELU", "RELU6", "TANH", "QUANTIZE", "REQUANTIZE"])
def test_functions_of_one_element(name: str) -> None:
    scale, point = (1 / 128, 0) if name == "TANH" else (0.04, -20)
    types = kind("int8", (256,), 0.04, -20), kind("int8", (256,), scale, point)
    results = fold(name, OperatorInstance(types[:1], types[1:], (EVERY.astype(np.int8),), None))
    assert results is not None
    op = OperatorInstance((kind("int8", (1,), 0.04, -20),), (kind("int8", (1,), scale, point),), (None,), None)
    for low, high in ((-128, 127), (-30, 5), (90, 90)):
        part = results[0][low + 128 : high + 129]
        assert intervals(name, op, interval([low], [high])).hull == (int(part.min()), int(part.max()))


def test_moves_take_their_channels_along() -> None:
    x = interval([0, 10, 20], [1, 11, 21])
    shape = kind("int8", (1, 2, 3), 1.0)
    flat = OperatorInstance((shape,), (kind("int8", (1, 6), 1.0),), (None,), None)
    assert intervals("SQUEEZE", flat, x) == interval([0, 10, 20] * 2, [1, 11, 21] * 2)
    turned = OperatorInstance(
        (shape, kind("int32", (3,))), (kind("int8", (1, 3, 2), 1.0),), (None, np.array([0, 2, 1], np.int32)), None
    )
    assert intervals("TRANSPOSE", turned, x) == interval([0, 0], [21, 21])
    fixed = np.array([[[7], [9]]], np.int8)
    joined = OperatorInstance(
        (shape, kind("int8", (1, 2, 1), 1.0)), (kind("int8", (1, 2, 4), 1.0),), (None, fixed), JoinAxis(-1)
    )
    assert intervals("CONCATENATION", joined, x) == interval([0, 10, 20, 7], [1, 11, 21, 9])


def test_padding_joins_what_it_fills_in() -> None:
    table = np.array([[0, 0], [1, 0], [0, 1]], np.int32)
    op = OperatorInstance(
        (kind("int8", (1, 2, 2), 1.0, 5), kind("int32", (3, 2))),
        (kind("int8", (1, 3, 3), 1.0, 5),),
        (None, table),
        None,
    )
    assert intervals("PAD", op, interval([0, 7], [1, 8])) == interval([0, 5, 5], [5, 8, 5])


@pytest.mark.parametrize("name", ["PAD", "PADV2"])
def test_a_scalar_has_nothing_to_pad(name: str) -> None:
    scalar, value = kind("int8", (), 1.0, 5), np.array(9, np.int8)
    table = np.zeros((0, 2), np.int32)
    op = OperatorInstance((scalar, kind("int32", (0, 2)), scalar), (scalar,), (None, table, value), None)
    op = op if name == "PADV2" else OperatorInstance(op.inputs[:2], op.outputs, op.constants[:2], None)
    assert intervals(name, op, interval([3], [7])) == interval([3], [7])


@pytest.mark.parametrize("zeros", [False, True])
def test_pools_of_a_constant(zeros: bool) -> None:
    attributes = PoolAttributes(Steps(False, 1, 1, before=(1, 1)), (2, 2), Activation.NONE, zeros)
    same = kind("int8", (1, 3, 3, 2), 1.0, 5)
    op = OperatorInstance((same,), (same,), (None,), attributes)
    expected = interval([5, 5], [9, 5]) if zeros else interval([9, 5], [9, 5])
    assert intervals("AVERAGE_POOL_2D", op, interval([9, 5], [9, 5])) == expected


@pytest.mark.parametrize(("name", "expected"), [("MEAN", (10, 12)), ("REDUCE_MAX", (10, 12))])
def test_reductions_keep_the_channels(name: str, expected: tuple[int, int]) -> None:
    op = OperatorInstance(
        (kind("int8", (1, 3, 3, 2), 0.5, 4), kind("int32", (2,))),
        (kind("int8", (1, 2), 0.5, 4),),
        (None, np.array([1, 2], np.int32)),
        ReduceAttributes(False),
    )
    assert intervals(name, op, interval([10, 3], [12, 3])) == interval([expected[0], 3], [expected[1], 3])


def test_other_operators_can_give_all_that_their_type_can_hold() -> None:
    softmax = kind("int8", (1, 4), 1 / 256, -128)
    op = OperatorInstance((softmax,), (softmax,), (None,), None)
    assert intervals("SOFTMAX", op) == whole(softmax)
    floats = OperatorInstance((kind("float32", (4,)),), (kind("float32", (4,)),), (None,), None)
    assert output_ranges("RELU", floats, (None,)) == (None,)


def test_constants_have_the_intervals_of_their_elements() -> None:
    values = np.array([[1, -5], [3, 0]], np.int8)
    assert of_array(values, kind("int8", (2, 2))) == interval([1, -5], [3, 0])
