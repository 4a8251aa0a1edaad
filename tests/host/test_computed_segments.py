"""SEGMENT_SUM of computed ids, bounded by --max-rows: sums, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.commands import tflmgen
from support.dynamic_axes import BOUND, compiled, ints, numbers_of, vary
from support.dynamic_models import one_graph
from support.model_writer import SubgraphWriter
from support.native import Invocation, build_native, run_native


def _sums(dtype: str, rows: int) -> bytes:
    """Rows [rows, 2], -1 for open ones, summed by their ids, and then doubled."""

    def build(g: SubgraphWriter) -> None:
        data, ids = vary(g, "data", dtype, (rows, 2)), vary(g, "ids", "int32", (rows,))
        sums, doubled = (vary(g, name, dtype, (-1, 2)) for name in ("sums", "doubled"))
        g.operator("SEGMENT_SUM", [data, ids], [sums], {})
        g.operator("ADD", [sums, sums], [doubled], {})
        g.inputs, g.outputs = [data, ids], [doubled]

    return one_graph(build)


def _expected(data: NDArray[Any], ids: NDArray[np.int32]) -> NDArray[Any]:
    """TensorFlow's: absent ids are rows of zeros."""
    sums = np.zeros((ids[-1] + 1, 2), data.dtype)
    np.add.at(sums, ids, data)
    return sums + sums


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("rows", [5, -1])
def test_sums(dtype: str, rows: int, tmp_path: Path) -> None:
    good = [(0, 0, 1, 1, 2), (0, 0, 0, 0, 0), (1, 1, 2, 2, 2), *([(0, 1, 1)] if rows < 0 else [])]
    bad = [(0, 1, 2, 3, 3), (0, 1, 0, 1, 2), (-1, 0, 0, 1, 2)]
    bounds = {"max_rows": ["doubled=3"]} | ({"max_shape": ["data=5,2", "ids=5"]} if rows < 0 else {})
    compilation = compiled(_sums(dtype, rows), tmp_path, **bounds)
    sets = [(numbers_of(dtype, len(ids), 2), ints(*ids)) for ids in (*good, *bad, good[0])]
    calls = [Invocation(0, 0, s, BOUND if len(good) <= i < len(sets) - 1 else 0) for i, s in enumerate(sets)]
    program = build_native({compilation.name: compilation.sources})
    outputs = run_native(program, calls, [compilation.module.signatures])
    for call, arrays in zip(calls, outputs, strict=True):
        if not call.status:
            np.testing.assert_allclose(arrays[0], _expected(*call.inputs), rtol=1e-6, atol=1e-6)


def test_without_a_bound_it_says_which_option_has_it(tmp_path: Path) -> None:
    file = tmp_path / "sums.tflite"
    file.write_bytes(_sums("float32", 5))
    done = tflmgen("build", file, "--board", "host", "-o", tmp_path / "out")
    assert done.code == 1
    assert "say how many segments there may be with --max-rows '0:sums=N'" in done.err


@pytest.mark.parametrize("text", ["sums", "=3", "sums=0", "sums=2,2", "sums=x"])
def test_a_bound_of_another_form_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "sums.tflite"
    file.write_bytes(_sums("float32", 5))
    done = tflmgen("build", file, "--board", "host", "-o", tmp_path / "out", "--max-rows", text)
    assert (done.code, "requires NAME=N" in done.err) == (2, True), done.err
