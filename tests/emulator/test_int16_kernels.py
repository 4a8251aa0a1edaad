"""Kernels of int16 activations by int8 weights for cores with DSP extension or MVE against the portable ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support import tight_cases
from support.emulated_kernels import M0, M4, M55, Machine, Run, check_on, kernel_for
from support.int16_cases import CASES, elementwise
from support.kernel_harness import Case, broken_rules, claims, host_outputs
from support.tight_claims import check_claims_are_tight

pytestmark = pytest.mark.emulator


@pytest.mark.parametrize(("machine", "optimize"), [(M4, "-O2"), (M4, "-Os"), (M55, "-O2")], ids=["m4", "m4s", "m55"])
@pytest.mark.parametrize("name", CASES)
def test_int16_kernels_are_exact(name: str, machine: Machine, optimize: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    vectorised = [run for run in (CASES[name](rng) for _ in range(40)) if _is_vectorised(run[0], machine)]
    runs = [
        Run(case, values, expected, overlap)
        for (case, values), expected in zip(vectorised, host_outputs(vectorised), strict=True)
        for overlap in (None, *claims(kernel_for(case, machine)))
    ]
    check_on(machine, runs, tmp_path, optimize)
    assert len(vectorised) >= 20


def _is_vectorised(case: Case, machine: Machine) -> bool:
    return kernel_for(case, machine).variant == ("mve" if "mve" in machine.target.instructions else "dsp")


@pytest.mark.parametrize("machine", [M4, M55], ids=["m4", "m55"])
def test_one_element_less_is_too_little(machine: Machine, tmp_path: Path) -> None:
    make = (tight_cases.conv2d, tight_cases.depthwise)
    windows = [window for window in tight_cases.WINDOWS if "one channel" not in window]
    cases = [m(window, "int16") for m in make for window in windows]
    cases += [tight_cases.fully_connected(*sizes, "int16") for sizes in ((3, 8, 12), (3, 8, 10), (3, 12, 8))]
    assert all(_is_vectorised(case, machine) for case in cases)
    check_claims_are_tight(machine, cases, tmp_path)


@pytest.mark.parametrize(
    ("machine", "optimize"),
    [(M4, "-O2"), (M4, "-Os"), (M0, "-O2"), (M55, "-O2")],
    ids=["m4", "m4s", "m0", "m55"],
)
def test_elementwise_operators_are_exact(machine: Machine, optimize: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    cases = [case for case in (elementwise(rng) for _ in range(60)) if not broken_rules(case[0])]
    runs = [Run(case, values, expected) for (case, values), expected in zip(cases, host_outputs(cases), strict=True)]
    check_on(machine, runs, tmp_path, optimize)
    assert len(cases) >= 40
