"""Random numbers that depend on seeds alone.

With constant seeds they are constants, which TensorFlow itself draws. With computed ones Philox4x32-10 (Salmon et al.,
"Parallel random numbers: as easy as 1, 2, 3", 2011) is written in integers, as TensorFlow uses it: block i of four
numbers is that of the counter plus i.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.node_constants import evaluated
from tflmgen.tensorflow_worker.written_shapes import UnwritableError, Write, check_size, constant

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
"""Factors of a round of Philox."""
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
"""Numbers that a round of Philox adds to the words of the key."""
ROUNDS = 10
"""Rounds of Philox4x32."""
SCRAMBLE = (0x3EC8F720, 0x02461E29)
"""Key by which TensorFlow turns a seed into a key and a counter."""
PHILOX = 1
"""TensorFlow's number of the algorithm; 2 is Threefry, 3 lets it choose, which is Philox but on TPUs."""
MANTISSA = 1 << 23
"""Fractions of float32."""
LEAST_UNIFORM = 1e-7
"""TensorFlow's least uniform number of which it takes a logarithm."""


def _signed(*words: int) -> np.ndarray[Any, Any]:
    return np.array(words, np.uint32).view(np.int32)


def _product(words: Any, factor: int) -> tuple[Any, Any]:
    """Low and high words of unsigned words times a factor: products modulo 2^64 have the right bits."""
    wide = tf.bitcast(tf.stack([words, tf.zeros_like(words)], -1), tf.int64) * np.int64(factor)
    parts = tf.bitcast(wide, tf.int32)
    return parts[..., 0], parts[..., 1]


def _philox(key: Any, counters: Any) -> Any:
    """Random words [blocks, 4] of a key [2] and counters [blocks, 4], all int32."""

    def turn(i: Any, key: Any, counters: Any) -> tuple[Any, Any, Any]:
        low_0, high_0 = _product(counters[:, 0], MULTIPLIERS[0])
        low_1, high_1 = _product(counters[:, 2], MULTIPLIERS[1])
        xor = tf.bitwise.bitwise_xor
        first = xor(xor(high_1, counters[:, 1]), tf.zeros_like(low_0) + key[0])
        third = xor(xor(high_0, counters[:, 3]), tf.zeros_like(low_0) + key[1])
        return i + 1, key + _signed(*KEY_STEPS), tf.stack([first, low_1, third, low_0], 1)

    return tf.while_loop(lambda i, *_: i < ROUNDS, turn, (tf.constant(0), key, counters), maximum_iterations=ROUNDS)[2]


def _counters(counter: Any, blocks: int) -> Any:
    """Counters [blocks, 4] from one of two uint64 on; a carry beyond 64 bits would need as many blocks."""
    check_size(4 * blocks, "the tensor of random numbers")
    wide = tf.bitcast(counter, tf.int64)
    low = tf.bitcast(wide[:1] + np.arange(blocks, dtype=np.int64), tf.int32)
    high = tf.broadcast_to(tf.bitcast(wide[1:], tf.int32), [blocks, 2])
    return tf.concat([low, high], 1)


def _key_of_seed(seed: Any) -> tuple[Any, Any]:
    """Key [1] and counter [2] in uint64 of a seed of two integers."""
    seed = tf.cast(seed, tf.int64)
    mixed = _philox(tf.constant(_signed(*SCRAMBLE)), tf.reshape(tf.bitcast(seed, tf.int32), [1, 4]))
    key = tf.bitcast(mixed[:, :2], tf.uint64)
    counter = tf.concat([tf.zeros([1, 2], tf.int32), mixed[:, 2:]], 0)
    return key, tf.bitcast(counter, tf.uint64)


