"""Constants as operands, anywhere: every processor and option compiles them, and the C computes what the file means.

Any exception fails: the generator draws nothing that is not supported, so that not even a ModelError is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.native import Invocation, build_native, run_native
from support.pipeline import HOST, compile_bytes
from support.random_constants import constant_program
from support.trial import LEAST
from tflmgen.backend.c_library import Sources
from tflmgen.compiler import compile_model
from tflmgen.frontend.tflite.model import Model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.hardware.board import load_board
from tflmgen.ir.graph.module import EntryPoint
from tflmgen.options import BuildOptions, Optimize
from tflmgen.reference import Interpreter

BOARDS = ("host", "mps2_an385_m0", "mps2_an386", "mps2_an500", "mps3_an547")
OPTIONS = (
    BuildOptions(),
    BuildOptions(optimize=Optimize.SIZE),
    BuildOptions(optimize=Optimize.RAM),
    BuildOptions(optimize=Optimize.SPEED),
    BuildOptions(no_range_analysis=True),
    BuildOptions(no_overlap=True),
)
COMPILED, RUN = 30, 12
"""Models of a batch: as many of each as there are combinations of board and options, and as the C compiler takes."""
QUICK = range(1)
SWEEP = range(1, 40)
batches = pytest.mark.parametrize("batch", [*QUICK, *(pytest.param(n, marks=pytest.mark.sweep) for n in SWEEP)])


@batches
def test_every_board_and_option_compiles(batch: int, tmp_path: Path) -> None:
    for seed in range(batch * COMPILED, (batch + 1) * COMPILED):
        model = tmp_path / f"m{seed}.tflite"
        model.write_bytes(constant_program(seed))
        board, options = BOARDS[seed % len(BOARDS)], OPTIONS[seed // len(BOARDS) % len(OPTIONS)]
        compile_model(model, load_board(board).target, options)


@batches
def test_generated_c_equals_the_reference(batch: int, tmp_path: Path) -> None:
    """Half of the models without passes, so that views of constants reach the stages behind them."""
    seeds = range(batch * RUN, (batch + 1) * RUN)
    models = [parse_model(constant_program(seed), "m.tflite") for seed in seeds]
    compiled = [_compiled(seed, tmp_path) for seed in seeds]
    program = build_native({f"m{i}": sources for i, (sources, _) in enumerate(compiled)})
    calls, expected = [], []
    for i, model in enumerate(models):
        for inputs in _input_sets(model, np.random.default_rng(seeds[i])):
            calls.append(Invocation(i, 0, inputs))
            expected.append(Interpreter(model).invoke(None, inputs))
    results = run_native(program, calls, [signatures for _, signatures in compiled])
    for call, got, wanted in zip(calls, results, expected, strict=True):
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(a, b, f"seed {seeds[call.model]}")


def _compiled(seed: int, folder: Path) -> tuple[Sources, tuple[EntryPoint, ...]]:
    """The library m0, m1, … of the model's place in its batch, without passes or with options by the seed."""
    name, data = f"m{seed % RUN}", constant_program(seed)
    if seed % 2 == 0:
        stages = compile_bytes(data, LEAST)
        return stages.sources(name), tuple(stages.program.signatures)
    path = folder / f"{name}.tflite"
    path.write_bytes(data)
    compilation = compile_model(path, HOST, OPTIONS[seed // 2 % len(OPTIONS)])
    return compilation.sources, tuple(compilation.program.signatures)


def _input_sets(model: Model, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Small numbers and, of quantised types, any, with the condition true and false."""
    x = model.subgraphs[0].tensors[model.subgraphs[0].inputs[0]]
    assert x.dtype is not None
    low, high = x.dtype.limits if x.quantization else (-9, 9)
    for condition in (True, False):
        values = rng.integers(low, high, x.shape, endpoint=True).astype(x.dtype.numpy)
        yield values, np.array([condition])
