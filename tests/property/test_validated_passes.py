"""Passes keep what random models compute: the file and the graph after each pass are evaluated on the same inputs.

Integers bit for bit; floats within validation's tolerance, since passes join float operators and fold constants in
float32.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.mutate_module import read_another_value
from support.random_models import MAKERS
from support.random_patterns import PATTERNS
from support.random_program import Seeded
from tflmgen.errors import InternalError
from tflmgen.frontend import import_model
from tflmgen.frontend.tflite import Model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.graph import Module
from tflmgen.passes import claims_of_ranges
from tflmgen.passes.pipeline import PIPELINE, run_passes
from tflmgen.reference.validation import validate
from tflmgen.reference.validation_result import Effort

EFFORT = Effort(4, 0.3)
SEEDS = 2
SWEEP = [0, *(pytest.param(n, marks=pytest.mark.sweep) for n in range(SEEDS, 300, SEEDS))]


def equal_sets(model: Model, module: Module) -> int:
    """How many sets are equal; every operator of these models is evaluated."""
    result = validate(model, module, EFFORT, claims_of_ranges(module))
    assert result.unsupported == ""
    return result.equal


@pytest.mark.parametrize("first", SWEEP)
@pytest.mark.parametrize("name", MAKERS)
def test_the_file_and_the_graph_are_equal(name: str, first: int) -> None:
    sets = 0
    for seed in range(first, first + SEEDS):
        models = MAKERS[name].models(name, seed)
        if models is None:
            continue
        model, module = models
        sets += equal_sets(model, module)
        for rewrite in PIPELINE * 2:
            before, module = module.functions, rewrite(module)
            if module.functions != before:
                sets += equal_sets(model, module)
    assert sets > SEEDS


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_is_work_for_its_pass(pattern: str) -> None:
    make, name = PATTERNS[pattern]
    worked = sets = 0
    for seed in range(4):
        model = parse_model(make(np.random.default_rng(seed)), f"{pattern} {seed}")
        module = import_model(model)
        for rewrite in PIPELINE * 2:
            before, module = module.functions, rewrite(module)
            worked += rewrite.__name__ == name and module.functions != before
        sets += equal_sets(model, module)
    assert worked
    assert sets > 8


@pytest.mark.sweep
def test_every_pass_has_work() -> None:
    worked = set()
    for kind, seed in itertools.product(MAKERS, range(40)):
        models = MAKERS[kind].models(kind, seed)
        if models is None:
            continue
        module = models[1]
        for rewrite in PIPELINE * 2:
            before, module = module, rewrite(module)
            worked |= {rewrite.__name__} if module.functions != before.functions else set()
    assert worked == {rewrite.__name__ for rewrite in PIPELINE}


def test_another_number_of_rows_is_found() -> None:
    """Values have room for as many rows as there may be; that the file has fewer excuses no other number."""
    models = MAKERS["dynamic rows"].models("dynamic rows", 1001)
    assert models is not None
    model, module = models[0], run_passes(models[1])
    assert equal_sets(model, module) > 0
    wrong = read_another_value(module, Seeded(3))
    with pytest.raises(InternalError, match=r"has shape \[\d+, 2\] instead of \[\d+, 2\]"):
        equal_sets(model, wrong)
