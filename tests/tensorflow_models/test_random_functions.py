"""Random functions of TensorFlow, with branches, loops, arrays and rows of any number, as C that computes the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.native import Invocation, build_native, run_native
from support.tensorflow_conversions import converted
from support.tensorflow_environment import file_beside, requires_tensorflow
from tflmgen.compiler import compile_model
from tflmgen.conversion.tensorflow_process import TensorFlowProcess
from tflmgen.ir.kernel import Target
from tflmgen.options import BuildOptions, Validate
from tflmgen.sources import InputSet, SourceEntry

pytestmark = [requires_tensorflow, pytest.mark.xdist_group("tensorflow")]

FUNCTIONS = 500
SAMPLE = (3, 4, 6)
"""Seeds whose functions have loops, arrays that grow and rows whose number data decide."""
LARGEST = 8
"""Bound of dimensions that nothing else bounds: ranges up to a computed number."""
SETS = 8
TOLERANCE = 1e-4
"""Greatest difference of floats, relative to the tensor's greatest magnitude: that of a conversion's comparison."""


def _operands(entry: SourceEntry, rng: np.random.Generator) -> list[NDArray[Any]]:
    """Values of the inputs, in the source's order."""
    return [
        rng.normal(0, 1.5, port.shape).astype(np.float32)
        if port.dtype == "float32"
        else rng.integers(-5, 6, port.shape).astype(np.int32)
        for port in entry.inputs
    ]


def _assert_equal(actual: Sequence[NDArray[Any]], expected: Sequence[NDArray[Any]]) -> None:
    for own, other in zip(actual, expected, strict=True):
        assert own.shape == other.shape
        np.testing.assert_allclose(own, other, rtol=0, atol=TOLERANCE * max(1.0, float(np.abs(other).max(initial=0))))


@pytest.mark.parametrize(
    "seed", [pytest.param(n, marks=[] if n in SAMPLE else [pytest.mark.sweep]) for n in range(FUNCTIONS)]
)
def test_c_equals_tensorflow(tensorflow: TensorFlowProcess, tmp_path: Path, seed: int) -> None:
    conversion = converted(tensorflow, f"{file_beside('random_functions.py')}:seed_{seed}")
    assert conversion.proof.equal >= 6
    file = tmp_path / f"f{seed}.tflite"
    file.write_bytes(conversion.data)
    compilation = compile_model(file, Target("host"), BuildOptions(validate=Validate.OFF, max_dim=LARGEST))
    (signature,), (entry,) = compilation.module.signatures, conversion.entries
    rng = np.random.default_rng(seed)
    sets = [InputSet(str(k), 0, [_operands(entry, rng)]) for k in range(SETS)]
    places = [[port.name for port in entry.inputs].index(port.name) for port in signature.inputs]
    calls = [Invocation(0, 0, tuple(sample.sequence[0][k] for k in places)) for sample in sets]
    outputs = run_native(build_native({compilation.name: compilation.sources}), calls, [compilation.module.signatures])
    for actual, expected in zip(outputs, tensorflow.run(sets), strict=True):
        assert expected is not None
        _assert_equal(actual, expected[0])
