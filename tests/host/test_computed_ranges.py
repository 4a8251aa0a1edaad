"""RANGE to a limit that is known at run time: its numbers, its bound, and what is beyond."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.dynamic_axes import vary
from support.dynamic_models import one_graph
from support.model_writer import SubgraphWriter
from support.native import Invocation, build_native, run_native
from tflmgen.compiler import Compilation, compile_model
from tflmgen.errors import ModelError
from tflmgen.frontend import import_model
from tflmgen.frontend.tflite import parse_model
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions

BOUND = 1
"""Status of an invoke that needs more rows than there is place for."""


def _compiled(data: bytes, folder: Path, max_rows: list[str] | None = None) -> Compilation:
    path = folder / "m.tflite"
    path.write_bytes(data)
    return compile_model(path, Target("host"), BuildOptions(max_rows=max_rows))


def _range(dtype: str, step: int, fixed_start: int | None = None, greatest: int | None = None) -> bytes:
    """y = RANGE(start, limit, step); of a limit that is no more than `greatest` first."""

    def build(g: SubgraphWriter) -> None:
        limit, y = g.tensor("limit", dtype, []), vary(g, "y", dtype, (-1,))
        is_input = fixed_start is None
        start = g.tensor("start", dtype, []) if is_input else g.constant("start", np.array(fixed_start, dtype))
        end = limit
        if greatest is not None:
            end = g.tensor("end", dtype, [])
            g.operator("MINIMUM", [limit, g.constant("greatest", np.array(greatest, dtype))], [end])
        g.operator("RANGE", [start, end, g.constant("step", np.array(step, dtype))], [y])
        g.inputs, g.outputs = [start, limit] if is_input else [limit], [y]

    return one_graph(build)


def _run(compilation: Compilation, *cases: tuple[int, ...], status: int = 0) -> list[NDArray[Any]]:
    ports = compilation.module.signatures[0].inputs
    arrays = [tuple(np.array(n, p.type.dtype.numpy) for n, p in zip(case, ports, strict=True)) for case in cases]
    calls = [Invocation(0, 0, inputs, status) for inputs in arrays]
    outputs = run_native(build_native({compilation.name: compilation.sources}), calls, [compilation.module.signatures])
    return [output for row in outputs for output in row]


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("step", [1, 3, -1, -2])
def test_numbers(dtype: str, step: int, tmp_path: Path) -> None:
    compilation = _compiled(_range(dtype, step), tmp_path, max_rows=["y=7"])
    cases = [(2, 2), (-3, -3 + step), (5, 5 + 2 * step), (0, 7 * step), (1, 2 * step)]
    for (start, limit), numbers in zip(cases, _run(compilation, *cases), strict=True):
        np.testing.assert_array_equal(numbers, np.arange(start, limit, step).astype(dtype))


def test_a_limit_that_is_clipped_needs_no_bound(tmp_path: Path) -> None:
    compilation = _compiled(_range("int32", 2, -1, greatest=4), tmp_path)
    assert compilation.module.signatures[0].outputs[0].type.max_shape == (3,)
    for limit, numbers in zip((-1, 2, 9), _run(compilation, (-1,), (2,), (9,)), strict=True):
        np.testing.assert_array_equal(numbers, np.arange(-1, min(limit, 4), 2))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_limit_that_is_no_bound_in_practice(dtype: str, tmp_path: Path) -> None:
    """A file of a few bytes asks for a table of gigabytes; the user may say less."""
    data = _range(dtype, 1, 0, greatest=2_000_000_000)
    with pytest.raises(
        ModelError, match="up to 2,000,000,000 numbers: say how many numbers there may be with --max-rows"
    ):
        _compiled(data, tmp_path)
    compilation = _compiled(data, tmp_path, max_rows=["y=7"])
    np.testing.assert_array_equal(_run(compilation, (5,))[0], np.arange(5))


def test_steps_as_large_as_the_type(tmp_path: Path) -> None:
    compilation = _compiled(_range("int32", 10**9, 0), tmp_path, max_rows=["y=5000"])
    np.testing.assert_array_equal(_run(compilation, (10**9 + 1,))[0], [0, 10**9])
    with pytest.raises(ModelError, match="a constant step below 2\\^31 - 1"):
        _compiled(_range("int64", 2**33, 0, greatest=2**40), tmp_path)


def test_many_lesser_numbers_are_not_computed() -> None:
    """Bounds are those of sizes; MINIMUM of a tensor as large as memory makes no array while it is read."""

    def build(g: SubgraphWriter) -> None:
        x, y = g.tensor("x", "int32", [1 << 24]), g.tensor("y", "int32", [1 << 24])
        g.operator("MINIMUM", [x, g.constant("c", np.array(4, np.int32))], [y])
        g.inputs, g.outputs = [x], [y]

    model = parse_model(one_graph(build), "m.tflite")
    tracemalloc.start()
    import_model(model)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 22


def test_more_numbers_than_there_is_place_for(tmp_path: Path) -> None:
    compilation = _compiled(_range("int32", 1, 0), tmp_path, max_rows=["y=3"])
    assert _run(compilation, (4,), (2**31 - 1,), status=BOUND) == []
    empty, numbers = _run(compilation, (-(2**31),), (3,))
    assert empty.shape == (0,)
    np.testing.assert_array_equal(numbers, np.arange(3))
