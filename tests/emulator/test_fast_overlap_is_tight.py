"""The distances at which the fast kernels let outputs lie over inputs are the least there are, on emulated cores."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import tight_cases
from support.emulated_kernels import M0, M4, M55, Machine, kernel_for
from support.kernel_harness import Case
from support.tight_claims import check_claims_are_tight

pytestmark = pytest.mark.emulator

CASES: list[Case] = [
    *(tight_cases.conv2d(window, "int8") for window in tight_cases.WINDOWS),
    *(tight_cases.conv2d_beyond(window) for window in ("3x3", "1x1", "1x1 of more channels")),
    *(tight_cases.depthwise(window, "int8") for window in tight_cases.WINDOWS),
    tight_cases.pool("2x2 by two", "int8"),
    tight_cases.pool("3x3", "int8"),
    tight_cases.pool("3x3", "int8", "MAX_POOL_2D"),
    tight_cases.fully_connected(3, 8, 12, "int8"),
    tight_cases.fully_connected(1, 320, 70, "int8"),
]


@pytest.mark.parametrize("machine", [M0, M4, M55], ids=["m0", "m4", "m55"])
def test_one_byte_less_is_too_little(machine: Machine, tmp_path: Path) -> None:
    vectorised = [case for case in CASES if kernel_for(case, machine).variant != "portable"]
    check_claims_are_tight(machine, vectorised, tmp_path)
