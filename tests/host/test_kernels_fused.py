"""Kernels of what passes make of several operators."""

from __future__ import annotations

import numpy as np
from support.kernel_harness import check_against, constant, make_case, run_kernels, tensor


def test_lookup() -> None:
    rng = np.random.default_rng(2)
    table = rng.integers(-128, 128, 256)
    x, y = tensor("int8", (3, 300), 0.5, 3), tensor("int8", (), 0.25, 0)
    values = rng.integers(-128, 128, (3, 300)).astype(np.int8)
    case = make_case("LOOKUP", [x, constant("int8", table)], [y])
    check_against([(case, [values, None])], [[table[values.astype(int) + 128].astype(np.int8)]])


def test_silu_is_logistic_and_mul() -> None:
    x = np.concatenate([np.linspace(-100, 100, 2001), [0.0, -0.0, 1e-30]]).astype(np.float32)
    kind, result = tensor("float32", x.shape), tensor("float32", ())
    ((gate,),) = run_kernels([(make_case("LOGISTIC", [kind], [result]), [x])])
    check_against([(make_case("SILU", [kind], [result]), [x])], [[x * gate]], rtol=0, atol=0)


def test_normalize() -> None:
    rng = np.random.default_rng(3)
    runs, expected = [], []
    for rows, depth, centred, mean, affine in (
        (1, 1, True, True, 0),
        (3, 7, True, True, 3),
        (5, 16, False, True, 1),
        (2, 9, False, False, 2),
    ):
        x = (rng.normal(size=(rows, depth)) * 3 + 1).astype(np.float32)
        gain, bias = rng.normal(size=(2, depth)).astype(np.float32)
        factor = float(np.float32(1 / depth)) if mean else 1.0
        options = {"depth": depth, "epsilon": 1e-3, "factor": factor, "centred": centred}
        factors = [constant("float32", v) if affine & bit else None for v, bit in ((gain, 1), (bias, 2))]
        case = make_case("NORMALIZE", [tensor("float32", x.shape), *factors], [tensor("float32", ())], options)
        runs.append((case, [x, None, None]))
        wide = x.astype(np.float64)
        wide = wide - wide.mean(axis=1, keepdims=True) if centred else wide
        wide = wide / np.sqrt(np.square(wide).sum(axis=1, keepdims=True) * factor + 1e-3)
        wide = wide * (gain if affine & 1 else 1) + (bias if affine & 2 else 0)
        expected.append([wide.astype(np.float32)])
    check_against(runs, expected, rtol=1e-5, atol=1e-6)
