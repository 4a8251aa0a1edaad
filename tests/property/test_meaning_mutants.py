"""Programs that compute something else than their graph are rejected, however right their memory is."""

from __future__ import annotations

from collections import Counter

import pytest
from support.mutate_meaning import CONTROL, NUMBERS, Mutation
from support.pipeline import compile_bytes
from support.random_program import Seeded
from support.repository import ROOT
from support.trial import Trial, is_proved, seeded_trials
from tflmgen.ir.program import Program

ROUNDS = 3
SEEDS = [range(40), pytest.param(range(40, 1200), marks=pytest.mark.sweep)]


def mutants(trial: Trial, mutations: tuple[Mutation, ...]) -> list[tuple[str, Program]]:
    choose = Seeded(len(trial.label))
    program = trial.stages.program
    mutated = [(m.__name__, m(program, choose)) for _ in range(ROUNDS) for m in mutations]
    return [(name, mutant) for name, mutant in mutated if mutant != program]


@pytest.mark.parametrize("seeds", SEEDS)
def test_no_program_with_other_control_flow_passes(seeds: range) -> None:
    rejected: Counter[str] = Counter()
    for trial in seeded_trials(seeds):
        assert is_proved(trial.stages, trial.stages.program)
        for name, program in mutants(trial, CONTROL):
            if is_proved(trial.stages, program):
                assert trial.holds_for(program), (trial.label, name)
            else:
                rejected[name] += 1
    assert set(rejected) == {m.__name__ for m in CONTROL}


@pytest.mark.parametrize("seeds", SEEDS)
def test_no_program_with_other_numbers_passes(seeds: range) -> None:
    rejected: Counter[str] = Counter()
    for trial in (*seeded_trials(seeds), *example_trials()):
        for name, program in mutants(trial, NUMBERS):
            assert not is_proved(trial.stages, program), (trial.label, name)
            rejected[name] += 1
    assert set(rejected) == {m.__name__ for m in NUMBERS}


def example_trials() -> list[Trial]:
    """The examples: their kernels have packed weights, which random programs lack."""
    paths = [
        path
        for path in sorted((ROOT / "examples").rglob("*.tflite"))
        if path.stem != "erfinv" and path.parent.name != "quantize"
    ]
    return [Trial(path.stem, compile_bytes(path.read_bytes()), ()) for path in paths]
