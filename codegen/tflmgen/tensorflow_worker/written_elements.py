"""Functions of single elements that TFLite has no operator for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from tflmgen.tensorflow_worker.written_shapes import Write

ERF_NEAR = (1.12837917, -0.376126269, 0.112835975, -0.0268543288, 0.00518931194, -0.0008018855, 7.88249712e-05)
"""erf(x) / x in powers of x^2, for |x| <= 1: fitted at Chebyshev nodes, relative error 2e-7 in float32."""

ERFC_FAR = (
    0.2820842, 0.282386706, 0.243389443, 0.199055143, -0.00837836526, 0.22940422, -0.41474762, 0.227661423,
    -0.040668656,
)  # fmt: skip
"""erfc(x) exp(x^2) / t in powers of t = 1 / (1 + x / 2), for x >= 1: fitted likewise, relative error 2e-6."""

LANCZOS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
)  # fmt: skip
"""Coefficients of Lanczos' approximation of gamma for g = 7 (Godfrey, 2001)."""


def polynomial(coefficients: Sequence[float], x: Any) -> Any:
    """Value of the polynomial with these coefficients, from that of x^0 on."""
    result = tf.fill(tf.shape(x), coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = result * x + coefficient
    return result


def _erfc_beyond_1(size: Any) -> Any:
    """erfc for arguments from 1 on."""
    t = 1.0 / (1.0 + 0.5 * size)
    return tf.exp(-size * size) * t * polynomial(ERFC_FAR, t)


def _erf(_: Mapping[str, Any], x: Any) -> Any:
    size = tf.minimum(tf.abs(x), 10.0)
    far = tf.sign(x) * (1.0 - _erfc_beyond_1(tf.maximum(size, 1.0)))
    return tf.where(size < 1.0, x * polynomial(ERF_NEAR, tf.minimum(size * size, 1.0)), far)


def _erfc(_: Mapping[str, Any], x: Any) -> Any:
    size = tf.minimum(tf.abs(x), 10.0)
    beyond = _erfc_beyond_1(tf.maximum(size, 1.0))
    near = 1.0 - x * polynomial(ERF_NEAR, tf.minimum(size * size, 1.0))
    return tf.where(size < 1.0, near, tf.where(x < 0.0, 2.0 - beyond, beyond))


def _log_gamma(_: Mapping[str, Any], x: Any) -> Any:
    """By Lanczos, and left of 1/2 by the reflection gamma(x) gamma(1 - x) = pi / sin(pi x)."""
    is_left = x < 0.5
    z = tf.where(is_left, 1.0 - x, x) - 1.0
    series = tf.fill(tf.shape(x), LANCZOS[0])
    for i, coefficient in enumerate(LANCZOS[1:], start=1):
        series = series + coefficient / (z + float(i))
    t = z + 7.5
    right = 0.5 * math.log(2 * math.pi) + (z + 0.5) * tf.math.log(t) - t + tf.math.log(series)
    sine = tf.abs(tf.sin(math.pi * (x - tf.floor(x))))
    return tf.where(is_left, math.log(math.pi) - tf.math.log(sine) - right, right)


def _expm1(_: Mapping[str, Any], x: Any) -> Any:
    """Near 0 by 2 tanh(x/2) / (1 - tanh(x/2)), which cancels nothing."""
    half = tf.tanh(0.5 * tf.clip_by_value(x, -1.0, 1.0))
    return tf.where(tf.abs(x) < 1.0, 2.0 * half / (1.0 - half), tf.exp(x) - 1.0)


GREATEST_FLOAT = 3.4028234663852886e38
"""The greatest finite float32: comparisons with it tell infinities without a constant that is one."""


def _is_nan(_: Mapping[str, Any], x: Any) -> Any:
    """Neither finite nor infinite; in numbers, for the converter takes the negation of <= for >, as if NaN were so."""
    known = tf.cast(tf.abs(x) <= GREATEST_FLOAT, tf.int32) + tf.cast(tf.abs(x) > GREATEST_FLOAT, tf.int32)
    return tf.equal(known, 0)


def _is_inf(_: Mapping[str, Any], x: Any) -> Any:
    return tf.abs(x) > GREATEST_FLOAT


def _is_finite(_: Mapping[str, Any], x: Any) -> Any:
    return tf.abs(x) <= GREATEST_FLOAT


ELEMENTS: Mapping[str, Write] = {
    "Erf": _erf,
    "Erfc": _erfc,
    "Lgamma": _log_gamma,
    "Expm1": _expm1,
    "IsNan": _is_nan,
    "IsInf": _is_inf,
    "IsFinite": _is_finite,
}
