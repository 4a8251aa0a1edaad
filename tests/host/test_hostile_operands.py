"""Operators that data lead to places: indices and lengths out of range, NaN scores, boxes turned round, empty sets.

Their kernels run under sanitizers, with every buffer at its exact size, and give what the reference says: a gathered
index is moved to the nearest that exists, what would be put outside is left out, and a slice is moved inside.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from differential.test_differential import FAMILIES
from support.differential import ODD, Family, Rng, Run, draw
from support.kernel_fuzz import evaluated
from support.kernel_harness import Array, Case, run_kernels
from tflmgen.ir.kernel import Kernel, KernelChoice
from tflmgen.kernels.table import OPERATORS as TABLE
from tflmgen.reference.operation import RunTimeError, UnsupportedError

NAMES = """
GATHER GATHER_ND SCATTER_ND STABLEHLO_SCATTER EMBEDDING_LOOKUP EMBEDDING_LOOKUP_SPARSE HASHTABLE_LOOKUP SPARSE_TO_DENSE
ONE_HOT DYNAMIC_UPDATE_SLICE SLICE STRIDED_SLICE REVERSE_SEQUENCE BUCKETIZE TOPK_V2 ARG_MAX ARG_MIN SEGMENT_SUM
UNSORTED_SEGMENT_SUM UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_MIN
NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5
"""
OPERATORS = frozenset(NAMES.split())
BY_FLOATS = {"NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5", "BUCKETIZE"}
"""Of these, floats decide on places, too."""
PAIRS = [(family, dtype) for family in FAMILIES if family.operator in OPERATORS for dtype in family.types]
UNORDERED = {*BY_FLOATS, "HASHTABLE_LOOKUP"} - {"BUCKETIZE"}
"""Of these the sanitizers alone are asked: scores that are NaN and keys that do not ascend have no order."""
INTEGERS = (0, 1, 2, -1, -2, 5, 100, -(1 << 15), (1 << 15) - 1, -(1 << 31), (1 << 31) - 1, 1 << 32, 1 << 62, -(1 << 62))
"""Those that a type has not are wrapped into it; of 64 bits some have small low halves."""


def hostile(rng: Rng, family: Family, dtype: str) -> Run:
    """A case with a kernel whose operands at run time are any numbers of their types, most of them strange."""
    drawn = (draw(family, dtype, rng) for _ in range(100))
    case, values = next((case, values) for case, values in drawn if _has_kernel(case))
    leads = "iuf" if case.operator in BY_FLOATS else "iu"
    return case, [v if v is None or v.dtype.kind not in leads else _strange(rng, v) for v in values]


def _has_kernel(case: Case) -> bool:
    return isinstance(TABLE[case.operator].kernel(case.instance, case.target), Kernel | KernelChoice)


def _strange(rng: Rng, value: Array) -> Array:
    numbers = np.array(INTEGERS) if value.dtype.kind in "iu" else ODD
    with np.errstate(all="ignore"):
        drawn = rng.choice(numbers, value.shape).astype(value.dtype)
    return np.where(rng.random(value.shape) < 0.6, drawn, value).astype(value.dtype)


def check(runs: list[tuple[Family, Run]]) -> Counter[str]:
    """Runs them all in one program, and counts those that the reference evaluates: others are errors in LiteRT."""
    compared: Counter[str] = Counter()
    results = run_kernels([run for _, run in runs])
    for (family, (case, values)), outputs in zip(runs, results, strict=True):
        if case.operator in UNORDERED:
            continue
        try:
            with np.errstate(all="ignore"):
                expected = evaluated(case, values)
        except (RunTimeError, UnsupportedError, ValueError):
            continue
        if [want.size for want in expected] != [got.size for got in outputs]:
            continue  # bounds of a slice that leave less than the file says
        compared[case.operator] += 1
        for got, want in zip(outputs, expected, strict=False):
            rtol = max(family.rtol, 1e-5) if got.dtype.kind == "f" else 0
            np.testing.assert_allclose(got, want.reshape(got.shape), rtol, 1e-5 if rtol else 0, err_msg=str(case))
    return compared


def test_a_sample() -> None:
    rng = np.random.default_rng(5)
    firsts = {family.operator: (family, dtype) for family, dtype in reversed(PAIRS)}
    assert firsts.keys() == OPERATORS
    runs = [(family, hostile(rng, family, dtype)) for family, dtype in firsts.values() for _ in range(3)]
    compared = check(runs)
    assert len(compared) > len(OPERATORS - UNORDERED) - 4


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(20))
def test_many(seed: int) -> None:
    rng = np.random.default_rng(seed)
    check([(family, hostile(rng, family, dtype)) for family, dtype in PAIRS])
