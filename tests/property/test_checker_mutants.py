"""The checker against corrupted Programs: what it accepts must still compute the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from support.mutate import MUTATIONS
from support.random_program import Seeded
from support.trial import Trial, failures_in_c, is_memory_proved, seeded_trials
from tflmgen.ir.program.instructions import Program

ROUNDS = 4


def mutants(trial: Trial, seed: int) -> list[tuple[str, Program]]:
    choose = Seeded(seed)
    changed = [(m.__name__, m(trial.stages.program, choose)) for _ in range(ROUNDS) for m in MUTATIONS]
    return [(name, program) for name, program in changed if program != trial.stages.program]


@pytest.mark.parametrize("seeds", [range(100), pytest.param(range(100, 1200), marks=pytest.mark.sweep)])
def test_accepted_mutants_compute_the_same(seeds: range) -> None:
    rejected: Counter[str] = Counter()
    for trial in seeded_trials(seeds):
        for name, program in mutants(trial, len(trial.label)):
            if is_memory_proved(trial.stages, program):
                assert trial.holds_for(program), (trial.label, name)
            else:
                rejected[name] += 1
    assert set(rejected) == {m.__name__ for m in MUTATIONS}


def test_accepted_mutants_compute_the_same_in_c() -> None:
    accepted = []
    for trial in seeded_trials(range(2000, 2025)):
        for name, program in mutants(trial, 1)[:9]:
            if is_memory_proved(trial.stages, program):
                stages = replace(trial.stages, program=program)
                accepted.append(replace(trial, label=f"{trial.label} {name}", stages=stages))
    assert len(accepted) > 20
    assert not failures_in_c(accepted[:80])
