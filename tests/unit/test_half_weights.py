"""Weights of float16: float32 in flash where there is room, else as they are, and widened in the arena."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.model_writer import ModelWriter
from tflmgen.compiler import Compilation
from tflmgen.errors import BudgetError
from tflmgen.hardware.board import load_board
from tflmgen.ir import DType
from tflmgen.ir.program import KernelCall, walk_instructions
from tflmgen.options import BuildOptions
from tflmgen.project import check_plan, plan_for

UNITS = 96


def halves(layers: int, folder: Path, *, at_first: bool = False) -> Path:
    """A chain of FULLY_CONNECTED whose weights a DEQUANTIZE widens: each in front of its layer, or all at first."""
    w, rng = ModelWriter(), np.random.default_rng(0)
    g = w.subgraph("main")
    x = g.tensor("x", "float32", [1, UNITS])
    g.inputs = [x]
    widened = []

    def widen(number: int) -> int:
        data = (rng.normal(size=(UNITS, UNITS)) / UNITS**0.5).astype(np.float16)
        half = g.constant(f"h{number}", data)
        wide = g.tensor(f"w{number}", "float32", [UNITS, UNITS])
        g.operator("DEQUANTIZE", [half], [wide])
        return wide

    if at_first:
        widened = [widen(number) for number in range(layers)]
    for number in range(layers):
        weights = widened[number] if at_first else widen(number)
        y = g.tensor(f"y{number}", "float32", [1, UNITS])
        g.operator("FULLY_CONNECTED", [x, weights, -1], [y], {})
        x = y
    g.outputs = [x]
    path = folder / "halves.tflite"
    path.write_bytes(w.finish())
    return path


def compiled(path: Path) -> Compilation:
    """For 512 kB of flash and 128 kB of RAM."""
    return plan_for(path, load_board("nucleo_f446re"), BuildOptions(), must_fit=True)


def widening(compilation: Compilation) -> int:
    calls = (i for f in compilation.program.functions for i in walk_instructions(f.body) if isinstance(i, KernelCall))
    return sum(call.function == "tflmgen_dequantize_f16_f32" for call in calls)


def test_with_room_they_are_float32(tmp_path: Path) -> None:
    compilation = compiled(halves(4, tmp_path))
    assert widening(compilation) == 0
    assert {array.dtype for array in compilation.program.constants.values()} == {DType.FLOAT32}


@pytest.mark.parametrize("at_first", [False, True])
def test_without_room_they_stay_float16(at_first: bool, tmp_path: Path) -> None:
    layers = 20
    compilation = compiled(halves(layers, tmp_path, at_first=at_first))
    assert widening(compilation) == layers
    halves_bytes, row = 2 * UNITS * UNITS, 4 * UNITS
    assert compilation.plan["weights"]["bytes"] <= layers * halves_bytes + row
    assert compilation.program.arena_bytes <= 2 * halves_bytes + 2 * row
    assert any("float16 weights stay so in flash" in note for note in compilation.plan["notes"])
    assert any("input sets equal" in part["text"] for part in compilation.plan["proof"])


def test_what_is_too_large_as_float16_is_refused(tmp_path: Path) -> None:
    compilation = compiled(halves(30, tmp_path))
    with pytest.raises(BudgetError, match=r"weights"):
        check_plan(compilation.plan, load_board("nucleo_f446re"))
