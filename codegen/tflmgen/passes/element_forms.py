"""Functions of one real number as operators spell them out, in a normal form: pieces, each an exact sum.

Between neighbouring bounds a function is one sum of products of x and of logistic functions. Maxima, clamps and
magnitudes of linear pieces have bounds where their operands meet. Coefficients and bounds are fractions, so that an
epsilon of any size stays one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tflmgen.kernels.numeric import FLOAT_MAX, Activation
from tflmgen.passes.exact_sums import ONE, NoFormError, Sum, atom, constant, exactly, is_rounded, matches

MAX_PIECES = 8
"""Pieces at most; HARD_SWISH has three."""

_X = frozenset({("x", 1)})
_LIMIT = Fraction(FLOAT_MAX)

GELU_FACTOR, GELU_CUBIC = Fraction(math.sqrt(2.0 / math.pi)), Fraction("0.044715")
"""Factors of x, and of its cube relative to it, under GELU's hyperbolic tangent (Hendrycks and Gimpel, 2016)."""


@dataclass(frozen=True, slots=True, eq=False)
class ElementForm:
    """A function of x: pieces[i] between bounds[i - 1] and bounds[i], which are finite floats."""

    bounds: tuple[Fraction, ...]
    pieces: tuple[Sum, ...]

    @property
    def whole(self) -> Sum:
        """The only piece."""
        if self.bounds:
            raise NoFormError
        return self.pieces[0]


VARIABLE = ElementForm((), (atom("x"),))


def number(value: float) -> ElementForm:
    """A constant function."""
    return ElementForm((), (constant(exactly(value)),))


def form_of(operator: str, attributes: Any, operands: Sequence[ElementForm]) -> ElementForm:
    """The function that an operator makes of functions; NoFormError where it is none of this form."""
    function = _FORMS.get(operator)
    if function is None:
        raise NoFormError
    result = function(attributes, *operands)
    activation = getattr(attributes, "activation", Activation.NONE)
    return _clamped(result, *activation.bounds)


def is_same(computed: ElementForm, pattern: ElementForm) -> bool:
    """Whether two functions are equal but for the rounding of the computed one's constants to float32.

    Bounds must be equal as numbers of float32: no element lies between them.
    """
    return (
        len(computed.bounds) == len(pattern.bounds)
        and all(
            np.float32(float(own)) == np.float32(float(other)) and is_rounded(own, other)
            for own, other in zip(computed.bounds, pattern.bounds, strict=True)
        )
        and all(matches(own, other) for own, other in zip(computed.pieces, pattern.pieces, strict=True))
    )


def slope_below_zero(form: ElementForm) -> float | None:
    """The slope of the first of two pieces that meet at 0; None where it has none."""
    if len(form.bounds) != 1 or form.bounds[0] or form.pieces[0].terms.keys() != {_X}:
        return None
    return float(form.pieces[0].terms[_X])


def _combined(function: Callable[[Sum, Sum], Sum], first: ElementForm, second: ElementForm) -> ElementForm:
    bounds = tuple(sorted({*first.bounds, *second.bounds}))
    return _joined(bounds, [function(a, b) for a, b in zip(_split(first, bounds), _split(second, bounds), strict=True)])


def _split(form: ElementForm, bounds: Sequence[Fraction]) -> list[Sum]:
    """Pieces between bounds that contain the form's own."""
    return [form.pieces[sum(own < end for own in form.bounds)] for end in (*bounds, _LIMIT)]


def _joined(bounds: Sequence[Fraction], pieces: Sequence[Sum]) -> ElementForm:
    """The function of these pieces, equal neighbours joined, and without those where no float is."""
    kept_bounds: list[Fraction] = []
    kept = [pieces[0]]
    for bound, piece in zip(bounds, pieces[1:], strict=True):
        if bound >= _LIMIT:
            break
        if bound <= -_LIMIT:
            kept = [piece]
        elif piece.terms != kept[-1].terms:
            kept_bounds.append(bound)
            kept.append(piece)
    if len(kept) > MAX_PIECES:
        raise NoFormError
    return ElementForm(tuple(kept_bounds), tuple(kept))


def _greatest(first: ElementForm, second: ElementForm) -> ElementForm:
    """The greater of two functions, whose difference is linear in every piece."""
    bounds = sorted({*first.bounds, *second.bounds})
    pieces = list(zip(_split(first, bounds), _split(second, bounds), strict=True))
    new_bounds: list[Fraction] = []
    chosen: list[Sum] = []
    for place, (a, b) in enumerate(pieces):
        low, high = [-_LIMIT, *bounds][place], [*bounds, _LIMIT][place]
        difference = a - b
        if not difference.terms.keys() <= {ONE, _X}:
            raise NoFormError
        slope, offset = (difference.terms.get(product, Fraction(0)) for product in (_X, ONE))
        root = -offset / slope if slope else None
        if place:
            new_bounds.append(low)
        if root is not None and low < root < high:
            new_bounds.append(root)
            chosen += [a, b] if slope < 0 else [b, a]
        else:
            middle = (low + high) / 2
            chosen.append(a if slope * middle + offset >= 0 else b)
    return _joined(new_bounds, chosen)


def _add(first: ElementForm, second: ElementForm) -> ElementForm:
    return _combined(Sum.__add__, first, second)


def _sub(first: ElementForm, second: ElementForm) -> ElementForm:
    return _combined(Sum.__sub__, first, second)


