"""Every function of the kernels for the DSP extension, for MVE and for Armv6-M gives what the portable ones give."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.emulated_kernels import Run, check_on
from support.kernel_harness import host_outputs
from support.tools import requires_compiler
from support.variant_cases import DECLARATIONS, MACHINES, chosen_for, functions_by_header, functions_of
from tflmgen.kernels.declaration import KernelDeclaration

pytestmark = [pytest.mark.emulator, requires_compiler]


@pytest.mark.parametrize("variant", MACHINES)
def test_every_function_is_in_a_declared_header(variant: str) -> None:
    declared = [
        header for declaration in DECLARATIONS if declaration.instructions == variant for header in declaration.headers
    ]
    assert set(functions_by_header(variant)) == set(declared)


@pytest.mark.parametrize("declaration", DECLARATIONS, ids=lambda declaration: declaration.header)
def test_every_function_is_exact(
    declaration: KernelDeclaration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = list(chosen_for(declaration, functions_of(declaration), monkeypatch))
    cases = {id(case): (case, values) for case, values, *_ in chosen}
    expected = dict(zip(cases, host_outputs(list(cases.values())), strict=True))
    runs = [Run(case, values, expected[id(case)], overlap, kernel) for case, values, kernel, overlap in chosen]
    check_on(MACHINES[declaration.instructions], runs, tmp_path)
