"""Random ONNX programs of If, Loop and Scan in one another compute what ONNX Runtime computes.

The file that is made of them is evaluated on inputs, and compiled, which proves the file equal to the C.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.onnx_quantized import compiled, exact_session
from support.random_onnx import random_inputs, random_program
from tflmgen.frontend.onnx.onnx_file import read_onnx
from tflmgen.reference import Interpreter

SEEDS = [*range(12), *(pytest.param(seed, marks=pytest.mark.sweep) for seed in range(12, 500))]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(seed: int, tmp_path: Path) -> None:
    model = random_program(seed)
    session = exact_session(model)
    compiled(model, tmp_path / "net.onnx", "net")
    lowered = read_onnx(tmp_path / "net.onnx", {}, {}, False)
    for number in range(4):
        feed = random_inputs(1000 * seed + number)
        expected = session.run(None, feed)
        results = Interpreter(lowered).invoke(None, list(feed.values()))
        for place, (a, b) in enumerate(zip(results, expected, strict=True)):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg=f"inputs {number}, output {place}")
