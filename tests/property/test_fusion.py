"""Fused operators compute what they did apart: integers bit for bit, floats within 1e-5."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from support.native import Invocation, build_native, run_native
from support.pipeline import Stages, compile_bytes
from support.random_layers import random_layers
from support.trial import LEAST
from tflmgen.graph import walk
from tflmgen.types import TensorType

COUNT = 25
SETS = 3


def values_of(kind: TensorType, rng: np.random.Generator) -> NDArray[np.generic]:
    if kind.dtype.is_float:
        return rng.normal(scale=3, size=kind.max_shape).astype(np.float32)
    low, high = kind.dtype.limits
    return rng.integers(low, high, kind.max_shape, kind.dtype.numpy, endpoint=True)


def operators(stages: Stages) -> int:
    return sum(1 for function in stages.module.functions for _ in walk(function.body))


def check(dtype: str, seed: int, count: int) -> int:
    """Compares `count` random models; the number of operators that fusion has saved."""
    rng = np.random.default_rng(seed)
    drawn = [random_layers(rng, dtype) for _ in range(count)]
    pairs = [(compile_bytes(data, LEAST), compile_bytes(data)) for data, _ in drawn]
    models = {
        f"m{i}_{'ab'[j]}": stages.sources(f"m{i}_{'ab'[j]}") for i, p in enumerate(pairs) for j, stages in enumerate(p)
    }
    program = build_native(models)
    calls = []
    for i, (_, kind) in enumerate(drawn):
        for _ in range(SETS):
            inputs = (values_of(kind, rng),)
            calls += [Invocation(2 * i, 0, inputs), Invocation(2 * i + 1, 0, inputs)]
    outputs = run_native(program, calls, [s.program.signatures for pair in pairs for s in pair])
    for number, (one, other) in enumerate(zip(outputs[::2], outputs[1::2], strict=True)):
        for a, b in zip(one, other, strict=True):
            message = f"seed {seed}, model {number // SETS}"
            if a.dtype.kind == "f":
                np.testing.assert_allclose(
                    b, a, rtol=1e-5, atol=1e-5 * max(1.0, float(np.abs(a).max())), err_msg=message
                )
            else:
                np.testing.assert_array_equal(b, a, err_msg=message)
    return sum(operators(a) - operators(b) for a, b in pairs)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_random_layers(dtype: str) -> None:
    assert check(dtype, 0, COUNT) > 0


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(1, 30))
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_many_random_layers(dtype: str, seed: int) -> None:
    check(dtype, seed, COUNT)
