"""A proof whose own arithmetic fails is a refusal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.mutate import Rewriter
from support.trial import seeded_trials
from tflmgen.errors import InternalError, ModelError
from tflmgen.ir.program.instructions import Slot
from tflmgen.proof import check_constants, check_meaning, check_memory, check_text, without_handles
from tflmgen.proof.refusals import refusing


@pytest.mark.parametrize(
    "error", [IndexError("x"), KeyError("x"), OverflowError("x"), AssertionError("x"), TypeError()]
)
def test_plain_exceptions_are_refusals(error: Exception) -> None:
    @refusing
    def check() -> None:
        raise error

    with pytest.raises(InternalError, match=f"check cannot follow .*{type(error).__name__}"):
        check()


def test_errors_for_users_stay_as_they_are() -> None:
    @refusing
    def check() -> None:
        raise ModelError([])

    with pytest.raises(ModelError):
        check()


def test_every_proof_is_one() -> None:
    for check in (check_constants, check_meaning, check_memory, check_text, without_handles):
        assert hasattr(check, "__wrapped__")


def test_slots_that_no_function_has() -> None:
    (trial,) = seeded_trials(range(1))
    program = Rewriter(lambda place, value: Slot(99) if value is not None else place).program(trial.stages.program)
    with pytest.raises(InternalError):
        check_memory(program, trial.stages.module.constants)
    with pytest.raises(InternalError):
        check_memory(replace(program, constants={}), trial.stages.module.constants)
