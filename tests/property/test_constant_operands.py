"""Constants as operands, anywhere: every processor and option compiles them, and the C computes what the file means."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.native import Invocation, build_native, run_native
from support.pipeline import compile_bytes
from support.random_constants import SHAPE, constant_program
from support.reference import Reference
from support.trial import LEAST
from tflmgen.compiler import compile_model
from tflmgen.options import BuildOptions, Optimize
from tflmgen.passes.pipeline import PIPELINE
from tflmgen.project.board import load_board

BOARDS = ("host", "mps2_an385_m0", "mps2_an386", "mps2_an500", "mps3_an547")
OPTIONS = (
    BuildOptions(),
    BuildOptions(optimize=Optimize.SIZE),
    BuildOptions(optimize=Optimize.RAM),
    BuildOptions(no_range_analysis=True),
    BuildOptions(no_overlap=True),
)
BATCH = 20
QUICK = range(1)
SWEEP = range(1, 30)
batches = pytest.mark.parametrize("batch", [*QUICK, *(pytest.param(n, marks=pytest.mark.sweep) for n in SWEEP)])


@batches
def test_every_board_and_option_compiles(batch: int, tmp_path: Path) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        model = tmp_path / f"m{seed}.tflite"
        model.write_bytes(constant_program(seed))
        board, options = BOARDS[seed % len(BOARDS)], OPTIONS[seed // len(BOARDS) % len(OPTIONS)]
        compile_model(model, load_board(board).target, options)


@batches
def test_generated_c_equals_the_reference(batch: int) -> None:
    """Half of the models without passes, so that views of constants reach the stages behind them."""
    seeds = range(batch * BATCH, (batch + 1) * BATCH)
    stages = [compile_bytes(constant_program(seed), PIPELINE if seed % 2 else LEAST) for seed in seeds]
    program = build_native({f"m{i}": one.sources(f"m{i}") for i, one in enumerate(stages)})
    rng, calls, expected = np.random.default_rng(batch), [], []
    for i, one in enumerate(stages):
        for condition in (True, False):
            dtype = one.program.signatures[0].inputs[0].type.dtype.numpy
            inputs = rng.integers(-9, 10, SHAPE).astype(dtype), np.array([condition])
            calls.append(Invocation(i, 0, inputs))
            expected.append(Reference(one.model).run(0, inputs))
    results = run_native(program, calls, [one.program.signatures for one in stages])
    for got, wanted in zip(results, expected, strict=True):
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(a, b)
