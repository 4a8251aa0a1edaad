"""TFLite_Detection_PostProcess against TFLite Micro, both kinds of suppression, with scores that are often equal."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from numpy.typing import NDArray
from support.model_writer import ModelWriter
from support.native import Invocation, build_native, run_native
from support.pipeline import compile_bytes
from tflmgen.errors import ModelError

Array = NDArray[Any]
ARGUMENT = 3
OPTIONS = {
    "max_detections": 6,
    "max_classes_per_detection": 1,
    "nms_score_threshold": 0.25,
    "nms_iou_threshold": 0.5,
    "num_classes": 3,
    "y_scale": 10.0,
    "x_scale": 10.0,
    "h_scale": 5,
    "w_scale": 5,
}


@dataclass(frozen=True)
class Detector:
    boxes: int = 12
    columns: int = 4
    coordinates: int = 4
    options: dict[str, Any] = field(default_factory=lambda: dict(OPTIONS))
    open_outputs: bool = False

    def model(self, anchors: Array) -> bytes:
        writer = ModelWriter()
        graph = writer.subgraph("main")
        largest = self.options.get("max_detections", 1)
        encodings = graph.tensor("boxes", "float32", [1, self.boxes, self.coordinates])
        scores = graph.tensor("scores", "float32", [1, self.boxes, self.columns])
        shapes: list[list[int]] = [[1, largest, 4], [1, largest], [1, largest], [1]]
        graph.outputs = [
            graph.tensor(f"out{i}", "float32", [] if self.open_outputs else s, has_rank=not self.open_outputs)
            for i, s in enumerate(shapes)
        ]
        custom = bytes(flexbuffers.Dumps(self.options))
        inputs = [encodings, scores, graph.constant("anchors", anchors)]
        graph.operator("CUSTOM:TFLite_Detection_PostProcess", inputs, graph.outputs, custom_options=custom)
        graph.inputs = [encodings, scores]
        return bytes(writer.finish())

    def anchors(self, rng: np.random.Generator) -> Array:
        return rng.uniform(0.2, 1, (self.boxes, 4)).astype(np.float32)

    def values(self, rng: np.random.Generator) -> tuple[Array, Array]:
        encodings = rng.normal(scale=2, size=(1, self.boxes, self.coordinates)).astype(np.float32)
        return encodings, (rng.integers(0, 17, (1, self.boxes, self.columns)) / 16).astype(np.float32)


def random_detector(rng: np.random.Generator) -> Detector:
    classes = int(rng.integers(1, 5))
    changes: dict[str, Any] = {
        "num_classes": classes,
        "max_detections": int(rng.integers(1, 12)),
        "nms_iou_threshold": float(rng.choice([0.1, 0.5, 1.0])),
        "nms_score_threshold": float(rng.choice([-1.0, 0.25, 0.9])),
    }
    if rng.integers(2):
        changes |= {"use_regular_nms": True, "detections_per_class": int(rng.integers(1, 8))}
    return Detector(int(rng.integers(1, 40)), classes + int(rng.integers(2)), 4, {**OPTIONS, **changes})


def tflm(model: bytes, values: tuple[Array, ...]) -> list[Array]:
    runtime = pytest.importorskip("tflite_micro.python.tflite_micro.runtime", reason="needs tflite-micro")
    interpreter = runtime.Interpreter.from_bytes(model, arena_size=4_000_000)
    for i, value in enumerate(values):
        interpreter.set_input(value, i)
    interpreter.invoke()
    return [np.array(interpreter.get_output(i)) for i in range(4)]


def check(detectors: list[Detector], rng: np.random.Generator) -> None:
    models = [d.model(d.anchors(rng)) for d in detectors]
    stages = [compile_bytes(model) for model in models]
    program = build_native({f"m{i}": s.sources(f"m{i}") for i, s in enumerate(stages)})
    calls = [Invocation(i, 0, d.values(rng)) for i, d in enumerate(detectors) for _ in range(4)]
    for call, got in zip(calls, run_native(program, calls, [s.module.signatures for s in stages]), strict=True):
        expected = tflm(models[call.model], call.inputs)
        count = int(expected[3][0])
        assert int(got[3][0]) == count
        for value, want in zip(got[:3], expected[:3], strict=True):
            # What follows the last detection TFLite Micro leaves as it was.
            np.testing.assert_allclose(value[0, :count], want[0, :count], rtol=1e-5, atol=1e-5)
            assert not value[0, count:].any()


def test_equals_tflite_micro() -> None:
    rng = np.random.default_rng(1)
    check([random_detector(rng) for _ in range(12)], rng)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(20))
def test_sweep(seed: int) -> None:
    rng = np.random.default_rng([2, seed])
    check([random_detector(rng) for _ in range(30)], rng)


def test_outputs_without_a_shape_get_theirs() -> None:
    detector = Detector(open_outputs=True)
    stages = compile_bytes(detector.model(detector.anchors(np.random.default_rng(0))))
    shapes = [port.type.max_shape for port in stages.module.signatures[0].outputs]
    assert shapes == [(1, 6, 4), (1, 6), (1, 6), (1,)]


@pytest.mark.parametrize("regular", [False, True])
def test_a_box_without_area_is_an_error(regular: bool) -> None:
    detector = Detector(options={**OPTIONS, "use_regular_nms": regular})
    anchors = detector.anchors(np.random.default_rng(0))
    anchors[3, 2] = 0
    stages = compile_bytes(detector.model(anchors))
    program = build_native({"m0": stages.sources("m0")})
    run_native(
        program,
        [Invocation(0, 0, detector.values(np.random.default_rng(1)), ARGUMENT)],
        [stages.module.signatures],
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"options": {**OPTIONS, "max_classes_per_detection": 2}}, "each box can have its best class only"),
        ({"options": {**OPTIONS, "nms_iou_threshold": 1.5}}, "nms_iou_threshold is 1.5, but must be more than 0"),
        ({"options": {**OPTIONS, "h_scale": 0}}, "a scale of the boxes is 0"),
        ({"options": {**OPTIONS, "h_scale": "5"}}, "h_scale is no number"),
        ({"options": {**OPTIONS, "h_scale": float("inf")}}, "h_scale is inf, which is no float32"),
        ({"options": {"max_detections": 6}}, "the custom options lack num_classes"),
        ({"columns": 5}, "predictions of num_classes columns, or one more for the background"),
        ({"coordinates": 3}, "as many anchors, encodings of 4 numbers and predictions as boxes"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], message: str) -> None:
    detector = replace(Detector(), **changes)
    with pytest.raises(ModelError) as caught:
        compile_bytes(detector.model(detector.anchors(np.random.default_rng(0))))
    assert "operator 0 (CUSTOM:TFLite_Detection_PostProcess): " in str(caught.value)
    assert message in str(caught.value)
