"""Every pass keeps what random modules compute, and the pipeline comes to an end."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from support.random_program import Seeded, random_inputs, random_program
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.graph.module import Module
from tflmgen.ir.well_formed import verify
from tflmgen.passes.pipeline import MAX_ROUNDS, PIPELINE, run_passes
from tflmgen.reference import Budget, WorkError
from tflmgen.reference.module_interpreter import ModuleInterpreter

PROGRAMS = 25
WORK = 1e9
"""Nanoseconds: thousands of operators."""
"""Operators that the invokes of a module may run; programs that take more are left out."""
Results = list[tuple[NDArray[np.generic], ...]]


def results_of(module: Module, seed: int) -> Results:
    """What the signatures give for a few inputs, one after another on one instance."""
    rng = np.random.default_rng(seed)
    instance, results = ModuleInterpreter(module, budget=Budget(WORK)), []
    for _ in range(3):
        for signature in module.signatures:
            inputs = random_inputs([(p.type.dtype.label, p.type.max_shape) for p in signature.inputs], rng)
            results.append(instance.invoke(signature, inputs))
    return results


def assert_same(module: Module, seed: int, expected: Results, after: str) -> None:
    for got, wanted in zip(results_of(module, seed), expected, strict=True):
        for output, other in zip(got, wanted, strict=True):
            assert output.tobytes() == other.tobytes(), f"seed {seed}, after {after}"


def check_program(seed: int) -> None:
    module = import_model(parse_model(random_program(Seeded(seed)), "m.tflite"))
    try:
        expected = results_of(module, seed)
    except WorkError:
        return
    for rewrite in PIPELINE:
        assert_same(verify(rewrite(module), rewrite.__name__), seed, expected, f"{rewrite.__name__} alone")
    for number in range(MAX_ROUNDS):
        before = module.functions
        for rewrite in PIPELINE:
            module = verify(rewrite(module), rewrite.__name__)
            assert_same(module, seed, expected, f"{rewrite.__name__} in round {number}")
        if module.functions == before:
            return
    raise AssertionError(f"seed {seed}: no end")


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(n, marks=pytest.mark.sweep) for n in range(PROGRAMS, 3000, PROGRAMS))]
)
def test_passes_keep_what_is_computed(first: int) -> None:
    for seed in range(first, first + PROGRAMS):
        check_program(seed)


def test_a_second_run_changes_nothing() -> None:
    for seed in range(20):
        module = run_passes(import_model(parse_model(random_program(Seeded(seed)), "m.tflite")))
        assert run_passes(module).functions == module.functions
