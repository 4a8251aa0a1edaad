"""Which measures against quantisation noise are kept: rules by the errors that models with them have."""

from __future__ import annotations

from collections.abc import Iterable
from unittest.mock import Mock

import numpy as np
import pytest
from tflmgen.quantize import refinement
from tflmgen.quantize.evaluation import DecisionError, Evaluation
from tflmgen.quantize.output_errors import OutputError

SETS = 16
"""Held-out sets."""


def errors(sqnr_db: float, differing: int = 0) -> Evaluation:
    """Of a model with one output and ten decisions."""
    output = OutputError("serving_default", "y", 1.0, sqnr_db, None)
    return Evaluation((output,), (DecisionError((0, 0), differing, 10),))


def kept(monkeypatch: pytest.MonkeyPatch, models: Iterable[tuple[float, Evaluation]]) -> list[bool]:
    """Whether each model replaces the best one so far; noise of the typical set in dB, errors of all sets together."""
    (first, *others) = [(Mock(), evaluation, np.full(SETS, noise_db)) for noise_db, evaluation in models]
    best = refinement.Refinement(Mock(), Mock(), Mock(), Mock(), first[1], Mock(), noise_db=first[2])
    results = iter(others)
    monkeypatch.setattr(refinement._Search, "_evaluated", lambda *_: next(results))
    search = refinement._Search(Mock(), Mock(), Mock(), lambda *_: None)
    return [search._try(best, "one more", Mock(), Mock(), Mock()) for _ in others]


def test_less_noise_in_the_typical_set_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert kept(monkeypatch, [(-30, errors(40)), (-31, errors(40)), (-30.5, errors(41))]) == [True, False]


def test_single_sets_may_lose_a_little_but_not_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    models = [(-30, errors(40)), (-31, errors(39.6)), (-32, errors(39.2)), (-33, errors(39.5))]
    assert kept(monkeypatch, models) == [True, False, True]


def test_fewer_other_branches_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The errors from there on are compared with those of models of as few."""
    models = [(-30, errors(40, 2)), (-20, errors(30, 1)), (-21, errors(29.8, 1)), (-40, errors(50, 2))]
    assert kept(monkeypatch, models) == [True, True, False]


@pytest.mark.parametrize(("wide", "is_kept"), [(errors(41), True), (errors(39), False), (errors(41, 1), False)])
def test_wider_ranges_are_kept_for_less_noise_of_all_sets(
    monkeypatch: pytest.MonkeyPatch, wide: Evaluation, is_kept: bool
) -> None:
    """The typical set has more noise by the larger steps; few sets, that ended at the ranges, have less."""
    best = refinement.Refinement(
        Mock(), Mock(), Mock(margins={}), Mock(), errors(40), Mock(), noise_db=np.full(SETS, -40.0)
    )
    monkeypatch.setattr(refinement, "replace", lambda choice, **_: choice)
    monkeypatch.setattr(refinement._Search, "_evaluated", lambda *_: (Mock(), wide, np.full(SETS, -38.0)))
    refinement._Search(Mock(), Mock(), Mock(), lambda *_: None).try_room(best)
    assert (best.room > 1, best.evaluation is wide) == (is_kept, is_kept)
