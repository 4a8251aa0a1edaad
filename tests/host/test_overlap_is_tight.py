"""The distances at which outputs may lie over inputs are the least there are: one element less spoils the output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from support import tight_cases
from support.kernel_harness import Case, claims, run_kernels
from tflmgen.ir.types import DType

CASES: list[Case] = [
    *(
        make(window, dtype)
        for make in (tight_cases.conv2d, tight_cases.depthwise)
        for window in tight_cases.WINDOWS
        for dtype in ("int8", "float32")
    ),
    *(
        tight_cases.pool(window, dtype)
        for window in ("3x3", "3x3 by two", "2x2 by two")
        for dtype in ("int8", "float32")
    ),
    *(
        tight_cases.fully_connected(*sizes, dtype)
        for sizes in ((1, 8, 12), (3, 8, 12), (3, 12, 8))
        for dtype in ("int8", "float32")
    ),
]


def _name(case: Case) -> str:
    sizes = ("x".join(map(str, item.type.max_shape)) for item in case.inputs if item is not None)
    return " ".join([case.operator, case.outputs[0].dtype.label, *sizes])


@pytest.mark.parametrize("group", range(4))
def test_one_element_less_is_too_little(group: int) -> None:
    rng = np.random.default_rng(group)
    runs, overlaps, owners = [], [], []
    for case in CASES[group::4]:
        size = case.outputs[0].dtype.bits // 8
        for claim in claims(case.kernel):
            # A block of float32 channels leaves room to spare where the output may begin where the input does.
            if claim.distance == 0 and case.outputs[0].dtype is DType.FLOAT32:
                continue
            for _ in range(tight_cases.TRIES):
                runs.append((case, tight_cases.values(case, rng)))
                overlaps.append(replace(claim, distance=claim.distance - size))
                owners.append((_name(case), claim))
    disjoint, overlapping = run_kernels(runs), run_kernels(runs, overlaps)
    spoiled = {
        owner for owner, result, other in zip(owners, disjoint, overlapping, strict=True) if _differ(result, other)
    }
    assert len(spoiled) > 5
    assert spoiled == set(owners)


def _differ(result: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> bool:
    return any(a.tobytes() != b.tobytes() for a, b in zip(result, other, strict=True))
