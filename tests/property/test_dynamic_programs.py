"""Random models whose tensors grow and shrink, as C under sanitizers against a plain evaluation of the file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.native import Invocation, build_native, run_native
from support.random_rows import MAX_ROWS, TooManyRowsError, random_model, run_rows
from tflmgen.compiler import Compilation, compile_model
from tflmgen.frontend.tflite.reader import read_model
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions

MODELS = 8
INPUT_ROWS = 4
SHAPES = ((-1, 2), (2, -1), (2, -1, 3))
"""Of the tensors of a model; -1 is the axis along which they grow."""

Case = tuple[int, tuple[NDArray[Any], ...], tuple[NDArray[Any], ...]]


def _inputs(random: Random, compilation: Compilation) -> tuple[NDArray[Any], ...]:
    values: list[NDArray[Any]] = []
    for port in compilation.module.signatures[0].inputs:
        rows = random.randint(0, INPUT_ROWS)
        shape = port.type.actual_shape([rows] * len(port.type.dynamic_axes))
        numbers = [random.randint(-9, 9) for _ in range(math.prod(shape))]
        values.append(np.array(numbers, np.int32).reshape(shape) if shape else np.array(rows % 2 == 0))
    return tuple(values)


def _check(seeds: range, shape: Sequence[int], folder: Path) -> None:
    models: list[Compilation] = []
    cases: list[Case] = []
    for seed in seeds:
        random = Random(seed)
        path = folder / f"m{seed}.tflite"
        path.write_bytes(random_model(random, shape))
        dims = ",".join(str(INPUT_ROWS if dim < 0 else dim) for dim in shape)
        bounds = [f"{name}={dims}" for name in ("0:0", "0:1")]
        compilation = compile_model(path, Target("host"), BuildOptions(max_shape=bounds, max_dim=MAX_ROWS))
        for _ in range(4):
            inputs = _inputs(random, compilation)
            try:
                cases.append((len(models), inputs, run_rows(read_model(path), inputs)))
            except TooManyRowsError:
                continue
        models.append(compilation)
    program = build_native({c.name: c.sources for c in models})
    calls = [Invocation(model, 0, inputs) for model, inputs, _ in cases]
    got = run_native(program, calls, [c.module.signatures for c in models])
    for (model, _, expected), outputs in zip(cases, got, strict=True):
        for output, other in zip(outputs, expected, strict=True):
            assert output.shape == other.shape, f"seed {seeds[model]}"
            assert np.array_equal(output, other), f"seed {seeds[model]}"


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("first", range(0, 2 * MODELS, MODELS))
def test_random_models(first: int, shape: Sequence[int], tmp_path: Path) -> None:
    _check(range(first, first + MODELS), shape, tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("first", range(1000, 1000 + 75 * MODELS, MODELS))
def test_many_random_models(first: int, shape: Sequence[int], tmp_path: Path) -> None:
    _check(range(first, first + MODELS), shape, tmp_path)
