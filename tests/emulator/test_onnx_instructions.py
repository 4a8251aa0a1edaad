"""A net in PyTorch's layout takes no more instructions than the same net as Keras gives it to TFLite's converter."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from support.commands import tflmgen
from support.model_writer import ModelWriter
from support.onnx_models import separable_net
from support.sampling import sampled
from support.tools import requires_compiler, requires_qemu

pytestmark = [pytest.mark.emulator, requires_compiler, requires_qemu]

SHAPE = (1, 32, 32, 3)
LARGEST_RATIO = 1.03


def _keras_twin(source: Path, path: Path) -> Path:
    """The net of `separable_net` in NHWC, its convolutions padded as Keras pads them."""
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(source).graph.initializer}
    writer = ModelWriter()
    graph = writer.subgraph("main")
    x = image = graph.tensor("x", "float32", SHAPE)
    size = SHAPE[1]
    for name, depthwise, stride in (("a", False, 2), ("b", True, 1), ("c", False, 1), ("d", True, 2)):
        array = weights[f"{name}_w"].transpose((1, 2, 3, 0) if depthwise else (0, 2, 3, 1))
        channels, size = array.shape[-1 if depthwise else 0], -(-size // stride)
        operands = [
            x,
            graph.constant(f"{name}_w", np.ascontiguousarray(array)),
            graph.constant(f"{name}_b", np.zeros(channels, np.float32)),
        ]
        x = graph.tensor(name, "float32", (1, size, size, channels))
        options = {"padding": 0, "stride_h": stride, "stride_w": stride, "fused_activation_function": 1}
        kind = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
        graph.operator(kind, operands, [x], options | ({"depth_multiplier": 1} if depthwise else {}))
    size = -(-size // 2)
    pooled = graph.tensor("p", "float32", (1, size, size, 16))
    options = {"padding": 0, "stride_h": 2, "stride_w": 2, "filter_height": 3, "filter_width": 3}
    graph.operator("MAX_POOL_2D", [x], [pooled], options)
    mean = graph.tensor("g", "float32", (1, 16))
    graph.operator("MEAN", [pooled, graph.constant("axes", np.array([1, 2], np.int32))], [mean], {"keep_dims": False})
    result = graph.tensor("y", "float32", (1, 10))
    bias = graph.constant("fb", np.zeros(10, np.float32))
    graph.operator("FULLY_CONNECTED", [mean, graph.constant("fw", weights["fw"]), bias], [result])
    graph.inputs, graph.outputs = [image], [result]
    writer.signature("serving_default", {"x": image}, {"y": result})
    path.write_bytes(writer.finish())
    return path


def _instructions(source: Path, samples: Path, *options: object) -> int:
    words = ("--board", "mps2_an386", "--inputs", samples, "--json", *options)
    done = tflmgen("bench", source, *words)
    assert done.code == 0, done.err
    return int(json.loads(done.out)["total"]["instructions"])


@pytest.mark.parametrize("quantised", sampled([True, False], 2))
def test_layout_costs_nothing(quantised: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The net takes NHWC images; with NCHW images one TRANSPOSE is more, which no Keras net has."""
    monkeypatch.chdir(tmp_path)  # the quantised file is kept where the command runs
    source = separable_net(tmp_path / "net.onnx")
    twin = _keras_twin(source, tmp_path / "twin.tflite")
    images = np.random.default_rng(5).standard_normal((2, *SHAPE)).astype(np.float32)
    np.savez(tmp_path / "samples.npz", **{f"s{k}_in_0": image for k, image in enumerate(images)})
    samples = tmp_path / "samples.npz"
    options = ("--quantize", samples) if quantised else ()
    ours = _instructions(source, samples, "--shape", "x=1,3,32,32", "--nhwc-inputs", *options)
    theirs = _instructions(twin, samples, *options)
    assert ours <= LARGEST_RATIO * theirs
