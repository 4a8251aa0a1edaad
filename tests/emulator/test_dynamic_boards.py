"""Dimensions known at run time only, on emulated boards with the kernels of each core: equal to the host."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from support.case_models import model_bytes
from support.commands import tflmgen
from support.dynamic_axes import floats, ints, vary
from support.dynamic_models import one_graph
from support.kernel_harness import Array
from support.model_writer import SubgraphWriter
from support.recurrent_cases import quantized_lstm

pytestmark = pytest.mark.emulator

LENGTHS = (6, 2, 4)


def _check(data: bytes, sets: Mapping[str, Array], board: str, folder: Path) -> None:
    model, vectors = folder / "m.tflite", folder / "given.npz"
    model.write_bytes(data)
    np.savez(vectors, **sets)  # type: ignore[arg-type]
    outputs = []
    for name in ("host", board):
        result = folder / f"{name}.npz"
        done = tflmgen("run", model, "--board", name, "--inputs", vectors, "--outputs", result, "--max-dim", "8")
        assert done.code == 0, done
        with np.load(result) as arrays:
            outputs.append(dict(arrays))
    assert outputs[0].keys() == outputs[1].keys()
    assert len(outputs[0]) > len(LENGTHS)
    for name, wanted in outputs[0].items():
        assert outputs[1][name].shape == wanted.shape
        np.testing.assert_allclose(outputs[1][name], wanted, rtol=1e-6, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("board", ["mps2_an386", "mps3_an547", "mps2_an385_m0"])
def test_steps_of_a_fast_recurrent_layer(board: str, tmp_path: Path) -> None:
    """The state goes on from one set of inputs to the next."""
    rng = np.random.default_rng(3)
    case, _ = quantized_lstm(rng, "int8", (1, 3, 20, 13))
    axis = 0 if case.options["time_major"] else 1
    shapes = [(steps, 1, 20) if axis == 0 else (1, steps, 20) for steps in LENGTHS]
    inputs = [rng.integers(-128, 128, shape, np.int8) for shape in shapes]
    _check(model_bytes(case, axis), {f"s{i}_in_0": array for i, array in enumerate(inputs)}, board, tmp_path)


def _operators(g: SubgraphWriter) -> None:
    x = vary(g, "x", "float32", (1, -1, 4, 2))
    points = vary(g, "points", "int32", (-1, 2))
    block, none = g.constant("block", ints(2, 1)), g.constant("none", np.zeros((2, 2), np.int32))
    parts, back = vary(g, "parts", "float32", (2, -1, 4, 2)), vary(g, "back", "float32", (1, -1, 4, 2))
    g.operator("SPACE_TO_BATCH_ND", [x, block, none], [parts])
    g.operator("BATCH_TO_SPACE_ND", [parts, block, none], [back])
    shape, wanted = g.tensor("shape", "int32", [4]), g.tensor("wanted", "int32", [4])
    large = vary(g, "large", "float32", (1, -1, 8, 2))
    g.operator("SHAPE", [x], [shape], {"out_type": 2})
    g.operator("MUL", [shape, g.constant("factors", ints(1, 2, 2, 1))], [wanted])
    options = {"padding": 0, "stride_h": 2, "stride_w": 2}
    numbers = [g.constant("w", floats(2, 3, 3, 2)), g.constant("b", floats(2))]
    g.operator("TRANSPOSE_CONV", [wanted, numbers[0], x, numbers[1]], [large], options)
    volume, filtered = (vary(g, name, "float32", (1, 1, -1, 4, 2)) for name in ("volume", "filtered"))
    g.operator("EXPAND_DIMS", [x, g.constant("axis", np.int32(1))], [volume], {})
    options = {"padding": 0, "stride_d": 1, "stride_h": 1, "stride_w": 1}
    g.operator("CONV_3D", [volume, g.constant("w3", floats(1, 3, 2, 2, 2)), numbers[1]], [filtered], options)
    picked, put = vary(g, "picked", "float32", (-1, 4, 2)), vary(g, "put", "float32", (1, 8, 4, 2))
    g.operator("GATHER_ND", [x, points], [picked])
    g.operator("SCATTER_ND", [points, picked, g.constant("size", ints(1, 8, 4, 2))], [put])
    g.inputs, g.outputs = [x, points], [back, large, filtered, picked, put]


def test_operators(tmp_path: Path) -> None:
    sets: dict[str, Array] = {}
    for number, rows in enumerate(LENGTHS):
        sets[f"s{number}_in_0"] = floats(1, rows, 4, 2)
        sets[f"s{number}_in_1"] = np.array([(0, row) for row in range(rows)][::-1], np.int32)
    _check(one_graph(_operators), sets, "mps2_an386", tmp_path)
