"""NonMaxSuppression and NonZero, whose data determine the number of results: against ONNX Runtime on random data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from support.commands import tflmgen

INFO = helper.make_tensor_value_info
Arrays = dict[str, NDArray[np.float32]]


def _suppression(path: Path, feeds: Arrays, rows: int | str, is_centre: bool, limit: int) -> Path:
    numbers = [("limit", np.int64(limit)), ("overlap", np.float32(0.4)), ("least", np.float32(0.3))]
    node = helper.make_node(
        "NonMaxSuppression",
        ["boxes", "scores", *(name for name, _ in numbers)],
        ["y"],
        name="nms",
        center_point_box=int(is_centre),
    )
    inputs = [INFO(name, TensorProto.FLOAT, array.shape) for name, array in feeds.items()]
    constants = [numpy_helper.from_array(np.array([value]), name) for name, value in numbers]
    graph = helper.make_graph([node], "g", inputs, [INFO("y", TensorProto.INT64, [rows, 3])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def _random(seed: int, is_centre: bool) -> tuple[Arrays, int]:
    rng = np.random.default_rng(seed)
    batch, classes, boxes = int(rng.integers(1, 3)), int(rng.integers(1, 4)), int(rng.integers(1, 20))
    at, size = rng.uniform(0, 3, (batch, boxes, 2)), rng.uniform(0.2, 2, (batch, boxes, 2))
    corners = [at, at + size][:: int(rng.choice([-1, 1]))]
    ends = np.concatenate([at, size] if is_centre else corners, axis=2)
    scores = rng.integers(0, 12, (batch, classes, boxes)) / 12  # equal scores are frequent
    return {"boxes": ends.astype(np.float32), "scores": scores.astype(np.float32)}, int(rng.integers(1, 8))


def _run(path: Path, feeds: Arrays) -> NDArray[np.int64]:
    inputs = {f"s0_in_{place}": array for place, array in enumerate(feeds.values())}
    np.savez(path.with_suffix(".npz"), allow_pickle=False, **inputs)
    target = path.with_name("out.npz")
    done = tflmgen("run", path, "--inputs", path.with_suffix(".npz"), "--outputs", target, "--board", "host")
    assert done.code == 0, done.err
    with np.load(target) as outputs:
        return np.asarray(outputs["s0_out_0"])


@pytest.mark.parametrize("seed", range(4))
def test_suppression_selects_what_onnx_runtime_does(seed: int, tmp_path: Path) -> None:
    is_centre = bool(seed % 2)
    feeds, limit = _random(seed, is_centre)
    free = _suppression(tmp_path / "free.onnx", feeds, "n", is_centre, limit)
    (expected,) = onnxruntime.InferenceSession(str(free)).run(None, feeds)
    spare = 2
    model = _suppression(tmp_path / "m.onnx", feeds, len(expected) + spare, is_centre, limit)
    rows = _run(model, feeds)
    np.testing.assert_array_equal(rows[: len(expected)], expected)
    assert (rows[len(expected) :] == -1).all()


@pytest.mark.parametrize("seed", range(3))
def test_an_undeclared_number_of_rows_is_that_of_the_data(seed: int, tmp_path: Path) -> None:
    feeds, limit = _random(seed, False)
    model = _suppression(tmp_path / "m.onnx", feeds, "n", False, limit)
    (expected,) = onnxruntime.InferenceSession(str(model)).run(None, feeds)
    np.testing.assert_array_equal(_run(model, feeds), expected)


def test_places_that_are_not_zero(tmp_path: Path) -> None:
    x = np.array([[0, 1.5, 0], [-2, 0, 3]], np.float32)
    graph = helper.make_graph(
        [helper.make_node("NonZero", ["x"], ["y"])],
        "g",
        [INFO("x", TensorProto.FLOAT, x.shape)],
        [INFO("y", TensorProto.INT64, [2, 4])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "m.onnx")
    np.testing.assert_array_equal(_run(tmp_path / "m.onnx", {"x": x}), [[0, 1, 1, -1], [1, 0, 2, -1]])
