"""Gradients of functions of elements; at kinks and ties as TensorFlow defines them (math_grad.py, nn_grad.py)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from tflmgen.gradients.graph_arithmetic import Arithmetic
from tflmgen.gradients.rule import GradientRule, Gradients, RuleContext, through_activation
from tflmgen.ir import DType
from tflmgen.kernels import OPERATORS

_TANH_SCALE = math.sqrt(2 / math.pi)
"""Factor of GELU's approximation by tanh (Hendrycks and Gimpel, 2016)."""

_TANH_CUBE = 0.044715
"""Factor of the cube in GELU's approximation by tanh."""

Slope = Callable[[Arithmetic, RuleContext], int]
"""Adds the derivative of a function of one element."""


def _by_slope(slope: Slope) -> GradientRule:
    def rule(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
        assert gradients[0] is not None
        return [context.arithmetic.multiply(gradients[0], slope(context.arithmetic, context))]

    return rule


def _between(low: float, high: float | None) -> GradientRule:
    """A clamp: the gradient passes where the result is strictly inside."""

    def rule(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
        a, gradient, result = context.arithmetic, gradients[0], context.output()
        assert gradient is not None
        gradient = a.where(a.greater(result, a.number(low)), gradient)
        return [gradient if high is None else a.where(a.greater(a.number(high), result), gradient)]

    return rule


def _logistic(a: Arithmetic, context: RuleContext) -> int:
    result = context.output()
    return a.multiply(result, a.subtract(a.number(1), result))


def _tanh(a: Arithmetic, context: RuleContext) -> int:
    return a.subtract(a.number(1), a.square(context.output()))


def _reciprocal(a: Arithmetic, context: RuleContext) -> int:
    return a.divide(a.number(1), context.input(0))


def _square_root(a: Arithmetic, context: RuleContext) -> int:
    return a.divide(a.number(0.5), context.output())


def _inverse_root(a: Arithmetic, context: RuleContext) -> int:
    """Slope of x to the power of -1/2: -1/2 y^3."""
    result = context.output()
    return a.multiply(a.scale(result, -0.5), a.square(result))


def _elu(a: Arithmetic, context: RuleContext) -> int:
    result = context.output()
    return a.choose(a.greater(a.number(0), result), a.add(result, a.number(1)), a.number(1))


def _leaky(a: Arithmetic, context: RuleContext) -> int:
    alpha = float(context.node.options.get("alpha", 0.0))
    return a.choose(a.greater(context.input(0), a.number(0)), a.number(1), a.number(alpha))


def _hard_swish(a: Arithmetic, context: RuleContext) -> int:
    """x relu6(x + 3) / 6: 0 up to -3, 1 from 3 on, x / 3 + 1/2 between them."""
    x = context.input(0)
    middle = a.add(a.scale(x, 1 / 3), a.number(0.5))
    below = a.choose(a.greater(x, a.number(-3)), middle, a.number(0))
    return a.choose(a.greater(a.number(3), x), below, a.number(1))


def _gelu(a: Arithmetic, context: RuleContext) -> int:
    """By tanh, and, where erf is wanted, that too: the operators of the format have no erf.

    The derivative of x Phi(x) is Phi(x) + x phi(x); Phi(x) is the result over x, 1/2 at 0.
    """
    x = context.input(0)
    if context.node.options.get("approximate", False):
        square = a.square(x)
        inner = a.multiply(a.scale(x, _TANH_SCALE), a.add(a.scale(square, _TANH_CUBE), a.number(1)))
        t = a.apply("TANH", inner)
        half = a.scale(a.add(t, a.number(1)), 0.5)
        slope = a.scale(a.add(a.scale(square, 3 * _TANH_CUBE), a.number(1)), _TANH_SCALE)
        steep = a.scale(a.multiply(a.multiply(x, a.subtract(a.number(1), a.square(t))), slope), 0.5)
        return a.add(half, steep)
    is_zero = a.compare("EQUAL", x, a.number(0))
    share = a.choose(is_zero, a.number(0.5), a.divide(context.output(), a.choose(is_zero, a.number(1), x)))
    density = a.scale(a.exponential(a.scale(a.square(x), -0.5)), 1 / math.sqrt(2 * math.pi))
    return a.add(share, a.multiply(x, density))


def _prelu(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    a, gradient = context.arithmetic, gradients[0]
    assert gradient is not None
    is_positive = a.greater(context.input(0), a.number(0))
    by_input, by_slope = None, None
    if context.needs(0):
        by_input = a.multiply(gradient, a.choose(is_positive, a.number(1), context.input(1)))
    if context.needs(1):
        product = a.multiply(gradient, context.input(0))
        by_slope = a.reduced_to(a.choose(is_positive, a.number(0), product), context.shape(1))
    return [by_input, by_slope]


def _both(left: Callable[[RuleContext, int], int], right: Callable[[RuleContext, int], int]) -> GradientRule:
    """Rule for two broadcast operands, by the gradient of each before it is summed over the copies."""

    def rule(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
        assert gradients[0] is not None
        gradient = through_activation(context, gradients[0])
        return [
            context.arithmetic.reduced_to(side(context, gradient), context.shape(place))
            if context.needs(place)
            else None
            for place, side in enumerate((left, right))
        ]

    return rule


def _same(context: RuleContext, gradient: int) -> int:
    del context
    return gradient


def _negative(context: RuleContext, gradient: int) -> int:
    return context.arithmetic.negative(gradient)


def _times(place: int) -> Callable[[RuleContext, int], int]:
    return lambda context, gradient: context.arithmetic.multiply(gradient, context.input(place))


def _quotient(context: RuleContext, gradient: int) -> int:
    return context.arithmetic.divide(gradient, context.input(1))


def _by_divisor(context: RuleContext, gradient: int) -> int:
    """-g x / y^2."""
    a = context.arithmetic
    quotient = a.divide(a.divide(context.input(0), context.input(1)), context.input(1))
    return a.negative(a.multiply(gradient, quotient))


def _angle(place: int, sign: float) -> Callable[[RuleContext, int], int]:
    """Slope of atan2(y, x): x by y and -y by x, over x^2 + y^2."""

    def side(context: RuleContext, gradient: int) -> int:
        a, (y, x) = context.arithmetic, (context.input(0), context.input(1))
        share = a.divide((y, x)[place], a.add(a.square(x), a.square(y)))
        return a.scale(a.multiply(gradient, share), sign)

    return side


def _whole_quotient(context: RuleContext, gradient: int) -> int:
    """-g times the quotient x / y, rounded down."""
    a = context.arithmetic
    return a.negative(a.multiply(gradient, a.apply("FLOOR", a.divide(context.input(0), context.input(1)))))


def _fake_quant(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """As it comes, within the range."""
    a, x, gradient = context.arithmetic, context.input(0), gradients[0]
    assert gradient is not None
    least, greatest, _ = OPERATORS["FAKE_QUANT"].attributes(context.node.options).nudged
    above = a.where(a.compare("GREATER_EQUAL", x, a.number(float(least))), gradient)
    return [a.where(a.compare("LESS_EQUAL", x, a.number(float(greatest))), above)]


def _chosen(comparison: str, is_left: bool) -> Callable[[RuleContext, int], int]:
    """Gradient where the operand is the extreme one: the left one of equal ones."""

    def side(context: RuleContext, gradient: int) -> int:
        a = context.arithmetic
        is_chosen = a.compare(comparison, context.input(0), context.input(1))
        zero = a.number(0)
        return a.choose(is_chosen, gradient, zero) if is_left else a.choose(is_chosen, zero, gradient)

    return side


def _difference(sign: float) -> Callable[[RuleContext, int], int]:
    def side(context: RuleContext, gradient: int) -> int:
        a = context.arithmetic
        return a.multiply(gradient, a.scale(a.subtract(context.input(0), context.input(1)), 2 * sign))

    return side


def _by_base(context: RuleContext, gradient: int) -> int:
    """g y x^(y-1)."""
    a, exponent = context.arithmetic, context.input(1)
    lowered = a.subtract(exponent, a.number(1))
    shape = a.shape(gradient)
    power = a.graph.compute("POW", [a.spread(context.input(0), shape), a.spread(lowered, shape)], shape)
    return a.multiply(gradient, a.multiply(exponent, power))


def _by_exponent(context: RuleContext, gradient: int) -> int:
    """g z log(x), 0 where x is not positive."""
    a, base = context.arithmetic, context.input(0)
    is_positive = a.greater(base, a.number(0))
    logarithm = a.logarithm(a.choose(is_positive, base, a.number(1)))
    return a.multiply(gradient, a.multiply(context.output(), logarithm))


def _add_n(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    return [gradients[0] if context.needs(place) else None for place in range(len(context.node.inputs))]


def _select(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    a, gradient = context.arithmetic, gradients[0]
    assert gradient is not None
    condition = context.input(0)
    if a.shape(condition) != a.shape(gradient) and context.node.name == "SELECT":
        rows = len(a.shape(condition))
        condition = a.reshape(condition, (*a.shape(condition), *(1,) * (len(a.shape(gradient)) - rows)))
    zero = a.number(0)
    by_left = by_right = None
    if context.needs(1):
        by_left = a.reduced_to(a.choose(condition, gradient, zero), context.shape(1))
    if context.needs(2):
        by_right = a.reduced_to(a.choose(condition, zero, gradient), context.shape(2))
    return [None, by_left, by_right]


def _exponential(a: Arithmetic, context: RuleContext) -> int:
    del a
    return context.output()


def _cast(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    assert gradients[0] is not None
    return [gradients[0] if context.source.dtype(context.node.inputs[0]) is DType.FLOAT32 else None]


RULES: Mapping[str, GradientRule] = {
    "ABS": _by_slope(lambda a, c: a.apply("SIGN", c.input(0))),
    "ADD": _both(_same, _same),
    "ADD_N": _add_n,
    "ATAN2": _both(_angle(1, 1), _angle(0, -1)),
    "CAST": _cast,
    "COS": _by_slope(lambda a, c: a.negative(a.apply("SIN", c.input(0)))),
    "DIV": _both(_quotient, _by_divisor),
    "ELU": _by_slope(_elu),
    "EXP": _by_slope(_exponential),
    "FAKE_QUANT": _fake_quant,
    "FLOOR_MOD": _both(_same, _whole_quotient),
    "GELU": _by_slope(_gelu),
    "HARD_SWISH": _by_slope(_hard_swish),
    "LEAKY_RELU": _by_slope(_leaky),
    "LOG": _by_slope(_reciprocal),
    "LOGISTIC": _by_slope(_logistic),
    "MAXIMUM": _both(_chosen("GREATER_EQUAL", True), _chosen("GREATER_EQUAL", False)),
    "MINIMUM": _both(_chosen("LESS_EQUAL", True), _chosen("LESS_EQUAL", False)),
    "MUL": _both(_times(1), _times(0)),
    "NEG": lambda context, gradients: [_negative(context, gradients[0] or 0)],
    "POW": _both(_by_base, _by_exponent),
    "PRELU": _prelu,
    "RELU": _between(0.0, None),
    "RELU6": _between(0.0, 6.0),
    "RELU_0_TO_1": _between(0.0, 1.0),
    "RELU_N1_TO_1": _between(-1.0, 1.0),
    "RSQRT": _by_slope(_inverse_root),
    "SELECT": _select,
    "SELECT_V2": _select,
    "SIN": _by_slope(lambda a, c: a.apply("COS", c.input(0))),
    "SQRT": _by_slope(_square_root),
    "SQUARE": _by_slope(lambda a, c: a.scale(c.input(0), 2)),
    "SQUARED_DIFFERENCE": _both(_difference(1), _difference(-1)),
    "SUB": _both(_same, _negative),
    "TANH": _by_slope(_tanh),
}
