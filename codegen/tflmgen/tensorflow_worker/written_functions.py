"""Functions of single elements that are formulas in those that TFLite has, and gradients of activations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.written_elements import polynomial
from tflmgen.tensorflow_worker.written_shapes import Write, constant

LOG_2 = math.log(2.0)
"""ln 2."""

ERFINV_CENTRE = (
    1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087, -4.39150654e-06, -3.5233877e-06,
    3.43273939e-07, 2.81022636e-08,
)  # fmt: skip
"""erfinv(x) / x in powers of w - 2.5, for w = -ln(1 - x^2) < 5 (Giles, "Approximating the erfinv function", 2010)."""

ERFINV_ENDS = (
    2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844, 0.00134934322, 0.000100950558,
    -0.000200214257,
)  # fmt: skip
"""erfinv(x) / x in powers of sqrt(w) - 3, for the others (Giles)."""

BESSEL_END = 3.75
"""Argument to which the first of two polynomials serves (Abramowitz and Stegun, 9.8.1 to 9.8.4, errors below 2e-7)."""
I0_NEAR = (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813)
"""I0(x) in powers of (x / 3.75)^2."""

I0_FAR = (
    0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706, 0.02635537, -0.01647633, 0.00392377,
)  # fmt: skip
"""I0(x) sqrt(x) e^-x in powers of 3.75 / x."""

I1_NEAR = (0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411)
"""I1(x) / x in powers of (x / 3.75)^2."""

I1_FAR = (
    0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555, 0.02282967, -0.02895312, 0.01787654, -0.00420059,
)  # fmt: skip
"""I1(x) sqrt(x) e^-x in powers of 3.75 / x."""


def log_1p(x: Any) -> Any:
    """ln(1 + x) without the digits that 1 + x loses (Kahan)."""
    above = 1.0 + x
    is_one = tf.equal(above, 1.0)
    rest = tf.where(is_one, tf.ones_like(x), above - 1.0)
    return tf.where(is_one, x, tf.math.log(above) * (x / rest))


def _sinh(x: Any) -> Any:
    half = tf.tanh(0.5 * tf.clip_by_value(x, -1.0, 1.0))
    size = tf.abs(x)
    root = tf.exp(0.5 * size)
    # tanh(x / 2) = t: sinh(x) = 2 t / (1 - t^2).
    far = tf.sign(x) * ((0.5 * root) * root - 0.5 / (root * root))
    return tf.where(size < 1.0, 2.0 * half / (1.0 - half * half), far)


def _cosh(x: Any) -> Any:
    root = tf.exp(0.5 * tf.abs(x))
    return (0.5 * root) * root + 0.5 / (root * root)


def _asinh(x: Any) -> Any:
    size = tf.abs(x)
    near = tf.minimum(size, 1e9)
    square = near * near
    value = log_1p(near + square / (1.0 + tf.sqrt(1.0 + square)))
    return tf.sign(x) * tf.where(size < 1e9, value, tf.math.log(size) + LOG_2)


def _acosh(x: Any) -> Any:
    above = x - 1.0
    near = tf.minimum(above, 1e9)
    value = log_1p(near + tf.sqrt(near * (2.0 + near)))
    return tf.where(above < 1e9, value, tf.math.log(x) + LOG_2)


def _leg(x: Any) -> Any:
    return tf.sqrt((1.0 - x) * (1.0 + x))


def _erfinv(x: Any) -> Any:
    w = -tf.math.log((1.0 - x) * (1.0 + x))
    centre = polynomial(ERFINV_CENTRE, tf.minimum(w, 5.0) - 2.5)
    return x * tf.where(w < 5.0, centre, polynomial(ERFINV_ENDS, tf.sqrt(tf.maximum(w, 5.0)) - 3.0))


def _bessel(near: Sequence[float], far: Sequence[float], is_odd: bool, is_scaled: bool) -> Callable[[Any], Any]:
    """Modified Bessel function of the first kind, times e^-|x| if it is scaled."""

    def value(x: Any) -> Any:
        size = tf.abs(x)
        part = tf.minimum(size, BESSEL_END) / BESSEL_END
        first = polynomial(near, part * part) * (x if is_odd else 1.0)
        large = tf.maximum(size, BESSEL_END)
        second = polynomial(far, BESSEL_END / large) / tf.sqrt(large) * (tf.sign(x) if is_odd else 1.0)
        scale = tf.exp(-size if is_scaled else size)
        first = first * scale if is_scaled else first
        return tf.where(size < BESSEL_END, first, second if is_scaled else second * scale)

    return value


def _truncated_remainder(x: Any, y: Any) -> Any:
    """The sign is that of x."""
    if tf.as_dtype(x.dtype).is_floating:
        return tf.sign(x) * tf.math.floormod(tf.abs(x), tf.abs(y))
    return x - tf.math.truncatediv(x, y) * y


def _linspace(attributes: Mapping[str, Any], start: Any, stop: Any, number: Any) -> Any:
    del attributes
    count = int(constant(number, "the number of points"))
    if count == 1:
        return tf.reshape(tf.convert_to_tensor(start), [1])
    points = start + (stop - start) / (count - 1) * np.arange(count - 1, dtype=np.float32)
    return tf.concat([points, tf.reshape(stop, [1])], 0)


def _fake_quantized(attributes: Mapping[str, Any], x: Any, least: Any, greatest: Any) -> Any:
    """Range [least, greatest] of each channel moved so that 0 is a step of it."""
    low, high = 1.0 if attributes["narrow_range"] else 0.0, float(2 ** attributes["num_bits"] - 1)
    scale = (greatest - least) / (high - low)
    zero = tf.floor(tf.clip_by_value(low - least / scale, low, high) + 0.5)
    bottom, top = (low - zero) * scale, (high - zero) * scale
    steps = tf.floor((tf.minimum(tf.maximum(x, bottom), top) - bottom) / scale + 0.5)
    return steps * scale + bottom


def _quantised_and_back(attributes: Mapping[str, Any], x: Any, least: Any, greatest: Any, bits: Any) -> Any:
    number = int(constant(bits, "the number of bits"))
    more = {key: attributes[key] for key in ("signed_input", "range_given", "narrow_range", "axis")}
    return tf.raw_ops.QuantizeAndDequantizeV4(input=x, input_min=least, input_max=greatest, num_bits=number, **more)


def _of(function: Callable[..., Any]) -> Write:
    return lambda _, *operands: function(*operands)


def _where(condition: Any, gradient: Any) -> Any:
    return tf.where(condition, gradient, tf.zeros_like(gradient))


_FORMULAS: Mapping[str, Callable[..., Any]] = {
    "Acos": lambda x: tf.atan2(_leg(x), x),
    "Acosh": _acosh,
    "Asin": lambda x: tf.atan2(x, _leg(x)),
    "Asinh": _asinh,
    "Atan": lambda x: tf.atan2(x, tf.ones_like(x)),
    "Atanh": lambda x: 0.5 * log_1p(2.0 * x / (1.0 - x)),
    "BesselI0": _bessel(I0_NEAR, I0_FAR, False, False),
    "BesselI0e": _bessel(I0_NEAR, I0_FAR, False, True),
    "BesselI1": _bessel(I1_NEAR, I1_FAR, True, False),
    "BesselI1e": _bessel(I1_NEAR, I1_FAR, True, True),
    "ClipByValue": lambda x, least, greatest: tf.minimum(tf.maximum(x, least), greatest),
    "Cosh": _cosh,
    "Erfinv": _erfinv,
    "Mod": _truncated_remainder,
    "Ndtri": lambda x: math.sqrt(2.0) * _erfinv(2.0 * x - 1.0),
    "Sinh": _sinh,
    "Tan": lambda x: tf.sin(x) / tf.cos(x),
    "TruncateMod": _truncated_remainder,
    **dict.fromkeys(("DebugGradientIdentity", "DeepCopy", "GuaranteeConst", "CheckNumericsV2"), tf.identity),
    "EluGrad": lambda gradient, y: tf.where(y < 0.0, (y + 1.0) * gradient, gradient),
    **dict.fromkeys(("InvGrad", "ReciprocalGrad"), lambda y, gradient: -gradient * y * y),
    "Relu6Grad": lambda gradient, x: _where(tf.logical_and(x > 0.0, x < 6.0), gradient),
    "ReluGrad": lambda gradient, x: _where(x > 0.0, gradient),
    "SoftplusGrad": lambda gradient, x: gradient * tf.sigmoid(x),
    "SoftsignGrad": lambda gradient, x: gradient / tf.square(1.0 + tf.abs(x)),
}

FUNCTIONS: Mapping[str, Write] = {
    **{name: _of(function) for name, function in _FORMULAS.items()},
    "ApproximateEqual": lambda attributes, x, y: tf.abs(x - y) < attributes["tolerance"],
    "FakeQuantWithMinMaxVarsPerChannel": _fake_quantized,
    "LeakyReluGrad": lambda attributes, gradient, x: tf.where(x > 0.0, gradient, attributes["alpha"] * gradient),
    "LinSpace": _linspace,
    "QuantizeAndDequantizeV3": _quantised_and_back,
}
