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
