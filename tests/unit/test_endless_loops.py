"""Loops that end in float, and rounded do not: wider types by default and with auto, else an error, never a hang."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.commands import tflmgen
from support.quantize_models import decaying_loop, f32
from tflmgen.frontend.tflite import write_model
from tflmgen.input_sets import Vectors, VectorSet
from tflmgen.quantize import compare_runs, observed_build, run_sets
from tflmgen.quantize.evaluation import max_trips
from tflmgen.quantize.range_choice import Affine

LOOP = (2, 0), (2, 2), (0, 2)
"""The loop variable, what the body makes of it, and the loop's result: one web."""


def sets(limit: float, count: int = 40) -> list[tuple[np.ndarray, ...]]:
    rng = np.random.default_rng(1)
    return [(f32(rng.normal(0, 8, (1, 4))), f32([limit])) for _ in range(count)]


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of one step of int16 rounds to a step again, which is more than this limit."""
    monkeypatch.chdir(tmp_path)
    Path("decay.tflite").write_bytes(write_model(decaying_loop()))
    save_sets(0.0003)


def save_sets(limit: float) -> None:
    arrays = {f"s{k}_in_{place}": array for k, own in enumerate(sets(limit)) for place, array in enumerate(own)}
    np.savez("cal.npz", n_sets=np.array(40), **arrays)  # type: ignore[arg-type]


def test_a_loop_that_does_not_end_is_an_error_that_names_it() -> None:
    finished = tflmgen("quantize", "decay.tflite", "--calibration", "cal.npz", "--activations", "int16")
    assert finished.code == 1
    assert "subgraph 0 'main', operator 0: the quantised loop does not end" in finished.err
    assert "Try --activations auto" in finished.err
    assert not Path("decay-int8.tflite").exists()


@pytest.mark.parametrize("activations", ["int8", "auto"])
def test_wider_types_make_the_loop_end_after_as_many_trips(activations: str) -> None:
    """With this limit it ends in int16, but not always after as many trips: in held-out samples alone they differ."""
    save_sets(0.01)
    words = ("--activations", activations, "-o", "wide.tflite", "--json")
    finished = tflmgen("quantize", "decay.tflite", "--calibration", "cal.npz", *words)
    assert finished.code == 0, finished.err
    assert finished.json["evaluation"]["branch_agreement"] >= 0.99
    assert Path("wide.tflite").exists()


def test_outputs_of_an_endless_loop_are_wrong_in_every_measure() -> None:
    vectors = Vectors(tuple(VectorSet("", 0, own) for own in sets(0.5, 4)))
    stuck = dict.fromkeys(LOOP, Affine(1.0, 0, 1, 127))
    with observed_build(decaying_loop()) as build:
        reference = run_sets(build, vectors)
        limits = max_trips(build.model, reference, build.model)
        run = run_sets(build, vectors, stuck, max_trips=limits)
        evaluation = compare_runs(build, vectors, reference, run, build.model)
    assert evaluation.endless == ((0, 0),)
    assert (evaluation.max_abs, evaluation.sqnr_db, evaluation.agreement) == (np.inf, -np.inf, 0)
    assert evaluation.branch_agreement < 1
