"""Random layers of portable kernels on the host, under sanitizers, with what the reference says of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from differential import elementwise, mixed, movement, picking, recurrent, reduction, weighted
from tflmgen.ir.kernel import Kernel
from tflmgen.kernels.declaration import declarations
from tflmgen.reference import RunTimeError, UnsupportedError

from support.differential import Family, draw, is_empty
from support.kernel_fuzz import Findings, Fuzzed, calls_of, evaluated
from support.kernel_harness import run_kernels
from support.kernel_program import CHECKED, UNCHECKED
from support.moved_elements import selected
from support.variant_cases import DECLARATIONS, generator

ROOMS = (elementwise, mixed, movement, picking, recurrent, reduction, weighted)
FAMILIES = [family for room in ROOMS for family in room.FAMILIES if isinstance(family, Family)]
PORTABLE = tuple(declaration for declaration in declarations() if declaration not in DECLARATIONS)
LAYERS = sorted({name for declaration in DECLARATIONS for cases in declaration.cases for name in cases.layers.split()})
"""Names of layers that kernels for instruction sets are tested with: portable kernels compute them, too."""


def fuzz_of_family(family: Family, dtype: str, seed: int, count: int) -> Iterator[list[Fuzzed]]:
    """The calls of random cases of a family that a kernel computes and the reference evaluates."""
    rng = np.random.default_rng([seed, *family.operator.encode(), *dtype.encode()])
    for _ in range(count):
        case, values = draw(family, dtype, rng)
        if not isinstance(selected(case), Kernel) or is_empty(case) or case.states:
            continue
        try:
            expected = evaluated(case, values)
        except (UnsupportedError, RunTimeError):
            continue
        yield calls_of(case, values, case.kernel, expected, rng)


def fuzz_of_layers(name: str, seed: int, count: int) -> Iterator[list[Fuzzed]]:
    """The portable kernel's calls on layers that kernels for instruction sets are tested with."""
    rng, make = np.random.default_rng([seed, *name.encode()]), generator(name)
    for _ in range(count):
        case, values = make(rng)
        yield calls_of(case, values, case.kernel, evaluated(case, values), rng)


Bounded = tuple[Fuzzed, tuple[float, float]]
"""A call, and the (rtol, atol) of its floats."""


def note_runs(calls: Sequence[Bounded], findings: Findings) -> None:
    """Runs the calls: those that kernels allow under sanitizers, those too near without, as they do anything."""
    for too_near, flags in ((False, CHECKED), (True, UNCHECKED)):
        group = [(call, bounds) for call, bounds in calls if call.too_near == too_near]
        if not group:
            continue
        runs = [(call.run.case, call.run.values) for call, _ in group]
        results = run_kernels(runs, [call.run.overlap for call, _ in group], flags=flags)
        wrong = []
        for number, ((call, bounds), outputs) in enumerate(zip(group, results, strict=True)):
            if not all(_agree(got, want, *bounds) for got, want in zip(outputs, call.run.expected, strict=True)):
                wrong.append(number)
        findings.note([call for call, _ in group], wrong)


def _agree(got: np.ndarray, want: np.ndarray, rtol: float, atol: float) -> bool:
    if got.dtype.kind != "f":
        return np.array_equal(got, want)
    with np.errstate(all="ignore"):
        return bool(np.allclose(got, want, rtol, atol, equal_nan=True))
