"""Fused operators compute what they did apart: integers bit for bit, floats within 1e-5."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from support.model_writer import ModelWriter
from support.native import Invocation, build_native, run_native
from support.pipeline import Stages, compile_bytes
from support.random_layers import random_layers
from support.trial import LEAST
from tflmgen.ir.graph.module import walk
from tflmgen.ir.types import TensorType

COUNT = 10
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
    for number, (output, other) in enumerate(zip(outputs[::2], outputs[1::2], strict=True)):
        for a, b in zip(output, other, strict=True):
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


def padded_hybrid(rng: np.random.Generator, scales: list[float]) -> bytes:
    """PAD before a convolution of floats by int8 weights, which quantises what it reads at run time."""
    w = ModelWriter()
    g = w.subgraph("main")
    x, p = g.tensor("x", "float32", [1, 5, 6, 3]), g.tensor("p", "float32", [1, 7, 9, 3])
    y = g.tensor("y", "float32", [1, 5, 7, 4])
    g.operator("PAD", [x, g.constant("pads", np.array([[0, 0], [1, 1], [2, 1], [0, 0]], np.int32))], [p])
    weights = rng.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8)
    filter_ = g.constant("w", weights, scale=scales, zero_point=[0] * len(scales))
    options = {"padding": 1, "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    bias = g.constant("b", rng.normal(size=4).astype(np.float32))
    g.operator("CONV_2D", [p, filter_, bias], [y], options)
    g.inputs, g.outputs = [x], [y]
    return bytes(w.finish())


@pytest.mark.parametrize("scales", [[0.02], [0.01, 0.02, 0.03, 0.04]], ids=["one scale", "a scale per channel"])
def test_zeros_around_do_not_change_how_an_input_is_quantised(scales: list[float]) -> None:
    rng = np.random.default_rng(8)
    data = padded_hybrid(rng, scales)
    pair = compile_bytes(data, LEAST), compile_bytes(data)
    assert [operators(stages) for stages in pair] == [2, 1]
    program = build_native({f"m{i}": stages.sources(f"m{i}") for i, stages in enumerate(pair)})
    for shift in (-4, 0, 4):
        x = (rng.normal(size=(1, 5, 6, 3)) + shift).astype(np.float32)
        calls = [Invocation(i, 0, (x,)) for i in range(2)]
        (output,), (other,) = run_native(program, calls, [stages.program.signatures for stages in pair])
        np.testing.assert_array_equal(output, other)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(1, 30))
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_many_random_layers(dtype: str, seed: int) -> None:
    check(dtype, seed, 25)
