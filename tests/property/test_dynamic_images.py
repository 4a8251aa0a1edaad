"""Random fully convolutional models of open height and width, as C under sanitizers against LiteRT."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from support.litert_shapes import litert_outputs
from support.native import Invocation, build_native, run_native
from support.random_images import CHANNELS, LEAST, random_image_model
from tflmgen.compiler import compile_model
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions

MODELS = 6
LARGEST = (12, 11)


def _check(seeds: range, folder: Path) -> None:
    models, calls, expected = [], [], []
    for seed in seeds:
        random, rng = Random(seed), np.random.default_rng(seed)
        data = random_image_model(random)
        path = folder / f"m{seed}.tflite"
        path.write_bytes(data)
        bound = f"x=1,{LARGEST[0]},{LARGEST[1]},{CHANNELS}"
        sizes = [tuple(random.randint(LEAST, bound) for bound in LARGEST) for _ in range(4)]
        models.append(compile_model(path, Target("host"), BuildOptions(max_shape=[bound])))
        for size in (LARGEST, *sizes, LARGEST):
            image = rng.integers(-128, 128, (1, *size, CHANNELS)).astype(np.int8)
            calls.append(Invocation(len(models) - 1, 0, (image,)))
            expected.append(litert_outputs(data, (image,)))
    program = build_native({c.name: c.sources for c in models})
    got = run_native(program, calls, [c.module.signatures for c in models])
    for call, mine, theirs in zip(calls, got, expected, strict=True):
        for output, other in zip(mine, theirs, strict=True):
            assert output.shape == other.shape, f"seed {seeds[call.model]}"
            assert np.array_equal(output, other), f"seed {seeds[call.model]}, image of {call.inputs[0].shape}"


def test_random_images(tmp_path: Path) -> None:
    _check(range(MODELS), tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(1000, 1000 + 40 * MODELS, MODELS))
def test_many_random_images(first: int, tmp_path: Path) -> None:
    _check(range(first, first + MODELS), tmp_path)
