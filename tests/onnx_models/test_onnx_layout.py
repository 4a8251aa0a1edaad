"""NCHW becomes NHWC once for a whole program: convolutional nets, loops and branches keep one order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from support.native import Invocation, build_native, run_native
from support.onnx_models import flattening_net, image_loop, separable_net
from tflmgen.compiler import compile_model
from tflmgen.ir.graph import Op, walk
from tflmgen.ir.kernel import Target
from tflmgen.options import BuildOptions

RNG = np.random.default_rng(3)


def _operators(path: Path, **options: object) -> list[str]:
    compiled = compile_model(path, Target(core="host"), BuildOptions(shape=["x=1,3,32,32"], **options))  # type: ignore[arg-type]
    return [node.operator for f in compiled.module.functions for node in walk(f.body) if isinstance(node, Op)]


def test_a_convolutional_net_is_reordered_at_its_input_alone(tmp_path: Path) -> None:
    operators = _operators(separable_net(tmp_path / "net.onnx"))
    assert operators.count("TRANSPOSE") == 1
    assert operators[0] == "TRANSPOSE"
    assert not {"PAD", "PADV2"} & set(operators)


def test_with_channels_last_at_the_input_nothing_is_reordered(tmp_path: Path) -> None:
    operators = _operators(separable_net(tmp_path / "net.onnx"), nhwc_inputs=True)
    assert not {"TRANSPOSE", "PAD", "PADV2"} & set(operators)


def test_a_flattened_image_is_not_reordered_before_its_weights(tmp_path: Path) -> None:
    assert "TRANSPOSE" not in _operators(flattening_net(tmp_path / "net.onnx"), nhwc_inputs=True)


@pytest.mark.parametrize("build", [separable_net, flattening_net])
def test_both_orders_compute_what_onnx_runtime_does(build: Callable[[Path], Path], tmp_path: Path) -> None:
    path = build(tmp_path / "net.onnx")
    image = RNG.standard_normal((1, 3, 32, 32)).astype(np.float32)
    expected = onnxruntime.InferenceSession(str(path)).run(None, {"x": image})[0]
    models = [
        compile_model(
            path, Target(core="host"), BuildOptions(name=f"n{nhwc:d}", shape=["x=1,3,32,32"], nhwc_inputs=nhwc)
        )
        for nhwc in (False, True)
    ]
    program = build_native({model.name: model.sources for model in models})
    calls = [Invocation(0, 0, (image,)), Invocation(1, 0, (np.ascontiguousarray(image.transpose(0, 2, 3, 1)),))]
    for outputs in run_native(program, calls, [m.module.signatures for m in models]):
        np.testing.assert_allclose(outputs[0], expected, rtol=1e-4, atol=1e-6)


def test_a_loop_over_images_keeps_channels_last(tmp_path: Path) -> None:
    path = image_loop(tmp_path / "loop.onnx")
    compiled = compile_model(path, Target(core="host"), BuildOptions())
    inside = [n.operator for f in compiled.module.functions for n in walk(f.body) if isinstance(n, Op)]
    assert inside.count("TRANSPOSE") == 2
    array = RNG.standard_normal((1, 4, 8, 8)).astype(np.float32)
    expected = onnxruntime.InferenceSession(str(path)).run(None, {"x": array})[0]
    program = build_native({compiled.name: compiled.sources})
    outputs = run_native(program, [Invocation(0, 0, (array,))], [compiled.module.signatures])[0]
    np.testing.assert_allclose(outputs[0], expected, rtol=1e-4, atol=1e-6)
