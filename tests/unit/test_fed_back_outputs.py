"""States that the caller keeps, which the samples tell, are summed in int16."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.commands import tflmgen
from tflmgen.frontend.tflite import ModelBuilder, write_model
from tflmgen.ir import DType

STEPS, SHAPE = 80, (1, 4)


@pytest.mark.parametrize("follows", [True, False], ids=["in order", "mixed"])
def test_a_sum_that_is_fed_back_is_int16_where_samples_follow_one_another(
    follows: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """following = forget * state + TANH(x): the errors of all steps add up in the state."""
    monkeypatch.chdir(tmp_path)
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, state, bounded, kept, total, y = (
        graph.tensor(name, DType.FLOAT32, SHAPE) for name in ("x", "state", "bounded", "kept", "total", "y")
    )
    gate, logits = (graph.tensor(name, DType.FLOAT32, SHAPE) for name in ("gate", "logits"))
    weights = graph.constant("weights", np.eye(4, dtype=np.float32))
    graph.operator("FULLY_CONNECTED", [x, weights, -1], [logits])
    graph.operator("TANH", [logits], [bounded])
    graph.operator("LOGISTIC", [logits], [gate])
    graph.operator("MUL", [gate, state], [kept])
    graph.operator("ADD", [kept, bounded], [total])
    squashed = graph.tensor("squashed", DType.FLOAT32, SHAPE)
    graph.operator("TANH", [total], [squashed])
    graph.operator("FULLY_CONNECTED", [squashed, weights, -1], [y])
    graph.inputs, graph.outputs = [x, state], [y, total]
    Path("cell.tflite").write_bytes(write_model(builder.model()))
    rng = np.random.default_rng(0)
    steps = rng.normal(0, 1, (STEPS, *SHAPE)).astype(np.float32)
    states = np.zeros((STEPS, *SHAPE), np.float32)
    for number in range(1, STEPS):
        previous = steps[number - 1]
        states[number] = states[number - 1] / (1 + np.exp(-previous)) + np.tanh(previous)
    order = np.arange(STEPS) if follows else rng.permutation(STEPS)
    np.savez("steps.npz", x=steps[order], state=states[order])
    finished = tflmgen("quantize", "cell.tflite", "--calibration", "steps.npz", "-o", "q.tflite", "--json")
    assert finished.code == 0, finished.err
    webs = {web["name"]: web for web in finished.json["webs"]}
    assert ((webs["state"]["type"], webs["total"]["type"]) == ("int16", "int16")) is follows
    room = webs["state"]["high"] / max(webs["state"]["maximum"], -webs["state"]["minimum"])
    assert (room > 7) is follows  # it drifts further than these steps show
