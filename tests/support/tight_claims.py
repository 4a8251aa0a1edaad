"""Whether the distances that fast kernels claim are the least there are, on emulated cores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from support import tight_cases
from support.emulated_kernels import Machine, Run, faults_on, kernel_for
from support.kernel_harness import Case, claims, run_kernels


def check_claims_are_tight(machine: Machine, cases: Iterable[Case], folder: Path) -> None:
    """One element less than a case's kernel claims spoils its output."""
    rng = np.random.default_rng(1)
    trials, owners = [], []
    for number, case in enumerate(cases):
        for claim in claims(kernel_for(case, machine)):
            # A block of pixels or channels leaves room to spare where the output may begin where the input does.
            if claim.distance > 0:
                trials += [(case, tight_cases.values(case, rng), claim) for _ in range(tight_cases.TRIES)]
                owners += [(number, claim)] * tight_cases.TRIES
    expected = run_kernels([(case, values) for case, values, _ in trials])
    runs = [
        Run(case, values, wanted, replace(claim, distance=claim.distance - case.outputs[0].dtype.bits // 8))
        for (case, values, claim), wanted in zip(trials, expected, strict=True)
    ]
    spoiled = {owners[int(line.split()[1])] for line in faults_on(machine, runs, folder)}
    assert len(spoiled) >= 5
    assert spoiled == set(owners)
