"""Random models of If, While and Call whose arena lies in two or three memories: proved, and equal to the reference."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.trial import Trial, failures_in_c, seeded_trials
from tflmgen.backend import lower
from tflmgen.explore import in_memories
from tflmgen.ir.kernel import ArenaRooms
from tflmgen.proof.symbolic_memory import check_memory

BATCH = 60


def divided(trial: Trial, parts: int) -> Trial:
    """The trial with `parts` of its arena in memories of a third each, and the rest in a last one."""
    stages = trial.stages
    room = stages.plan.layout.arena.bytes // 3
    plan = in_memories(stages.plan, ArenaRooms((room,) * parts))
    return replace(trial, stages=replace(stages, plan=plan, program=lower(stages.module, plan)))


@pytest.mark.parametrize("parts", [1, 2])
def test_programs_are_those_of_one_memory(parts: int) -> None:
    trials = [divided(trial, parts) for trial in seeded_trials(range(BATCH))]
    for trial in trials:
        program = trial.stages.program
        check_memory(program, trial.stages.module.constants)
        assert all(size <= max(16, program.arena_bytes) for size in program.arena_sizes)
    several = [t for t in trials if sum(size > 0 for size in t.stages.program.arena_sizes) > parts]
    assert len(several) > len(trials) / 2
    assert any(f.groups for t in several for f in t.stages.program.functions)
    assert not failures_in_c(trials, "gcc")
