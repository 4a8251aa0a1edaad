"""The examples with control flow: made by their scripts, kept once in RAM, nothing copied, and right."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.native import Invocation, build_native, run_native
from support.repository import ROOT
from tflmgen.compiler import Compilation, compile_model
from tflmgen.kernel import Target
from tflmgen.options import BuildOptions

Array = NDArray[Any]

EXAMPLES = ROOT / "examples"
MADE = runpy.run_path(str(EXAMPLES / "make_control_flow.py"))["MODELS"]
ONCE = 8192


def compiled(name: str) -> Compilation:
    return compile_model(EXAMPLES / f"{name}.tflite", Target("host"), BuildOptions())


def run(name: str, inputs: list[tuple[Array, ...]]) -> list[Array]:
    one = compiled(name)
    program = build_native({name: one.sources})
    outputs = run_native(program, [Invocation(0, 0, i) for i in inputs], [one.module.signatures])
    return [output for (output,) in outputs]


@pytest.mark.parametrize("name", MADE)
def test_the_script_makes_the_committed_model(name: str) -> None:
    assert MADE[name]() == Path(EXAMPLES / f"{name}.tflite").read_bytes()


@pytest.mark.parametrize("name", MADE)
def test_the_data_is_kept_once_and_never_copied(name: str) -> None:
    plan = compiled(name).plan
    assert plan["arena"]["bytes"] <= ONCE + 16
    assert [copy for copy in plan["copies"] if copy["kind"] == "copy"] == []
    assert sum(copy["bytes"] for copy in plan["copies"]) <= 8


def test_loop_over_8_kb() -> None:
    x = np.random.default_rng(1).normal(size=2048).astype(np.float32)
    wanted, inputs = [x], []
    for trips in range(6):
        inputs.append((x, np.array(trips, np.int32)))
        wanted.append(wanted[-1] * np.float32(0.75) + np.float32(0.5))
    for got, right in zip(run("loop_8k", inputs), wanted, strict=False):
        np.testing.assert_array_equal(got, right)


def test_if_over_8_kb() -> None:
    x = np.random.default_rng(2).normal(size=2048).astype(np.float32)
    yes, no = run("if_8k", [(x, np.array(True)), (x, np.array(False))])
    np.testing.assert_array_equal(yes, x * np.float32(0.5))
    np.testing.assert_array_equal(no, np.maximum(x, 0))
