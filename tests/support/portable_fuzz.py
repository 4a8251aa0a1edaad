"""Random layers of portable kernels on the host, under sanitizers, with what the reference says of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from differential import elementwise, mixed, movement, picking, recurrent, reduction, weighted
from tflmgen.ir import Kernel
from tflmgen.kernels.registry import declarations
from tflmgen.reference import RunTimeError, UnsupportedError

from support.differential import Family, draw, is_empty
from support.kernel_fuzz import Findings, Fuzzed, calls_of, evaluated
from support.kernel_harness import run_kernels
from support.movement import selected
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
        kernel = selected(case)
        if not isinstance(kernel, Kernel) or is_empty(case) or case.states:
            continue
        try:
            expected = evaluated(case, values)
        except (UnsupportedError, RunTimeError):
            continue
        yield calls_of(case, values, kernel, expected, rng)


def fuzz_of_layers(name: str, seed: int, count: int) -> Iterator[list[Fuzzed]]:
    """The portable kernel's calls on layers that kernels for instruction sets are tested with."""
    rng, make = np.random.default_rng([seed, *name.encode()]), generator(name)
    for _ in range(count):
        case, values = make(rng)
        kernel = selected(case)
        assert isinstance(kernel, Kernel)
        yield calls_of(case, values, kernel, evaluated(case, values), rng)


def note_runs(calls: Sequence[Fuzzed], tolerances: Sequence[tuple[float, float]], findings: Findings) -> None:
    """Runs the calls in one program; tolerances: (rtol, atol) of each call's floats."""
    runs = [(call.run.case, call.run.values) for call in calls]
    results = run_kernels(runs, [call.run.overlap for call in calls])
    wrong = []
    for number, (call, outputs, bounds) in enumerate(zip(calls, results, tolerances, strict=True)):
        pairs = zip(outputs, call.run.expected, strict=True)
        if not all(_agree(got, want, *bounds) for got, want in pairs):
            wrong.append(number)
    findings.note(calls, wrong)


def _agree(got: np.ndarray, want: np.ndarray, rtol: float, atol: float) -> bool:
    if got.dtype.kind != "f":
        return np.array_equal(got, want)
    with np.errstate(all="ignore"):
        return bool(np.allclose(got, want, rtol, atol, equal_nan=True))
