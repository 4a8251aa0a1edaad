"""Random models of If, While and Call: what is compiled equals what the file means."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.features import features
from support.random_program import Drawn, random_program
from support.trial import failures_in_c, make_trial, seeded_trials
from tflmgen.proof.symbolic_memory import check_memory
from tflmgen.reference.work_budget import WorkError

BATCH = 40
QUICK = range(1)
SWEEP = range(1, 60)


@pytest.mark.parametrize("batch", [*QUICK, *(pytest.param(number, marks=pytest.mark.sweep) for number in SWEEP)])
def test_generated_c_equals_the_reference(batch: int) -> None:
    trials = seeded_trials(range(batch * BATCH, (batch + 1) * BATCH))
    for trial in trials:
        check_memory(trial.stages.program, trial.stages.module.constants)
    assert len(trials) > BATCH * 0.8
    assert not failures_in_c(trials, "clang" if batch % 3 == 2 else "gcc")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_program_equals_the_reference(data: st.DataObject) -> None:
    """The same without C, from hypothesis, which shrinks what fails."""
    model = random_program(Drawn(lambda low, high: data.draw(st.integers(low, high))))
    try:
        trial = make_trial(model, "drawn")
    except WorkError:
        assume(False)
    check_memory(trial.stages.program, trial.stages.module.constants)
    assert trial.holds_for(trial.stages.program)


def test_random_programs_have_every_feature() -> None:
    """The tests above would be worth little if the generator missed what is difficult."""
    seen: Counter[str] = Counter()
    for trial in seeded_trials(range(120)):
        seen.update(features(trial))
    wanted = {
        "nesting of 3",
        "function with several callers",
        "one value for two variables",
        "zero iterations",
        "several iterations",
        "output that is an input",
        "output that is constant",
        "one output twice",
        "cycle of variables",
        "copies within a loop",
        "empty branch",
        "If without results",
        "unused result",
        "several signatures",
        "persistent variables",
        "pointers that change places",
    }
    assert {name for name in wanted if seen[name] < 3} == set()
