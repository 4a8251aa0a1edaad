"""Weights that cannot fit are refused before any kernel is chosen: from the graph alone, without packing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.model_writer import ModelWriter
from tflmgen.errors import BudgetError
from tflmgen.hardware import HOST, load_board
from tflmgen.kernels import Selector
from tflmgen.options import BuildOptions
from tflmgen.project import plan_for
from tflmgen.project.budget import check_weights


def layers(path: Path, units: int, is_dead: bool = False) -> Path:
    """Two FULLY_CONNECTED of int8; with the weights of the first 0, only a few channels of the second are needed."""
    writer = ModelWriter()
    graph = writer.subgraph("main")
    values = graph.tensor("x", "int8", [1, units], [0.05], [0])
    graph.inputs = [values]
    for layer in range(2):
        pattern = np.resize(np.arange(-100, 100), (units, units))
        weights = (pattern * (layer or not is_dead)).astype(np.int8)
        constant = graph.constant(f"w{layer}", weights, scale=[0.001], zero_point=[0])
        operands = [values, constant]
        values = graph.tensor(f"y{layer}", "int8", [1, units], [0.05], [0])
        graph.operator("FULLY_CONNECTED", [*operands, -1], [values], {"fused_activation_function": 0})
    graph.outputs = [values]
    path.write_bytes(writer.finish())
    return path


def test_nothing_is_packed_of_weights_that_cannot_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise AssertionError("a kernel was chosen")

    model = layers(tmp_path / "large.tflite", 600)
    monkeypatch.setattr(Selector, "select", fails)
    with pytest.raises(
        BudgetError, match=r"large\.tflite: over budget: 7\d\d,\d{3} bytes of weights are needed at least"
    ):
        plan_for(model, load_board("microbit"), BuildOptions(), must_fit=True)


def test_the_bound_is_that_of_what_remains_after_the_passes(tmp_path: Path) -> None:
    """The first layer gives the same for every input, so that its weights go."""
    model = layers(tmp_path / "dead.tflite", 450, is_dead=True)
    assert plan_for(model, load_board("microbit"), BuildOptions(), must_fit=True).plan["weights"]["bytes"] < 220_000


def test_the_host_takes_any() -> None:
    check_weights(HOST, "m.tflite", 1 << 40)
