"""The distances at which the fast kernels let outputs lie over inputs are the least there are, on emulated cores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import tight_cases
from support.emulated_kernels import M0, M4, M55, Machine, Run, faults_on, kernel_for
from support.kernel_harness import Case, claims, run_kernels

pytestmark = pytest.mark.emulator

CASES: list[Case] = [
    *(tight_cases.conv2d(window, "int8") for window in tight_cases.WINDOWS),
    *(tight_cases.depthwise(window, "int8") for window in tight_cases.WINDOWS),
    tight_cases.pool("2x2 by two", "int8"),
    tight_cases.pool("3x3", "int8"),
    tight_cases.pool("3x3", "int8", "MAX_POOL_2D"),
    tight_cases.fully_connected(3, 8, 12, "int8"),
    tight_cases.fully_connected(1, 320, 70, "int8"),
]


@pytest.mark.parametrize("machine", [M0, M4, M55], ids=["m0", "m4", "m55"])
def test_one_byte_less_is_too_little(machine: Machine, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    found, owners = [], []
    for number, case in enumerate(CASES):
        kernel = kernel_for(case, machine)
        if kernel.variant == "portable":
            continue
        for claim in claims(kernel):
            # A block of pixels leaves room to spare where the output may begin where the input does.
            if claim.distance > 0:
                found += [(case, tight_cases.values(case, rng), claim, kernel) for _ in range(tight_cases.TRIES)]
                owners += [(number, kernel.function, claim)] * tight_cases.TRIES
    expected = run_kernels([(case, values) for case, values, _, _ in found])
    runs = [
        Run(case, values, wanted, replace(claim, distance=claim.distance - 1), kernel)
        for (case, values, claim, kernel), wanted in zip(found, expected, strict=True)
    ]
    faults = faults_on(machine, runs, tmp_path)
    spoiled = {owners[int(line.split()[1])] for line in faults}
    assert len(spoiled) >= 5
    assert spoiled == set(owners)
