"""Operations on the bits of integers, of which TFLite has only the exclusive or and shifts right of up to 32 bits.

Integers of 64 bits are pairs of int32 words, low word first; those of 8 and 16 bits are computed as int32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.written_shapes import KeptError, Write

WORD = 32
"""Bits of a word."""

_POWERS = (1 << np.arange(WORD, dtype=np.uint64)).astype(np.uint32).view(np.int32)
"""2^k as a word, for each k."""


def to_words(x: Any) -> Any:
    """Integers as int32: of 64 bits as words [..., 2], of 32 bits bit by bit, smaller ones by their values."""
    if isinstance(x, np.ndarray | np.generic):
        # A constant stays one, so that what takes it sees its value.
        return np.asarray(x).astype(np.int32) if x.itemsize < 4 else _words_of_array(np.asarray(x))
    return tf.cast(x, tf.int32) if x.dtype.size < 4 else x if x.dtype == tf.int32 else tf.bitcast(x, tf.int32)


def _words_of_array(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    words = np.array(x)[..., None].view(np.int32)
    return words if x.itemsize == 8 else words[..., 0]


def from_words(words: Any, dtype: Any) -> Any:
    """Integers of their words, as to_words() makes them; of smaller types their low bits."""
    return tf.cast(words, dtype) if dtype.size < 4 else words if dtype == tf.int32 else tf.bitcast(words, dtype)


def _half(x: Any) -> Any:
    return tf.bitwise.right_shift(x, tf.ones_like(x))


def _power_of(mask: Any) -> int:
    """2^n of a constant mask of the n low bits; 0 of any other operand."""
    values = set(np.ravel(mask).tolist()) if isinstance(mask, np.ndarray | np.generic) else set()
    (mask,) = values if len(values) == 1 else (-1,)
    return mask + 1 if 0 <= mask < 2**31 - 1 and mask & (mask + 1) == 0 else 0


def bits_of_both(x: Any, y: Any) -> Any:
    """x & y of int32: x + y = (x ^ y) + 2 (x & y), without their lowest bits, so that no sum overflows."""
    power = _power_of(x) or _power_of(y)
    if power:
        return tf.math.floormod(y if _power_of(x) else x, power)
    x, y = tf.convert_to_tensor(x), tf.convert_to_tensor(y)
    a, b = _half(x), _half(y)
    return a + b - tf.bitwise.bitwise_xor(a, b) + (x - 2 * a) * (y - 2 * b)


def _bits_of_either(x: Any, y: Any) -> Any:
    """x | y: bits that differ, and those of both, which have none in common with them."""
    both = bits_of_both(x, y)
    return tf.bitwise.bitwise_xor(x, y) + both


def _both_sides(function: Callable[[Any, Any], Any]) -> Write:
    def write(_: Mapping[str, Any], x: Any, y: Any) -> Any:
        dtype = tf.as_dtype(x.dtype)
        return from_words(function(to_words(x), to_words(y)), dtype)

    return write


def _exclusive(_: Mapping[str, Any], x: Any, y: Any) -> Any:
    """TFLite has it for up to 32 bits."""
    dtype = tf.as_dtype(x.dtype)
    if dtype.size < 8:
        raise KeptError
    return from_words(tf.bitwise.bitwise_xor(to_words(x), to_words(y)), dtype)


def _inverted(_: Mapping[str, Any], x: Any) -> Any:
    dtype = tf.as_dtype(x.dtype)
    words = to_words(x)
    return from_words(tf.bitwise.bitwise_xor(words, -tf.ones_like(words)), dtype)


def _within(steps: Any, bits: int) -> Any:
    """Numbers of steps as int32 from 0 to bits - 1, to which TensorFlow clips them."""
    words = to_words(steps)
    if steps.dtype not in (tf.int64, tf.uint64):
        return tf.clip_by_value(words, 0, bits - 1)
    low, high = words[..., 0], words[..., 1]
    is_negative = tf.logical_and(steps.dtype == tf.int64, high < 0)
    is_within = tf.logical_and(tf.equal(high, 0), tf.logical_and(low >= 0, low < bits))
    return tf.where(is_within, low, tf.where(is_negative, tf.zeros_like(low), tf.fill(tf.shape(low), bits - 1)))


def _shifted_left(_: Mapping[str, Any], x: Any, steps: Any) -> Any:
    """A product with a power of two, modulo the type's own."""
    dtype = tf.as_dtype(x.dtype)
    steps = _within(steps, 8 * dtype.size)
    if dtype.size == 8:
        powers = (np.uint64(1) << np.arange(64, dtype=np.uint64)).view(np.int64)
        wide = x if dtype == tf.int64 else tf.bitcast(x, tf.int64)
        product = wide * tf.gather(powers, steps)
        return product if dtype == tf.int64 else tf.bitcast(product, dtype)
    return from_words(to_words(x) * tf.gather(_POWERS, steps), dtype)


def _unsigned_right(words: Any, steps: Any) -> Any:
    return tf.bitcast(tf.bitwise.right_shift(tf.bitcast(words, tf.uint32), tf.cast(steps, tf.uint32)), tf.int32)


def _shifted_right(_: Mapping[str, Any], x: Any, steps: Any) -> Any:
    """Two words of 64 bits: bits that leave the high one enter the low one. TFLite has smaller types."""
    dtype = tf.as_dtype(x.dtype)
    if dtype.size < 8:
        raise KeptError
    steps = _within(steps, 64)
    words = to_words(x)
    shape = tf.broadcast_dynamic_shape(tf.shape(x), tf.shape(steps))
    low, high, steps = (tf.broadcast_to(part, shape) for part in (words[..., 0], words[..., 1], steps))
    right = tf.bitwise.right_shift if dtype.is_unsigned is False else _unsigned_right
    short = tf.minimum(steps, WORD - 1)
    moved = 2 * high * tf.gather(_POWERS, WORD - 1 - short)
    many = tf.maximum(steps - WORD, 0)
    rest = right(high, tf.fill(shape, WORD - 1))
    rest = tf.zeros_like(rest) if dtype.is_unsigned else rest
    low = tf.where(steps < WORD, _unsigned_right(low, short) + moved, right(high, many))
    high = tf.where(steps < WORD, right(high, short), rest)
    return from_words(tf.stack([low, high], -1), dtype)


def _counted(_: Mapping[str, Any], x: Any) -> Any:
    """Number of ones in each integer: a table of those of a byte."""
    x = tf.convert_to_tensor(x)
    # Flat: the converter joins two casts of bits as if the first kept the number of dimensions.
    words = tf.reshape(x if x.dtype.size == 1 else to_words(x) if x.dtype.size > 4 else x, [-1])
    places = tf.cast(words if words.dtype == tf.uint8 else tf.bitcast(words, tf.uint8), tf.int32)
    counts = tf.gather(np.array([bin(byte).count("1") for byte in range(256)], np.int32), places)
    counts = tf.reduce_sum(tf.reshape(counts, tf.concat([tf.shape(x), [x.dtype.size]], 0)), -1)
    return tf.cast(counts, tf.uint8)


BITS: Mapping[str, Write] = {
    "BitwiseAnd": _both_sides(bits_of_both),
    "BitwiseOr": _both_sides(_bits_of_either),
    "BitwiseXor": _exclusive,
    "Invert": _inverted,
    "LeftShift": _shifted_left,
    "RightShift": _shifted_right,
    "PopulationCount": _counted,
}
