"""BATCH_MATMUL against TFLite Micro, and against LiteRT where the right matrices have another type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.conv_cases import Run, at_run_time, int8_tensor, int16_tensor, pick, weights
from support.kernel_harness import (
    Tensor,
    check_against,
    check_against_tflm,
    constant,
    make_case,
    random_values,
    tensor,
)
from support.litert import run_litert

pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")


def _operand(
    rng: np.random.Generator, dtype: str, batch: tuple[int, ...], rows: int, columns: int, adj: bool
) -> Tensor:
    shape = (*batch, columns, rows) if adj else (*batch, rows, columns)
    makers = {"int8": int8_tensor, "int16": int16_tensor}
    return makers[dtype](rng, shape) if dtype in makers else tensor(dtype, shape)


def batch_matmul(rng: np.random.Generator, dtype: str) -> Run:
    rows, depth, columns = (int(n) for n in rng.integers(1, 7, 3))
    left_batch, right_batch = pick(
        rng,
        ((), ()),
        ((2,), (2,)),
        ((3,), ()),
        ((), (2,)),
        ((1, 2), (3, 1)),
        ((2, 3, 2), (2, 1, 2)),
        ((2, 3), (2, 3)),
    )
    adjoint = [bool(flag) for flag in rng.integers(0, 2, 2)]
    left = _operand(rng, dtype, left_batch, rows, depth, adjoint[0])
    right = _operand(rng, dtype, right_batch, depth, columns, adjoint[1])
    if rng.random() < 0.3 and dtype == "float32":
        right = constant(dtype, rng.normal(size=right.type.max_shape))
    output = tensor(dtype, ())
    if dtype == "int8":
        output = tensor(dtype, (), float(rng.uniform(0.1, 1.0)), int(rng.integers(-128, 128)))
    if dtype == "int16":
        output = tensor(dtype, (), float(rng.uniform(1e-4, 1e-2)))
    case = make_case("BATCH_MATMUL", [left, right], [output], {"adj_x": adjoint[0], "adj_y": adjoint[1]})
    return case, random_values(case, rng)


def mixed(rng: np.random.Generator, dtype: str) -> Run:
    """Left matrices of `dtype` by int8 ones, in at most one dimension of batches: LiteRT mixes up the rows of more."""
    rows, depth, columns = (int(n) for n in rng.integers(1, 9, 3))
    left_batch, right_batch = pick(rng, ((), ()), ((2,), (2,)), ((3,), ()), ((), (2,)), ((3,), (1,)))
    options: dict[str, Any] = {"adj_x": bool(rng.integers(2)), "adj_y": bool(rng.integers(2))}
    left = _operand(rng, dtype, left_batch, rows, depth, options["adj_x"])
    shape = (*right_batch, columns, depth) if options["adj_y"] else (*right_batch, depth, columns)
    axis = len(shape) - (2 if options["adj_y"] else 1)
    if dtype == "int16":
        right = at_run_time(rng, weights(rng, shape, None))
        output = tensor(dtype, (), float(rng.uniform(1e-5, 1e-3)))
    else:
        right = weights(rng, shape, axis if rng.integers(2) else None)
        output = tensor(dtype, ())
        options["asymmetric_quantize_inputs"] = bool(rng.integers(2))
    assert right
    case = make_case("BATCH_MATMUL", [left, right], [output], options)
    return case, random_values(case, rng)


def check_mixed(cases: list[Run]) -> None:
    check_against(cases, [run_litert(*case) for case in cases])


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_random_cases(dtype: str) -> None:
    rng = np.random.default_rng(1)
    check_against_tflm([batch_matmul(rng, dtype) for _ in range(30)])


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 104))
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_many_random_cases(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check_against_tflm([batch_matmul(rng, dtype) for _ in range(60)])


@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_random_cases_by_int8(dtype: str) -> None:
    rng = np.random.default_rng(1)
    check_mixed([mixed(rng, dtype) for _ in range(30)])


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 104))
@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_many_random_cases_by_int8(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check_mixed([mixed(rng, dtype) for _ in range(60)])
