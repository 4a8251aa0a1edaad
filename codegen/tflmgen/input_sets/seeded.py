"""Generated inputs: seeded random ones for tests, and the common generator for benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.errors import UsageError
from tflmgen.input_sets.npz import VectorSet
from tflmgen.ir import DType, TensorType
from tflmgen.ir.graph import EntryPoint, Port

SEED = 20260101
"""Seed of the generated inputs: any number, as long as it stays the same."""

SETS = 3
"""Generated input sets of a signature."""
FIRST, FACTOR, STEP = 0x12345678, 1664525, 1013904223
"""Seed, multiplier and increment of a linear congruential generator (Numerical Recipes)."""


def seeded_sets(signatures: Sequence[EntryPoint], numbers: Sequence[int]) -> tuple[VectorSet, ...]:
    """SETS deterministic input sets for each signature index in `numbers`.

    8-bit and 16-bit integers are uniform over their range; wider ones, which models use as counts and indices, are 0 or
    1; floats are in [-1, 1).
    """
    random = np.random.default_rng(SEED)
    return tuple(
        VectorSet("seeded", number, tuple(_seeded(random, port.type) for port in signatures[number].inputs))
        for _ in range(SETS)
        for number in numbers
    )


def generator_inputs(signature: EntryPoint) -> tuple[NDArray[Any], ...]:
    """Inputs equal to those of TensorFlow Lite Micro's published benchmarks. Raises UsageError for other types.

    x = 1664525 * x + 1013904223 mod 2**32 from 0x12345678, one sequence over the inputs in order; int8 is the top byte,
    int16 the top half, float32 ((x >> 8) - 2**23) / 2**23.
    """
    stream = _stream(sum(port.type.elements for port in signature.inputs))
    out = []
    for port in signature.inputs:
        count = port.type.elements
        out.append(_from_stream(stream[:count], port).reshape(port.type.max_shape))
        stream = stream[count:]
    return tuple(out)


def _seeded(random: np.random.Generator, type_: TensorType) -> NDArray[Any]:
    dtype, shape = type_.dtype, type_.max_shape
    if dtype.is_float:
        return random.uniform(-1.0, 1.0, shape).astype(dtype.numpy)
    low, high = dtype.limits if dtype.bits <= 16 else (0, 1)
    return random.integers(low, high, shape, endpoint=True).astype(dtype.numpy)


def _stream(count: int) -> NDArray[np.uint32]:
    values = np.empty(count, dtype=np.uint32)
    x = FIRST
    for i in range(count):
        x = (x * FACTOR + STEP) & 0xFFFFFFFF
        values[i] = x
    return values


def _from_stream(x: NDArray[np.uint32], port: Port) -> NDArray[Any]:
    dtype = port.type.dtype
    if dtype is DType.INT8:
        return (x >> 24).astype(np.uint8).view(np.int8)
    if dtype is DType.INT16:
        return (x >> 16).astype("<u2").view("<i2")
    if dtype is DType.FLOAT32:
        return (((x >> 8).astype(np.float64) - 2.0**23) / 2.0**23).astype("<f4")
    raise UsageError(f"no inputs are generated for '{port.name}' of type {port.type}: give them with --inputs")
