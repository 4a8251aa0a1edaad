"""Every function of the kernels for the DSP extension, for MVE and for Armv6-M gives what the portable ones give."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.emulated_kernels import Run, check_on
from support.kernel_harness import run_kernels
from support.tools import requires_compiler
from support.variant_cases import FAMILIES, MACHINES, Family, chosen_for, fast_functions

pytestmark = [pytest.mark.emulator, requires_compiler]


@pytest.mark.parametrize("variant", MACHINES)
def test_every_function_is_of_one_family(variant: str) -> None:
    families = [family for family in FAMILIES if family.variant == variant]
    functions = fast_functions(variant)
    assert len(functions) > 20
    assert {name for name in functions if sum(family.has(name) for family in families) != 1} == set()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.pattern)
def test_every_function_is_exact(family: Family, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    functions = family.functions()
    assert functions
    chosen = list(chosen_for(family, functions, monkeypatch))
    cases = {id(case): (case, values) for case, values, *_ in chosen}
    expected = dict(zip(cases, run_kernels(list(cases.values())), strict=True))
    runs = [Run(case, values, expected[id(case)], overlap, kernel) for case, values, kernel, overlap in chosen]
    check_on(family.machine, runs, tmp_path)
