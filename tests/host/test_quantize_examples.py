"""The examples of quantisation: trained models with control flow keep their accuracy and their decisions in int8."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support.repository import ROOT
from support.sampling import sampled
from tflmgen.input_sets import Vectors, VectorSet
from tflmgen.options import Activations, QuantizeOptions
from tflmgen.quantize import compare_runs, observed_build, quantize_file, run_sets
from tflmgen.quantize.evaluation import Evaluation

FOLDER = ROOT / "examples" / "quantize"
MODELS = {
    "digits_exit": Activations.INT8,
    "digits_settle": Activations.AUTO,  # int8 changes one trip count in ten
    "vowels_lstm": Activations.INT8,
    "motions_gru": Activations.INT8,
}


@cache
def measured(name: str) -> tuple[float, float, int, Evaluation]:
    """Accuracy in float and quantised, the number of test samples, and the errors against float."""
    path, choice = FOLDER / f"{name}.tflite", QuantizeOptions(MODELS[name])
    quantized_file = quantize_file(path, FOLDER / f"{name}_cal.npz", choice, None, lambda *_: None).quantized
    with np.load(FOLDER / f"{name}_test.npz") as test:
        x, labels = test["x"], test["labels"]
    vectors = Vectors(tuple(VectorSet("", 0, (sample[None],)) for sample in x))
    with observed_build(quantized_file.source) as build, observed_build(quantized_file.model) as quantized:
        runs = run_sets(build, vectors), run_sets(quantized, vectors)
        evaluation = compare_runs(build, vectors, runs[0], runs[1], quantized.model)
    right = [np.mean([o[0].argmax() == y for o, y in zip(run.outputs, labels, strict=True)]) for run in runs]
    return float(right[0]), float(right[1]), len(x), evaluation


@pytest.mark.parametrize("name", sampled([*MODELS], 2))
def test_accuracy_stays_within_one_percentage_point(name: str) -> None:
    in_float, quantized, samples, _ = measured(name)
    assert in_float > 0.9
    assert quantized >= in_float - max(0.01, 0.5 / samples)


@pytest.mark.parametrize("name", MODELS)
def test_branches_and_trip_counts_stay(name: str) -> None:
    *_, evaluation = measured(name)
    assert not evaluation.lost
    assert sum(decision.total for decision in evaluation.decisions) > 0
    assert evaluation.branch_agreement >= 0.99
