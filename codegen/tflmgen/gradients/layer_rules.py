"""Gradients of layers with weights, pools and normalisations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tflmgen.gradients.rule import (
    GradientRule,
    Gradients,
    NoGradientError,
    RuleContext,
    check_matrix,
    through_activation,
)

FILTER_GRADIENT = "CUSTOM:TflmgenConv2DFilterGradient"
INPUT_GRADIENT = "CUSTOM:TflmgenConv2DInputGradient"
DEPTHWISE_FILTER_GRADIENT = "CUSTOM:TflmgenDepthwiseConv2DFilterGradient"
DEPTHWISE_INPUT_GRADIENT = "CUSTOM:TflmgenDepthwiseConv2DInputGradient"
MAX_POOL_GRADIENT = "CUSTOM:TflmgenMaxPool2DGradient"
AVERAGE_POOL_GRADIENT = "CUSTOM:TflmgenAveragePool2DGradient"

_STEPS = ("padding", "stride_h", "stride_w", "dilation_h_factor", "dilation_w_factor", "filter_height", "filter_width")


_LEAST_LENGTH = 1e-6
"""Least length by which TFLite's L2_NORMALIZATION divides (reference_ops/l2normalization.h)."""


def _steps(options: Mapping[str, Any]) -> dict[str, int]:
    """Padding, strides and dilations of a window."""
    return {name: int(options[name]) for name in _STEPS if name in options}


def _by_bias(context: RuleContext, gradient: int, place: int) -> int | None:
    """The sum over all rows, where the layer has a bias that trains."""
    if not context.needs(place):
        return None
    a = context.arithmetic
    rank = len(a.shape(gradient))
    return a.reshape(a.sum(gradient, range(rank - 1)), context.shape(place))


def _require_floats(context: RuleContext, place: int) -> None:
    if not context.source.is_float(context.node.inputs[place]):
        raise NoGradientError(f"weights of {context.source.tensors[context.node.inputs[place]].type_name}")


