"""The examples with control flow: made by their scripts, kept once in RAM, nothing copied, and right."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.native import Invocation, build_native, run_native
from support.repository import ROOT
from tflmgen.compiler import Compilation, compile_module
from tflmgen.frontend import import_model
from tflmgen.frontend.tflite import read_model
from tflmgen.ir.kernel.call import Target
from tflmgen.ir.program.instructions import Assembly, Flash, Instruction, KernelCall, Loop, Transfer
from tflmgen.options import BuildOptions

Array = NDArray[Any]

EXAMPLES = ROOT / "examples"
EXAMPLE_MODELS = runpy.run_path(str(EXAMPLES / "make_control_flow.py"))["MODELS"]
ONCE = 8192


def compiled(name: str) -> Compilation:
    """With its loops as they are, which a build may fuse."""
    module = import_model(read_model(EXAMPLES / f"{name}.tflite"))
    return compile_module(module, name, Target("host"), BuildOptions())


def run(name: str, inputs: list[tuple[Array, ...]]) -> list[Array]:
    model = compiled(name)
    program = build_native({name: model.sources})
    outputs = run_native(program, [Invocation(0, 0, i) for i in inputs], [model.module.signatures])
    return [output for (output,) in outputs]


@pytest.mark.parametrize("name", EXAMPLE_MODELS)
def test_the_script_makes_the_committed_model(name: str) -> None:
    assert EXAMPLE_MODELS[name]() == Path(EXAMPLES / f"{name}.tflite").read_bytes()


@pytest.mark.parametrize("name", EXAMPLE_MODELS)
def test_the_data_is_kept_once_and_never_copied(name: str) -> None:
    plan = compiled(name).plan
    assert plan["arena"]["bytes"] <= ONCE + 16
    assert [copy for copy in plan["copies"] if copy["kind"] == "copy"] == []
    assert sum(copy["bytes"] for copy in plan["copies"]) <= 8


def test_loop_over_8_kb() -> None:
    x = np.random.default_rng(1).normal(size=2048).astype(np.float32)
    wanted: list[Array] = [x]
    inputs: list[tuple[Array, ...]] = []
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


def moved(body: Sequence[Instruction], units: int) -> int:
    """Bytes of data that a body moves unchanged: rows stored, and copies, but no constants."""
    total = 0
    for instruction in body:
        if isinstance(instruction, Loop):
            assert instruction.trips is not None
            total += instruction.trips * moved(instruction.body, units)
        elif isinstance(instruction, Transfer | Assembly):
            total += sum(copy.bytes for copy in instruction.copies if not isinstance(copy.source, Flash))
        elif isinstance(instruction, KernelCall) and instruction.function == "tflmgen_row_store":
            total += 4 * units
    return total


def lstm_is_right(model: Path, units: int) -> Compilation:
    lstm = compile_module(import_model(read_model(model)), model.stem, Target("host"), BuildOptions())
    assert lstm.plan["loops"][0]["trips"] == 100
    with np.load(model.with_suffix(".npz")) as vectors:
        inputs = [(vectors[f"s{k}_in_0"],) for k in range(int(vectors["n_sets"]))]
        wanted = [vectors[f"s{k}_out_0"] for k in range(int(vectors["n_sets"]))]
    program = build_native({lstm.name: lstm.sources})
    for (got,), right in zip(
        run_native(program, [Invocation(0, 0, i) for i in inputs], [lstm.module.signatures]), wanted, strict=True
    ):
        assert got.shape == (1, 100, units)
        np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-5)
    return lstm


def test_an_lstm_that_returns_its_sequence_equals_tensorflow() -> None:
    lstm_is_right(EXAMPLES / "lstm_sequences.tflite", 16)


def test_an_lstm_stores_one_row_per_step() -> None:
    lstm = compiled("lstm_sequences")
    rows = 100 * 4 * 16
    assert rows <= moved(lstm.program.function("main").body, 16) <= 5 * rows
    assert lstm.plan["weights"]["bytes"] < 13_000


@pytest.mark.sweep
def test_an_lstm_of_128_units(tmp_path: Path) -> None:
    pytest.importorskip("tensorflow", reason="needs TensorFlow")
    model = tmp_path / "lstm.tflite"
    script = [sys.executable, str(EXAMPLES / "make_lstm.py"), "128", str(model)]
    subprocess.run(script, check=True, capture_output=True)
    lstm = lstm_is_right(model, 128)
    assert 51_200 <= moved(lstm.program.function("main").body, 128) <= 60_000


def test_the_plan_says_what_operators_copy() -> None:
    lstm = compiled("lstm_sequences")
    (split,) = [step for step in lstm.plan["steps"] if step.get("name") == "SPLIT"]
    (line,) = [i for i, text in enumerate(lstm.sources.files["src/lstm_sequences.c"].splitlines()) if ": SPLIT" in text]
    below = lstm.sources.files["src/lstm_sequences.c"].splitlines()[line + 1 : line + 5]
    copies = [int(text.rpartition(", ")[2].rstrip(");")) for text in below if text.strip().startswith("mem")]
    assert split["copied_bytes"] == sum(copies)
    assert split["variant"] == ("copy" if copies else "view")
