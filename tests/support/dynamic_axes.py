"""Models whose dimensions at any axis are known at run time only, written for tests, and run against LiteRT."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tflmgen.compiler import Compilation, compile_model
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions

from support.litert_shapes import litert_outputs
from support.model_writer import SubgraphWriter
from support.native import Invocation, build_native, run_native

Shape = Sequence[int]
BOUND, ARGUMENT = 1, 3
LARGEST_EXTENT = 5


def vary(g: SubgraphWriter, name: str, dtype: str, shape: Shape, **more: Any) -> int:
    """A tensor whose dimensions of -1 are open, and stored as 1."""
    return g.tensor(name, dtype, [max(1, d) for d in shape], shape_signature=list(shape), **more)


def compiled(data: bytes, folder: Path, **bounds: Any) -> Compilation:
    path = folder / "m.tflite"
    path.write_bytes(data)
    return compile_model(path, Target("host"), BuildOptions(**bounds))


def _invocation(case: Any) -> Invocation:
    return Invocation(0, 0, tuple(case[0]), case[1]) if isinstance(case, tuple) else Invocation(0, 0, tuple(case))


def agrees(
    data: bytes, folder: Path, cases: Sequence[Sequence[Any] | tuple[Sequence[Any], int]], **bounds: Any
) -> None:
    """Each case is a list of inputs, or a tuple of it and the status to expect."""
    compilation = compiled(data, folder, **(bounds or {"max_dim": LARGEST_EXTENT}))
    calls = [_invocation(case) for case in cases]
    program = build_native({compilation.name: compilation.sources})
    got = run_native(program, calls, [compilation.module.signatures])
    for call, outputs in zip(calls, got, strict=True):
        if call.status:
            continue
        for mine, theirs in zip(outputs, litert_outputs(data, call.inputs), strict=True):
            assert mine.shape == theirs.shape, [a.shape for a in call.inputs]
            np.testing.assert_allclose(mine, theirs, rtol=2e-6, atol=1e-6)


def outputs_of(compilation: Compilation, *inputs: NDArray[Any]) -> Sequence[NDArray[Any]]:
    """The outputs of one invocation."""
    program = build_native({compilation.name: compilation.sources})
    (outputs,) = run_native(program, [Invocation(0, 0, inputs)], [compilation.module.signatures])
    return outputs


def floats(*shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(sum(shape) + 7).normal(size=shape).astype(np.float32)


def numbers_of(dtype: str, *shape: int) -> Any:
    """Random float32, or integers of another type."""
    return floats(*shape) if dtype == "float32" else np.round(floats(*shape) * 40).astype(dtype)


def ints(*numbers: int) -> NDArray[np.int32]:
    return np.array(numbers, np.int32)
