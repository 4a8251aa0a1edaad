"""Gradients of convolutions on boards with an FPU and with MVE: steps whose losses are those of the reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tflmgen
from support.trained_model import TrainedReference
from tflmgen.errors import TflmgenError
from tflmgen.frontend.tflite import Model, ModelBuilder, write_model
from tflmgen.gradients import derive_training_model, parse_training_options
from tflmgen.ir import DType
from tflmgen.options import Loss, TrainOptions

pytestmark = pytest.mark.emulator

SHAPE = (2, 6, 7, 3)


def depthwise_layer() -> Model:
    """DEPTHWISE_CONV_2D of 8 channels with a tiny filter: inputs near the greatest float give a finite loss."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    value = graph.tensor("x", DType.FLOAT32, (1, 4, 4, 8))
    result = graph.tensor("result", DType.FLOAT32, (1, 4, 4, 8))
    filters = graph.constant("w", np.full((1, 3, 3, 8), 1e-37, np.float32))
    bias = graph.constant("b", np.zeros(8, np.float32))
    options = {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1, "depth_multiplier": 1}
    graph.operator("DEPTHWISE_CONV_2D", [value, filters, bias], [result], {"padding": 0, **options})
    graph.inputs, graph.outputs = [value], [result]
    return builder.model()


def layers(stride: int, dilation: int) -> Model:
    """Two images through CONV_2D to 9 channels, DEPTHWISE_CONV_2D of them, and a 1x1 CONV_2D to 5 channels."""
    rng, builder = np.random.default_rng(8), ModelBuilder()
    graph = builder.subgraph("main")
    value = graph.tensor("x", DType.FLOAT32, SHAPE)
    graph.inputs = [value]
    spread = {"stride_h": stride, "stride_w": stride, "dilation_h_factor": dilation, "dilation_w_factor": dilation}
    steps = {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    for kind, filters, options in (
        ("CONV_2D", (9, 2, 3, 3), steps),
        ("DEPTHWISE_CONV_2D", (1, 3, 3, 9), {**spread, "depth_multiplier": 1}),
        ("CONV_2D", (5, 1, 1, 9), steps),
    ):
        batch, *sizes, _ = graph.tensors[value].shape
        channels = filters[3] if kind.startswith("DEPTHWISE") else filters[0]
        results = [-(-size // options["stride_h"]) for size in sizes]
        operands = [
            graph.constant(f"{name}{channels}", 0.3 * rng.standard_normal(shape).astype(np.float32))
            for name, shape in (("w", filters), ("b", (channels,)))
        ]
        result = graph.tensor(f"layer{channels}_{len(graph.tensors)}", DType.FLOAT32, (batch, *results, channels))
        graph.operator(kind, [value, *operands], [result], {"padding": 0, **options})
        value = result
    graph.outputs = [value]
    return builder.model()


@pytest.mark.parametrize("board", ["mps2_an386", "mps3_an547"])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2)])
def test_steps_on_boards(board: str, stride: int, dilation: int, tmp_path: Path) -> None:
    model = layers(stride, dilation)
    trained = derive_training_model(model, parse_training_options(TrainOptions(loss=Loss.MSE, learning_rate="0.1")))
    (tmp_path / "steps.tflite").write_bytes(write_model(trained.model))
    reference, rng = TrainedReference(trained), np.random.default_rng(9)
    target = model.subgraphs[0].tensors[model.subgraphs[0].outputs[0]].shape
    x, y = (rng.standard_normal(shape).astype(np.float32) for shape in (SHAPE, target))
    losses = [reference.run("train", [x, y]) for _ in range(4)]
    assert losses[3] < 0.99 * losses[0]
    with tflmgen.compile(tmp_path / "steps.tflite", board).session() as session:
        for loss in losses:
            np.testing.assert_allclose(session.run({"x": x, "y": y}, "train")["loss"], loss, rtol=1e-5)


@pytest.mark.parametrize("board", ["mps2_an386", "mps3_an547"])
@pytest.mark.parametrize("sign", [1, -1])
def test_infinite_gradients_are_seen_on_boards(board: str, sign: int, tmp_path: Path) -> None:
    """The kernel makes infinities the greatest number, of either sign: --check-gradients takes that for one."""
    options = parse_training_options(TrainOptions(loss=Loss.MSE, learning_rate="0.1", check_gradients=True))
    trained = derive_training_model(depthwise_layer(), options)
    (tmp_path / "step.tflite").write_bytes(write_model(trained.model))
    shape = (1, 4, 4, 8)
    huge = {"x": np.full(shape, 3e37, np.float32), "y": np.full(shape, sign * 1000, np.float32)}
    with tflmgen.compile(tmp_path / "step.tflite", board).session() as session:
        before = session.run(huge, "evaluate")["loss"]
        assert np.isfinite(before)
        with pytest.raises(TflmgenError, match="TFLMGEN_ERROR_ARGUMENT"):
            session.run(huge, "train")
        np.testing.assert_array_equal(session.run(huge, "evaluate")["loss"], before)
