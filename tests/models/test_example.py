"""The repository's example: made by its script, small, both branches taken, and right on the host."""

from __future__ import annotations

import runpy
from typing import Any

import numpy as np
import pytest
from support.native import Invocation, build_native, run_native
from support.repository import ROOT
from tflmgen.compiler import compile_model
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions

EXAMPLES = ROOT / "examples"
MODEL = EXAMPLES / "gate.tflite"
QUIET = (127, -128, -128, -128, -128)


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / "make_gate.py"))


@pytest.fixture(scope="module")
def vectors() -> dict[str, Any]:
    with np.load(EXAMPLES / "gate.npz") as archive:
        return dict(archive)


def test_the_script_makes_the_committed_model(script: dict[str, Any]) -> None:
    assert script["make_model"]() == MODEL.read_bytes()
    assert MODEL.stat().st_size < 100_000


def test_tflite_micro_makes_the_committed_outputs(script: dict[str, Any], vectors: dict[str, Any]) -> None:
    pytest.importorskip("tflite_micro", reason="needs tflite-micro")
    outputs = script["golden"](MODEL.read_bytes(), script["make_frames"]())
    assert outputs.keys() == vectors.keys()
    for name, array in outputs.items():
        np.testing.assert_array_equal(array, vectors[name], err_msg=name)


def test_the_vectors_take_both_branches_and_every_class(script: dict[str, Any], vectors: dict[str, Any]) -> None:
    outputs = [vectors[f"s{k}_out_0"][0] for k in range(int(vectors["n_sets"]))]
    assert {int(np.argmax(o)) for o in outputs} == set(range(len(script["CLASSES"])))
    assert {tuple(o) == QUIET for o in outputs} == {True, False}


def test_lines_are_told_by_their_direction(script: dict[str, Any], vectors: dict[str, Any]) -> None:
    for k in range(int(vectors["n_sets"])):
        label, best = str(vectors[f"s{k}_label"]), script["CLASSES"][int(np.argmax(vectors[f"s{k}_out_0"]))]
        assert label.endswith(best) or best == "nothing"


def test_generated_c_equals_tflite_micro(vectors: dict[str, Any]) -> None:
    compiled = compile_model(MODEL, Target("host"), BuildOptions())
    program = build_native({compiled.name: compiled.sources})
    sets = range(int(vectors["n_sets"]))
    signatures = [compiled.module.signatures]
    outputs = run_native(program, [Invocation(0, 0, (vectors[f"s{k}_in_0"],)) for k in sets], signatures)
    for k, (output,) in zip(sets, outputs, strict=True):
        np.testing.assert_array_equal(output, vectors[f"s{k}_out_0"], err_msg=str(vectors[f"s{k}_label"]))