def _fully_connected(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """Y = X W^T + b: G W, G^T X and the sum of G's rows."""
    _require_floats(context, 1)
    a = context.arithmetic
    assert gradients[0] is not None
    gradient = through_activation(context, gradients[0])
    units, depth = context.shape(1)
    rows = math.prod(context.shape(0)) // depth
    gradient = a.reshape(gradient, (rows, units))
    by_input = by_weights = None
    if context.needs(0):
        by_input = a.reshape(a.product(gradient, context.input(1)), context.shape(0))
    if context.needs(1):
        by_weights = a.product(gradient, a.reshape(context.input(0), (rows, depth)), left_transposed=True)
    return [by_input, by_weights, _by_bias(context, gradient, 2)]


def _batch_matmul(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """Z = X Y: G Y^T and X^T G; of an operand that the operator transposes, the transpose of that."""
    _require_floats(context, 0)
    _require_floats(context, 1)
    a, gradient = context.arithmetic, gradients[0]
    assert gradient is not None
    flips = bool(context.node.options.get("adj_x")), bool(context.node.options.get("adj_y"))
    by_left = by_right = None
    if context.needs(0):
        right = context.input(1)
        by_left = (
            a.product(right, gradient, flips[1], True) if flips[0] else a.product(gradient, right, False, not flips[1])
        )
        by_left = a.reduced_to(by_left, context.shape(0))
    if context.needs(1):
        left = context.input(0)
        by_right = (
            a.product(gradient, left, True, flips[0]) if flips[1] else a.product(left, gradient, not flips[0], False)
        )
        by_right = a.reduced_to(by_right, context.shape(1))
    return [by_left, by_right]


def _convolution(by_input: str, by_filter: str) -> GradientRule:
    def rule(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
        _require_floats(context, 1)
        a = context.arithmetic
        assert gradients[0] is not None
        gradient, options = through_activation(context, gradients[0]), _steps(context.node.options)
        results: list[int | None] = [None, None]
        if context.needs(0):
            results[0] = a.graph.compute(by_input, [gradient, context.input(1)], context.shape(0), options=options)
        if context.needs(1):
            results[1] = a.graph.compute(by_filter, [context.input(0), gradient], context.shape(1), options=options)
        return [*results, _by_bias(context, gradient, 2)]

    return rule


def _transposed_convolution(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """It is a convolution's gradient by the input: its own are that convolution and its gradient by the filter."""
    _require_floats(context, 1)
    a = context.arithmetic
    assert gradients[0] is not None
    gradient, options = through_activation(context, gradients[0]), _steps(context.node.options)
    results: list[int | None] = [None, None, None]
    if context.needs(1):
        filters = (context.shape(2)[3], *context.shape(1)[1:3], context.shape(1)[0])
        operands = [gradient, context.input(2)]
        by_filter = a.graph.compute(FILTER_GRADIENT, operands, filters, options=options)
        results[1] = a.transpose(by_filter, (3, 1, 2, 0))
    if context.needs(2):
        filters_of = a.transpose(context.input(1), (3, 1, 2, 0))
        zeros = a.graph.constant([0.0] * context.shape(2)[3])
        unit = {**options, "dilation_h_factor": 1, "dilation_w_factor": 1}
        results[2] = a.graph.compute("CONV_2D", [gradient, filters_of, zeros], context.shape(2), options=unit)
    return [*results, _by_bias(context, gradient, 3)]


def _max_pool(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """To the first of a window's greatest elements."""
    assert gradients[0] is not None
    gradient = through_activation(context, gradients[0])
    operands = [context.input(0), gradient]
    graph, options = context.arithmetic.graph, _steps(context.node.options)
    return [graph.compute(MAX_POOL_GRADIENT, operands, context.shape(0), options=options)]


def _average_pool(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """In equal parts to the elements of a window, padding left out."""
    assert gradients[0] is not None
    gradient = through_activation(context, gradients[0])
    graph, options = context.arithmetic.graph, _steps(context.node.options)
    return [graph.compute(AVERAGE_POOL_GRADIENT, [gradient], context.shape(0), options=options)]


def _root_pool(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """The root of the mean of squares: x times the average pool's gradient by g / y, 0 where the root is."""
    a, result = context.arithmetic, context.output()
    assert gradients[0] is not None
    gradient = through_activation(context, gradients[0])
    is_positive = a.greater(result, a.number(0))
    share = a.where(is_positive, a.divide(gradient, a.choose(is_positive, result, a.number(1))))
    options = _steps(context.node.options)
    pooled = a.graph.compute(AVERAGE_POOL_GRADIENT, [share], context.shape(0), options=options)
    return [a.multiply(context.input(0), pooled)]


def _local_response(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """Y = x n^-b, n = c + a (W x^2), W the channels in each window: g n^-b - 2 a b x W^T (g x n^(-b-1))."""
    a, x, gradient, options = context.arithmetic, context.input(0), gradients[0], context.node.options
    assert gradient is not None
    radius, depth = int(options.get("radius", 0)), context.shape(0)[-1]
    bias, alpha, beta = (float(options.get(name, 0.0)) for name in ("bias", "alpha", "beta"))
    check_matrix(depth, depth)
    distance = np.arange(depth)[None] - np.arange(depth)[:, None]
    windows = ((distance >= -radius) & (distance < radius)).astype(np.float32)
    rows = (math.prod(context.shape(0)[:-1]), depth)
    x, gradient = a.reshape(x, rows), a.reshape(gradient, rows)
    sums = a.product(a.square(x), a.graph.constant(windows), right_transposed=True)
    norm = a.add(a.scale(sums, alpha), a.number(bias))
    power = a.graph.compute("POW", [norm, a.filled(rows, -beta)], rows)
    passed = a.multiply(gradient, power)
    shared = a.product(a.divide(a.multiply(passed, x), norm), a.graph.constant(windows))
    by_input = a.subtract(passed, a.scale(a.multiply(x, shared), 2 * alpha * beta))
    return [a.reshape(by_input, context.shape(0))]


def _softmax(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """beta y (g - the sum of g y)."""
    a, gradient, result = context.arithmetic, gradients[0], context.output()
    assert gradient is not None
    weighted = a.sum(a.multiply(gradient, result), [-1], keep=True)
    by_input = a.multiply(result, a.subtract(gradient, weighted))
    return [a.scale(by_input, float(context.node.options.get("beta", 1.0)))]


def _log_softmax(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """G - softmax(x) times the sum of g."""
    a, gradient = context.arithmetic, gradients[0]
    assert gradient is not None
    share = a.multiply(a.exponential(context.output()), a.sum(gradient, [-1], keep=True))
    return [a.subtract(gradient, share)]


def _l2_normalization(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """(g - y times the sum of g y) / |x|, with |x| of at least 10^-6 as TFLite has it."""
    if context.node.activation:
        raise NoGradientError("a fused activation")
    a, gradient, x = context.arithmetic, gradients[0], context.input(0)
    assert gradient is not None
    squares = a.sum(a.square(x), [-1], keep=True)
    length = a.maximum(a.square_root(squares), a.number(_LEAST_LENGTH))
    unit = a.divide(x, length)
    is_long = a.greater(a.square_root(squares), a.number(_LEAST_LENGTH))
    along = a.where(is_long, a.sum(a.multiply(gradient, unit), [-1], keep=True))
    return [a.divide(a.subtract(gradient, a.multiply(unit, along)), length)]


RULES: Mapping[str, GradientRule] = {
    "AVERAGE_POOL_2D": _average_pool,
    "BATCH_MATMUL": _batch_matmul,
    "CONV_2D": _convolution(INPUT_GRADIENT, FILTER_GRADIENT),
    "DEPTHWISE_CONV_2D": _convolution(DEPTHWISE_INPUT_GRADIENT, DEPTHWISE_FILTER_GRADIENT),
    "FULLY_CONNECTED": _fully_connected,
    "L2_NORMALIZATION": _l2_normalization,
    "L2_POOL_2D": _root_pool,
    "LOCAL_RESPONSE_NORMALIZATION": _local_response,
    "LOG_SOFTMAX": _log_softmax,
    "MAX_POOL_2D": _max_pool,
    "SOFTMAX": _softmax,
    "TRANSPOSE_CONV": _transposed_convolution,
}
