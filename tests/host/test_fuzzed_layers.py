"""Portable kernels against the reference, on random layers of every operator, under sanitizers on the host."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.kernel_fuzz import ALIGNMENT, Findings, evaluated
from support.kernel_harness import run_kernels
from support.portable_fuzz import FAMILIES, LAYERS, PORTABLE, Bounded, fuzz_of_family, fuzz_of_layers, note_runs
from support.variant_cases import generator

LEAST_RTOL, LEAST_ATOL = 2e-5, 1e-5
"""Of floats, whose sums the kernels and the reference add up in other orders."""

GROUP = 200
"""Calls in one C program."""


def drawn(seed: int, count: int, pairs: list[tuple[int, str]]) -> list[Bounded]:
    calls: list[Bounded] = []
    for index, dtype in pairs:
        family = FAMILIES[index]
        bounds = max(family.rtol, LEAST_RTOL), max(family.atol if family.atol < 1 else 0.0, LEAST_ATOL)
        calls += [(call, bounds) for layer in fuzz_of_family(family, dtype, seed, count) for call in layer]
    for name in LAYERS:
        calls += [(call, (0.0, 0.0)) for layer in fuzz_of_layers(name, seed, count) for call in layer]
    return calls


def campaign(calls: list[Bounded], findings: Findings) -> Findings:
    for at in range(0, len(calls), GROUP):
        note_runs(calls[at : at + GROUP], findings)
    return findings


ALL = [(i, dtype) for i, family in enumerate(FAMILIES) for dtype in family.types]


def test_random_layers_of_every_declaration() -> None:
    """A sample of all operators' families; each declared header of portable kernels among them."""
    rng = np.random.default_rng(0)
    pairs = [ALL[i] for i in sorted(rng.choice(len(ALL), 40, replace=False))]
    calls = drawn(0, 1, pairs)
    findings = campaign(calls, Findings())
    assert findings.wrong == []
    reached = {call.kernel.header for call, _ in calls}
    assert {declaration.header for declaration in PORTABLE} <= reached
    assert findings.spoiled.total() > 20


@pytest.mark.sweep
def test_many_random_layers() -> None:
    """One element less than claimed must spoil some layer of all seeds: few layers of a kernel reach its claim."""
    findings = Findings()
    for seed in range(1, 11):
        campaign(drawn(seed, 2, ALL), findings)
    print(f"{findings.calls} calls, never spoiled by one less: {findings.loose}")
    assert findings.wrong == []
    assert findings.too_cautious == {}


def test_state_that_moves_by_less_than_its_size() -> None:
    """Old and new contents of an LSTM's state may overlap in part: they are moved, not copied."""
    case, values = generator("lstm")(np.random.default_rng(5))
    expected = evaluated(case, values)
    for claim in case.kernel.overlaps[:2]:
        assert case.outputs[claim.output].bytes > ALIGNMENT
        (outputs,) = run_kernels([(case, values)], [replace(claim, distance=ALIGNMENT)])
        for got, want in zip(outputs, expected, strict=True):
            np.testing.assert_array_equal(got, want)


def test_sums_along_an_axis_are_right_wherever_they_may_lie() -> None:
    """From the end, or along an axis that is not the last, elements are not walked in the order of memory."""
    family = next(family for family in FAMILIES if family.operator == "CUMSUM")
    findings = Findings()
    layers = fuzz_of_family(family, "int32", 3, 30)
    note_runs([(call, (0.0, 0.0)) for layer in layers for call in layer], findings)
    assert findings.wrong == []
    assert findings.spoiled.total() > 5
