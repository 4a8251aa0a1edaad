"""float32 by int8 weights (dynamic range quantisation) against LiteRT; TFLite Micro has no such kernels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support import conv_cases
from support.kernel_harness import Array, Case, Tensor, check_against, constant, make_case, tensor
from support.litert import run_litert
from tflmgen.types import Quantization

OPERATORS = {case.__name__: case for case in conv_cases.WEIGHTED}
CHANNELS = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3}
"""The filter's dimension of output channels."""


def as_litert_takes_it(case: Case, values: list[Array | None]) -> tuple[Case, list[Array | None]]:
    """The same with a bias, which LiteRT's convolutions demand, and a scale per channel.

    It reads one per channel of depthwise and grouped filters, even where there is one in all. One of them is
    changed a little: only scales that differ make LiteRT take the way of grouped filters.
    """
    axis = CHANNELS.get(case.operator)
    if axis is None:
        return case, values
    source, weights, *rest = case.inputs
    assert source
    assert weights
    assert weights.type.quantization
    channels, bias = weights.type.max_shape[axis], rest[0] if rest else None
    grouped = source.type.max_shape[3] != weights.type.max_shape[3]
    scales = np.array(weights.type.quantization.scales)
    if len(scales) == 1 and (grouped or axis == 3):
        scales = np.repeat(scales, channels)
        scales[-1] *= 1 + 1e-7
    kind = replace(weights.type, quantization=Quantization(tuple(scales.tolist()), (0,) * len(scales), axis))
    inputs = (source, Tensor(kind, weights.data), bias or constant("float32", np.zeros(channels)))
    return replace(case, inputs=inputs), [*values[:2], values[2] if bias else None]


def check(cases: list[tuple[Case, list[Array | None]]]) -> None:
    # LiteRT's kernels for x86 are wrong where a weight is -128, which no converter makes.
    runs = [(case, [v if v is None or v.dtype != np.int8 else np.maximum(v, -127) for v in vs]) for case, vs in cases]
    check_against(runs, [run_litert(*as_litert_takes_it(*run)) for run in runs])


@pytest.mark.parametrize("name", OPERATORS)
def test_random_cases(name: str) -> None:
    rng = np.random.default_rng(1)
    check([OPERATORS[name](rng, "hybrid") for _ in range(25)])


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 108))
@pytest.mark.parametrize("name", OPERATORS)
def test_many_random_cases(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check([OPERATORS[name](rng, "hybrid") for _ in range(50)])


@pytest.mark.parametrize("name", ["conv2d", "fully_connected"])
def test_random_cases_of_int4_filters(name: str) -> None:
    rng = np.random.default_rng(1)
    runs = [conv_cases.with_int4_filter(rng, OPERATORS[name](rng, "hybrid")) for _ in range(25)]
    check(runs)


@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize("row", [[0.0] * 5, [3.0] * 5, [-2.0] * 5, [1e-30, 0, 0, 0, 0], [0.0, 0, 0, 0, 7.0]])
def test_rows_at_the_edges(row: list[float], asymmetric: bool) -> None:
    weights = constant("int8", np.arange(-10, 10).reshape(4, 5), 0.1)
    options = {"asymmetric_quantize_inputs": asymmetric}
    case = make_case("FULLY_CONNECTED", [tensor("float32", (2, 5)), weights], [tensor("float32", ())], options)
    check([(case, [np.array([row, [1.0, 2.0, -3.0, 0.5, 0.0]], np.float32), None])])
