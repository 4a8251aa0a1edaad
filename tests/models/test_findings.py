"""Models that were once refused or did not assemble: they build everywhere, and compute what the runtimes do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.litert import run_litert_model, with_biases
from support.native import Invocation, build_native, run_native
from support.repository import ROOT
from support.sampling import sampled
from support.tools import requires_compiler
from tflmgen.compare.oracle import OracleError, tflm_outputs
from tflmgen.compiler import compile_model
from tflmgen.emulators.firmware_session import running
from tflmgen.errors import ModelError
from tflmgen.hardware.board import load_board
from tflmgen.input_sets.seeded import seeded_sets
from tflmgen.options import BuildOptions, Optimize, OutputOptions, SessionOptions
from tflmgen.terminal.console import Console

FINDINGS = ROOT.parent / "shared" / "findings"
MODELS = sorted(FINDINGS.glob("*.tflite"))
REFUSED = "min_resource"
"""Its ADD reads a constant of type RESOURCE, which has no meaning."""

BOARDS = ("host", "mps2_an385", "mps2_an385_m0", "mps2_an386", "mps2_an500", "mps3_an547")
OPTIONS = {
    "default": BuildOptions("m"),
    "size": BuildOptions("m", optimize=Optimize.SIZE),
    "ram": BuildOptions("m", optimize=Optimize.RAM),
    "no-range-analysis": BuildOptions("m", no_range_analysis=True),
    "no-overlap": BuildOptions("m", no_overlap=True),
}

runnable = pytest.mark.parametrize("model", [m for m in MODELS if m.stem != REFUSED], ids=lambda m: m.stem)


@pytest.mark.parametrize("shift", sampled(range(len(OPTIONS)), len(OPTIONS)))
@runnable
def test_builds_on_every_board_and_with_every_option(model: Path, shift: int) -> None:
    """Every board with one of the options; which of them goes with which board differs from model to model."""
    options = list(OPTIONS.values())
    for number, board in enumerate(BOARDS, MODELS.index(model) + shift):
        compile_model(model, load_board(board).target, options[number % len(options)])


@runnable
def test_computes_what_the_runtimes_do(model: Path) -> None:
    compiled = [compile_model(model, load_board("host").target, options) for options in OPTIONS.values()]
    program = build_native({f"m{i}": _renamed(model, i, o) for i, o in enumerate(OPTIONS.values())})
    signatures = [model.program.signatures for model in compiled]
    sets = seeded_sets(signatures[0], [0])
    expected = _expected(model, [vector_set.inputs for vector_set in sets], sets)
    calls = [Invocation(i, 0, tuple(vector_set.inputs)) for i in range(len(compiled)) for vector_set in sets]
    for number, outputs in enumerate(run_native(program, calls, signatures)):
        for got, want in zip(outputs, expected[number % len(sets)], strict=True):
            tolerance = 1e-5 if got.dtype.kind == "f" else 0
            np.testing.assert_allclose(got, np.reshape(want, got.shape), rtol=tolerance, atol=tolerance)


def _pairs() -> Iterator[Any]:
    """Every model on every board; as a sample, without -m sweep, another model for each board."""
    models = [model for model in MODELS if model.stem != REFUSED]
    emulated = [board for board in BOARDS if board != "host"]
    for number, board in enumerate(emulated):
        for index, model in enumerate(models):
            sampled = index == number * len(models) // len(emulated)
            marks = () if sampled else (pytest.mark.sweep,)
            yield pytest.param(board, model, marks=marks, id=f"{board}-{model.stem}")


@pytest.mark.emulator
@requires_compiler
@pytest.mark.parametrize(("name", "model"), list(_pairs()))
def test_computes_the_same_on_boards(name: str, model: Path) -> None:
    board, options = load_board(name), OPTIONS["default"]
    compilation = compile_model(model, board.target, options)
    signatures = compilation.program.signatures
    sets = seeded_sets(signatures, [0])
    expected = _expected(model, [vector_set.inputs for vector_set in sets], sets)
    console = Console(OutputOptions(quiet=True))
    with running(compilation, board, options, SessionOptions(), console) as emulated:
        for vector_set, wanted in zip(sets, expected, strict=True):
            outputs = emulated.session.invoke(0, [array.tobytes() for array in vector_set.inputs]).outputs
            for raw, want, port in zip(outputs, wanted, signatures[0].outputs, strict=True):
                got = np.frombuffer(raw, port.type.dtype.numpy)
                tolerance = 1e-5 if got.dtype.kind == "f" else 0
                np.testing.assert_allclose(got, np.reshape(want, got.shape), rtol=tolerance, atol=tolerance)


@pytest.mark.skipif(not MODELS, reason="needs ../shared/findings")
def test_a_resource_with_contents_is_refused() -> None:
    with pytest.raises(ModelError, match="which has no contents"):
        compile_model(FINDINGS / f"{REFUSED}.tflite", load_board("host").target, BuildOptions())


def _renamed(model: Path, number: int, options: BuildOptions) -> Any:
    """The library under a name of its own."""
    named = {field: getattr(options, field) for field in ("optimize", "no_overlap", "no_range_analysis")}
    return compile_model(model, load_board("host").target, BuildOptions(f"m{number}", **named)).sources


def _expected(model: Path, inputs: Sequence[Any], sets: Any) -> Sequence[Sequence[Any]]:
    """By TFLite Micro where it runs the model and is right, else by LiteRT."""
    try:
        return tflm_outputs(model, sets, 1 << 20, 60)
    except OracleError:
        return [run_litert_model(with_biases(model.read_bytes()), list(arrays)) for arrays in inputs]
