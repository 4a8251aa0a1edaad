"""Validation's search takes the sides of nested Ifs whose conditions are computed from inputs."""

from __future__ import annotations

import pytest
from support.deep_branches import deep_branches
from tflmgen.frontend import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.reference import Claims
from tflmgen.reference.validation import validate
from tflmgen.reference.validation_result import EFFORTS

DEPTH = 3
LEAST_SHARE = 0.96
"""Of all sides: a count of elements over a bound says little of how far the bound is."""


@pytest.mark.parametrize("first", [100, pytest.param(200, marks=pytest.mark.sweep)])
def test_sides_of_nested_ifs_are_taken(first: int) -> None:
    taken = sides = 0
    for seed in range(first, first + (16 if first == 100 else 200)):
        model = parse_model(deep_branches(seed, DEPTH), f"deep {seed}")
        result = validate(model, import_model(model), EFFORTS["quick"], Claims())
        assert result.branches[1] == 2 * DEPTH
        taken, sides = taken + result.branches[0], sides + result.branches[1]
    assert taken >= LEAST_SHARE * sides