def _mul(first: ElementForm, second: ElementForm) -> ElementForm:
    return _combined(Sum.__mul__, first, second)


def _scaled(form: ElementForm, factor: Fraction | int) -> ElementForm:
    return _joined(form.bounds, [piece.scaled(factor) for piece in form.pieces])


def _least(first: ElementForm, second: ElementForm) -> ElementForm:
    return _scaled(_greatest(_scaled(first, -1), _scaled(second, -1)), -1)


def _clamped(form: ElementForm, low: float, high: float) -> ElementForm:
    """Bounds beyond every float are none."""
    if low > -FLOAT_MAX:
        form = _greatest(form, number(low))
    return _least(form, number(high)) if high < FLOAT_MAX else form


def _div(first: ElementForm, second: ElementForm) -> ElementForm:
    """A quotient by a number, or by 1 + exp(-u), which is the product with the logistic function of u."""
    divisor = second.whole
    value = divisor.number
    if value is not None:
        if not value:
            raise NoFormError
        return _scaled(first, 1 / Fraction(value))
    if divisor.terms.get(ONE) != 1 or len(divisor.terms) != 2:
        raise NoFormError
    product = next(product for product in divisor.terms if product != ONE)
    factors = list(product)
    if divisor.terms[product] != 1 or len(factors) != 1 or not isinstance(factors[0][0], tuple):
        raise NoFormError
    (name, argument), exponent = factors[0]
    if name != "exp":
        raise NoFormError
    return _mul(first, ElementForm((), (_logistic(Sum(dict(argument)).scaled(-exponent)),)))


def _logistic(argument: Sum) -> Sum:
    """The logistic function: of -u it is 1 less that of u, whose first coefficient is made positive."""
    if argument.number is not None:
        raise NoFormError
    lowest = min(argument.terms, key=lambda product: (sum(e for _, e in product), repr(sorted(product, key=repr))))
    if argument.terms[lowest] < 0:
        return constant(1) - atom(("logistic", argument.scaled(-1).key))
    return atom(("logistic", argument.key))


def _power(form: ElementForm, exponent: ElementForm) -> ElementForm:
    power = exponent.whole.number
    if power not in (1, 2, 3, 4):
        raise NoFormError
    result = form
    for _ in range(int(power) - 1):
        result = _mul(result, form)
    return result


def _tanh(form: ElementForm) -> ElementForm:
    return ElementForm((), (_logistic(form.whole.scaled(2)).scaled(2) - constant(1),))


def _gelu(attributes: Any, form: ElementForm) -> ElementForm:
    if not attributes.approximate:
        return ElementForm((), (atom(("gelu", form.whole.key)),))
    cubed = _power(form, number(3))
    inner = _scaled(_add(form, _scaled(cubed, GELU_CUBIC)), GELU_FACTOR)
    return _scaled(_mul(form, _add(number(1), _tanh(inner))), Fraction(1, 2))


def _hard_swish(form: ElementForm) -> ElementForm:
    return _scaled(_mul(form, _clamped(_add(form, number(3)), 0.0, 6.0)), Fraction(1, 6))


def _leaky(form: ElementForm, slope: Fraction) -> ElementForm:
    """x above 0, x times the slope below."""
    negative = _least(form, number(0))
    return _add(_greatest(form, number(0)), _scaled(negative, slope))


def _clamp(low: float, high: float) -> Callable[..., ElementForm]:
    return lambda _, x: _clamped(x, low, high)


def _prelu(_: Any, x: ElementForm, slopes: ElementForm) -> ElementForm:
    slope = slopes.whole.number
    if slope is None:
        raise NoFormError
    return _leaky(x, Fraction(slope))


_FORMS: Mapping[str, Callable[..., ElementForm]] = {
    "ADD": lambda _, a, b: _add(a, b),
    "SUB": lambda _, a, b: _sub(a, b),
    "MUL": lambda _, a, b: _mul(a, b),
    "DIV": lambda _, a, b: _div(a, b),
    "MAXIMUM": lambda _, a, b: _greatest(a, b),
    "MINIMUM": lambda _, a, b: _least(a, b),
    "SQUARED_DIFFERENCE": lambda _, a, b: _power(_sub(a, b), number(2)),
    "POW": lambda _, a, b: _power(a, b),
    "PRELU": _prelu,
    "NEG": lambda _, x: _scaled(x, -1),
    "ABS": lambda _, x: _greatest(x, _scaled(x, -1)),
    "SQUARE": lambda _, x: _power(x, number(2)),
    "EXP": lambda _, x: ElementForm((), (atom(("exp", x.whole.key)),)),
    "LOGISTIC": lambda _, x: ElementForm((), (_logistic(x.whole),)),
    "TANH": lambda _, x: _tanh(x),
    "RELU": _clamp(0.0, math.inf),
    "RELU6": _clamp(0.0, 6.0),
    "RELU_N1_TO_1": _clamp(-1.0, 1.0),
    "RELU_0_TO_1": _clamp(0.0, 1.0),
    "LEAKY_RELU": lambda attributes, x: _leaky(x, exactly(attributes.alpha)),
    "HARD_SWISH": lambda _, x: _hard_swish(x),
    "SILU": lambda _, x: _mul(x, ElementForm((), (_logistic(x.whole),))),
    "GELU": _gelu,
}