def _words(shape: Any, key: Any, counter: Any, algorithm: Any) -> Any:
    """Random words [blocks, 4] for a tensor of this shape."""
    if int(constant(algorithm, "the algorithm")) not in (PHILOX, 3):
        raise UnwritableError("it is Threefry with a computed seed")
    elements = math.prod(int(d) for d in constant(shape, "the shape"))
    return _philox(tf.bitcast(key, tf.int32)[0], _counters(counter, -(-elements // 4)))


def _shaped(values: Any, shape: Any) -> Any:
    dims = [int(d) for d in shape]
    return tf.reshape(tf.reshape(values, [-1])[: math.prod(dims)], dims)


def _unit(words: Any) -> Any:
    """Uniform float32 numbers from 0 to below 1: the low 23 bits are the fraction of a number from 1 to below 2."""
    fraction = tf.math.floormod(words, MANTISSA)
    return tf.bitcast(fraction + np.int32(127 * MANTISSA), tf.float32) - 1.0


def _uniform(attributes: Mapping[str, Any], shape: Any, key: Any, counter: Any, algorithm: Any) -> Any:
    _check_float32(attributes)
    return _shaped(_unit(_words(shape, key, counter, algorithm)), shape)


def _normal(attributes: Mapping[str, Any], shape: Any, key: Any, counter: Any, algorithm: Any) -> Any:
    """Box and Muller's transform of pairs."""
    _check_float32(attributes)
    numbers = _unit(_words(shape, key, counter, algorithm))
    pairs = tf.reshape(numbers, [-1, 2])
    radius = tf.sqrt(-2.0 * tf.math.log(tf.maximum(pairs[:, 0], LEAST_UNIFORM)))
    angle = np.float32(2.0 * math.pi) * pairs[:, 1]
    return _shaped(tf.stack([tf.sin(angle) * radius, tf.cos(angle) * radius], 1), shape)


def _check_float32(attributes: Mapping[str, Any]) -> None:
    if attributes["dtype"] != tf.float32:
        raise UnwritableError(f"with a computed seed it is {attributes['dtype'].name}, but written for float32 alone")


def _integers(
    attributes: Mapping[str, Any],
    shape: Any,
    key: Any,
    counter: Any,
    algorithm: Any,
    least: Any = None,
    end: Any = None,
) -> Any:
    """All numbers of the type, or those from `least` to below `end`: the remainder of the unsigned word."""
    dtype = attributes["dtype"]
    if dtype not in (tf.int32, tf.uint32):
        raise UnwritableError(f"with a computed seed it is {dtype.name}, but written for 32 bits alone")
    words = _shaped(_words(shape, key, counter, algorithm), shape)
    if least is None:
        return words if dtype == tf.int32 else tf.bitcast(words, dtype)
    extent = tf.cast(end, tf.int64) - tf.cast(least, tf.int64)
    wide = tf.bitcast(tf.stack([words, tf.zeros_like(words)], -1), tf.int64)
    return tf.cast(tf.math.floormod(wide, extent) + tf.cast(least, tf.int64), dtype)


def _seeded(name: str, computed: Write | None = None) -> Write:
    """A result that TensorFlow computes now where all operands are constants, else `computed`."""

    def write(attributes: Mapping[str, Any], *operands: Any) -> Any:
        if all(isinstance(operand, np.ndarray | np.generic) for operand in operands):
            return evaluated(name, attributes, operands)
        if computed is None:
            raise UnwritableError("its seed, its shape or its parameters are computed")
        return computed(attributes, *operands)

    return write


_BY_SEED = (
    "StatelessMultinomial", "StatelessParameterizedTruncatedNormal", "StatelessRandomBinomial",
    "StatelessRandomGammaV2", "StatelessRandomGammaV3", "StatelessRandomGetAlg", "StatelessRandomNormal",
    "StatelessRandomPoisson", "StatelessRandomUniform", "StatelessRandomUniformFullInt", "StatelessRandomUniformInt",
    "StatelessSampleDistortedBoundingBox", "StatelessShuffle", "StatelessTruncatedNormal", "StatelessTruncatedNormalV2",
)  # fmt: skip
RANDOM: Mapping[str, Write] = {
    **{name: _seeded(name) for name in _BY_SEED},
    "StatelessRandomGetKeyCounter": _seeded("StatelessRandomGetKeyCounter", lambda _, seed: _key_of_seed(seed)),
    "StatelessRandomGetKeyCounterAlg": _seeded(
        "StatelessRandomGetKeyCounterAlg", lambda _, seed: (*_key_of_seed(seed), np.int32(PHILOX))
    ),
    "StatelessRandomUniformV2": _seeded("StatelessRandomUniformV2", _uniform),
    "StatelessRandomNormalV2": _seeded("StatelessRandomNormalV2", _normal),
    "StatelessRandomUniformIntV2": _seeded("StatelessRandomUniformIntV2", _integers),
    "StatelessRandomUniformFullIntV2": _seeded("StatelessRandomUniformFullIntV2", _integers),
}
