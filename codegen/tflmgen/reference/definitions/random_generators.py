"""Random numbers as LiteRT and TensorFlow make them: philox_random.h, random_distributions.h, multinomial_op.cc, and
rng_util.cc with its bit generators (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tflmgen.reference.operation import Array, Evaluation, Operation, UnsupportedError

_WORD = (1 << 32) - 1
"""All bits of a word."""
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
"""Distances of Threefry2x32 by turn, of two alternating."""
_SAMPLES_SKIPPED = 2 * 256
"""Blocks that MULTINOMIAL uses up for each sample."""
_THREEFRY = 2
"""The schema's number of the algorithm."""
_LEAST = np.float32(1e-7)
"""The least uniform number whose logarithm is taken."""


def philox(counters: Array, key: tuple[int, int]) -> Array:
    """[n, 4] words of counters [n, 4], in uint64."""
    c = [counters[:, i].astype(np.uint64) for i in range(4)]
    for turn in range(10):
        keys = [np.uint64((k + turn * step) & _WORD) for k, step in zip(key, (0x9E3779B9, 0xBB67AE85), strict=True)]
        low, high = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        shift, word = np.uint64(32), np.uint64(_WORD)
        c = [(high >> shift) ^ c[1] ^ keys[0], high & word, (low >> shift) ^ c[3] ^ keys[1], low & word]
    return np.stack(c, axis=1)


def threefry(counters: Array, key: tuple[int, int]) -> Array:
    """[n, 2] words of counters [n, 2], in uint64."""
    word, keys = np.uint64(_WORD), (*key, key[0] ^ key[1] ^ 0x1BD11BDA)
    x, y = ((counters[:, i].astype(np.uint64) + np.uint64(keys[i])) & word for i in range(2))
    for turn in range(5):
        for rotation in _ROTATIONS[turn % 2]:
            x = (x + y) & word
            y = (((y << np.uint64(rotation)) & word) | (y >> np.uint64(32 - rotation))) ^ x
        x = (x + np.uint64(keys[(turn + 1) % 3])) & word
        y = (y + np.uint64(keys[(turn + 2) % 3] + turn + 1)) & word
    return np.stack([x, y], axis=1)


def _number(words: Sequence[int]) -> int:
    return sum(int(word) << 32 * i for i, word in enumerate(words))


def _split(number: int, words: int) -> list[int]:
    return [number >> 32 * i & _WORD for i in range(words)]


def _blocks(op: Operation, state: Array, count: int) -> Array:
    """Words [4 count] of the counters from a state of 128 bits on."""
    first, key = _number(state.tolist()), _split(int(op.options["seed"]), 2)
    counters = np.array([_split(first + i, 4) for i in range(count)], np.uint64).reshape(-1, 4)
    return philox(counters, (key[0], key[1])).reshape(-1)


def _skipped(state: Array, blocks: int) -> Array:
    return np.array(_split(_number(state.tolist()) + blocks, 4), np.uint32)


def _unit(words: Array) -> Array:
    """float32 from 0 to less than 1."""
    patterns = (words.astype(np.uint32) & np.uint32(0x7FFFFF)) | np.uint32(0x3F800000)
    return np.asarray(patterns.view(np.float32) - np.float32(1))


def _uniform(op: Operation) -> Sequence[Array]:
    shape, state = tuple(int(d) for d in op.array(0)), op.array(1)
    count = int(np.prod(shape))
    blocks = -(-count // 4)
    return [_unit(_blocks(op, state, blocks))[:count].reshape(shape), _skipped(state, blocks)]


def _normal(op: Operation) -> Sequence[Array]:
    shape, state = tuple(int(d) for d in op.array(0)), op.array(1)
    count = int(np.prod(shape))
    blocks = -(-count // 4)
    pairs = _unit(_blocks(op, state, blocks)).reshape(-1, 2)
    angles = (2 * np.pi * pairs[:, 1].astype(np.float64)).astype(np.float32).astype(np.float64)
    radii = np.sqrt(-2 * np.log(np.maximum(pairs[:, 0], _LEAST).astype(np.float64)))
    numbers = np.stack([np.sin(angles) * radii, np.cos(angles) * radii], axis=1)
    return [numbers.reshape(-1)[:count].reshape(shape).astype(np.float32), _skipped(state, blocks)]


def _multinomial(op: Operation) -> Sequence[Array]:
    logits, samples, state = op.array(0).astype(np.float64), int(op.array(1).reshape(-1)[0]), op.array(2)
    finite = np.isfinite(logits)
    greatest = np.where(finite, logits, -np.finfo(np.float32).max).max(axis=1, keepdims=True)
    weights = np.where(finite, np.exp(np.where(finite, logits - greatest, 0)), 0)
    sums = np.cumsum(weights, axis=1)
    count = len(logits) * samples
    words = _blocks(op, state, -(-count // 2))[: 2 * count].reshape(len(logits), samples, 2)
    patterns = ((words[..., 0] & np.uint64(0xFFFFF)) << np.uint64(32)) | words[..., 1] | np.uint64(0x3FF << 52)
    parts = (patterns.view(np.float64) - 1) * sums[:, -1:]
    chosen = (sums[:, None, :] <= parts[:, :, None]).sum(axis=2)
    skipped = len(logits) * (-(-samples // 4) * 4) * _SAMPLES_SKIPPED
    return [chosen.astype(op.output.dtype.numpy), _skipped(state, skipped)]


def _bits(op: Operation) -> Sequence[Array]:
    state = [int(word) for number in op.array(0) for word in _split(int(number), 2)]
    key, first = (state[0], state[1]), _number(state[2:4])
    is_threefry = bool(op.options.get("threefry", op.options.get("algorithm", 0) == _THREEFRY))
    rest = [] if is_threefry else state[4:] or state[:2]
    size = 2 + len(rest)
    output = op.output_types[1]
    blocks = -(-output.bytes // (4 * size))
    counters = [[*_split(first + i, 2), *rest] for i in range(blocks)]
    if blocks == 0:
        raise UnsupportedError(f"{op.name} without results")
    words = (threefry if is_threefry else philox)(np.array(counters, np.uint64), key).reshape(-1)
    bits = np.frombuffer(words.astype("<u4").tobytes()[: output.bytes], output.dtype.numpy)
    following = [*state[:2], *_split(first + blocks, 2), *state[4:]]
    after = [_number(following[i : i + 2]) for i in range(0, len(following), 2)]
    return [np.array(after, np.uint64), bits.reshape(output.max_shape)]


def first_counter(op: Operation) -> tuple[Array, ...]:
    """The generator's state at the start: the second seed is the upper half."""
    return (np.array([0, 0, *_split(int(op.options["seed2"]), 2)], np.uint32),)


INITIAL_STATES = dict.fromkeys(("RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL", "MULTINOMIAL"), first_counter)

EVALUATIONS: Mapping[str, Evaluation] = {
    "RANDOM_UNIFORM": _uniform,
    "RANDOM_STANDARD_NORMAL": _normal,
    "MULTINOMIAL": _multinomial,
    "STABLEHLO_RNG_BIT_GENERATOR": _bits,
}
