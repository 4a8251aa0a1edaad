"""Reductions against TFLite Micro, and against NumPy where it has no kernel."""

from __future__ import annotations

import numpy as np
import pytest
from support.conv_cases import Run, int8_tensor
from support.kernel_harness import check_against, check_against_tflm, constant, make_case, random_values, tensor


def reduction(rng: np.random.Generator, operator: str, dtype: str, max_axes: int = 6) -> Run:
    rank = int(rng.integers(1, 5 if max_axes == 2 else 7))
    shape = tuple(int(n) for n in rng.integers(1, 5, rank))
    axes = rng.permutation(rank)[: int(rng.integers(1, min(rank, max_axes) + 1))]
    axes = np.where(rng.random(axes.shape) < 0.5, axes - rank, axes)
    x = int8_tensor(rng, shape) if dtype == "int8" else tensor(dtype, shape, 0.01 if dtype == "int16" else None)
    y = x
    if operator in ("MEAN", "SUM") and dtype in ("int8", "int16"):
        y = int8_tensor(rng) if dtype == "int8" else tensor(dtype, (), float(rng.uniform(0.005, 0.05)))
    case = make_case(operator, [x, constant("int32", axes)], [y], {"keep_dims": bool(rng.integers(2))})
    return case, random_values(case, rng)


TFLM = [
    ("MEAN", "int8"),
    ("MEAN", "int16"),
    ("MEAN", "float32"),
    ("SUM", "int8"),
    ("SUM", "int16"),
    ("SUM", "float32"),
    ("REDUCE_MAX", "int8"),
    ("REDUCE_MAX", "float32"),
    ("REDUCE_MIN", "int8"),
    ("REDUCE_MIN", "float32"),
]


@pytest.mark.parametrize(("operator", "dtype"), TFLM)
def test_random_cases(operator: str, dtype: str) -> None:
    """TFLite Micro has room for 4 dimensions and 2 axes."""
    pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")
    rng = np.random.default_rng(1)
    check_against_tflm([reduction(rng, operator, dtype, max_axes=2) for _ in range(20)])


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 104))
@pytest.mark.parametrize(("operator", "dtype"), TFLM)
def test_many_random_cases(operator: str, dtype: str, seed: int) -> None:
    pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")
    rng = np.random.default_rng(seed)
    check_against_tflm([reduction(rng, operator, dtype, max_axes=2) for _ in range(60)])


NUMPY = {
    "MEAN": lambda x, **options: (
        np.trunc(x.mean(dtype=np.longdouble, **options)) if x.dtype.kind == "i" else x.mean(**options)
    ),
    "SUM": np.sum,
    "REDUCE_MAX": np.max,
    "REDUCE_MIN": np.min,
    "REDUCE_PROD": np.prod,
    "REDUCE_ANY": np.any,
    "REDUCE_ALL": np.all,
}


@pytest.mark.parametrize(
    ("operator", "dtype"),
    [
        ("MEAN", "float32"),
        ("MEAN", "int32"),
        *((operator, dtype) for operator in ("SUM", "REDUCE_PROD") for dtype in ("float32", "int32", "int64")),
        *(
            (operator, dtype)
            for operator in ("REDUCE_MAX", "REDUCE_MIN")
            for dtype in ("int8", "int16", "int32", "int64")
        ),
        ("REDUCE_ANY", "bool"),
        ("REDUCE_ALL", "bool"),
    ],
)
def test_any_axes_of_up_to_six_dimensions(operator: str, dtype: str) -> None:
    rng = np.random.default_rng(2)
    runs, expected = [], []
    for _ in range(15):
        case, values = reduction(rng, operator, dtype)
        item, x = case.inputs[1], values[0]
        assert item is not None
        assert item.data is not None
        assert x is not None
        arguments = {"axis": tuple(item.data), "keepdims": case.options["keep_dims"]}
        with np.errstate(over="ignore"):
            result = NUMPY[operator](x, **arguments)  # type: ignore[operator]
        runs.append((case, values))
        expected.append([np.asarray(result).astype(x.dtype)])
    check_against(runs, expected)
