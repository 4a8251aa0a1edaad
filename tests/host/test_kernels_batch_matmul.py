"""BATCH_MATMUL against TFLite Micro."""

from __future__ import annotations

import numpy as np
import pytest
from support.conv_cases import Run, int8_tensor, int16_tensor, pick
from support.kernel_harness import (
    Tensor,
    check_against,
    check_against_tflm,
    constant,
    make_case,
    random_values,
    run_tflm,
    tensor,
)

pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")


def _operand(
    rng: np.random.Generator, dtype: str, batch: tuple[int, ...], rows: int, columns: int, adj: bool
) -> Tensor:
    shape = (*batch, columns, rows) if adj else (*batch, rows, columns)
    by_dtype = {"int8": int8_tensor, "int16": int16_tensor}
    return by_dtype[dtype](rng, shape) if dtype in by_dtype else tensor(dtype, shape)


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


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_random_cases(dtype: str) -> None:
    rng = np.random.default_rng(1)
    check_against_tflm([batch_matmul(rng, dtype) for _ in range(30)])


def permuted(rng: np.random.Generator, dtype: str) -> tuple[Run, Run]:
    """(a product of transposed operands, itself transposed, in one; the product of what is transposed beforehand)."""
    case, values = batch_matmul(rng, dtype)
    options, operands, arrays = dict(case.options), list(case.inputs), list(values)
    for index, key in enumerate(("left_axes", "right_axes")):
        item, value = operands[index], arrays[index]
        assert item is not None
        order = rng.permutation(len(item.type.max_shape))
        data = None if item.data is None else item.data.transpose(order)
        operands[index] = Tensor(item.type.with_shape(tuple(item.type.max_shape[a] for a in order)), data)
        arrays[index] = None if value is None else np.ascontiguousarray(value.transpose(order))
        options[key] = tuple(int(a) for a in np.argsort(order))
    options["output_axes"] = tuple(int(a) for a in rng.permutation(len(case.outputs[0].max_shape)))
    return (make_case("BATCH_MATMUL", operands, [Tensor(case.outputs[0])], options), arrays), (case, values)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_permuted_operands_and_products(dtype: str) -> None:
    rng = np.random.default_rng(6)
    pairs = [permuted(rng, dtype) for _ in range(30)]
    wanted = [run_tflm(*plain)[0].transpose(run[0].options["output_axes"]) for run, plain in pairs]
    check_against([run for run, _ in pairs], [[w] for w in wanted])


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 104))
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_many_random_cases(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check_against_tflm([batch_matmul(rng, dtype) for _ in range(60)])
