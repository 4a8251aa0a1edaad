"""Pictures with a detector's boxes: which outputs these are, which are in use, and where they are drawn."""

from __future__ import annotations

import zlib
from base64 import b64decode
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from support.repository import ROOT
from tflmgen.commands.detections import detections_of
from tflmgen.emulators import Result
from tflmgen.hardware.board import HOST
from tflmgen.input_sets import VectorSet
from tflmgen.ir import DType, Quantization, TensorType
from tflmgen.ir.graph import EntryPoint, Port
from tflmgen.options import BuildOptions
from tflmgen.project.firmware_build import plan_for
from tflmgen.report import Detections, grey_levels, report_html
from tflmgen.report.box_picture import box_pictures

BOXES = np.array([[0.25, 0.5, 0.75, 1.0], [0.0, 0.0, 0.5, 0.5], [0.1, 0.1, 0.2, 0.2]])


def port(shape: tuple[int, ...], dtype: DType = DType.FLOAT32, quantization: Quantization | None = None) -> Port:
    return cast(Port, SimpleNamespace(name="p", type=TensorType(dtype, shape, quantization)))


def answered(
    ports: Sequence[Port], outputs: Sequence[np.ndarray], picture: np.ndarray | None = None
) -> list[Detections]:
    picture = np.zeros((1, 8, 16, 1), np.float32) if picture is None else picture
    signature: Any = SimpleNamespace(inputs=(port(picture.shape),), outputs=tuple(ports))
    signatures: Sequence[EntryPoint] = (signature,)
    result: Any = SimpleNamespace(outputs=tuple(outputs))
    results: Sequence[Result] = (result,)
    return detections_of(signatures, (VectorSet("street", 0, (picture,)),), results)


def test_outputs_are_told_apart_by_what_they_hold() -> None:
    """Classes before scores, as TensorFlow's detection models have them, and the number of boxes in use."""
    ports = (port((1, 3, 4)), port((1, 3)), port((1, 3)), port((1,)))
    outputs = [BOXES[None], np.array([[0.0, 2.0, 0.0]]), np.array([[0.9, 0.6, 0.5]]), np.array([2.0])]
    (own,) = answered(ports, [output.astype(np.float32) for output in outputs])
    assert own.title == "0: street"
    assert own.boxes == pytest.approx(BOXES[:2])
    assert own.scores == pytest.approx([0.9, 0.6])
    assert own.classes is not None
    assert own.classes.tolist() == [0, 2]


def test_quantised_boxes_in_pixels_without_a_number() -> None:
    ports = (
        port((1, 3), DType.UINT8, Quantization((1 / 256,), (0,))),
        port((3, 4), DType.INT8, Quantization((0.125,), (-128,))),
    )
    pixels = BOXES * np.array([8, 16, 8, 16])
    (own,) = answered(ports, [np.array([[128, 64, 0]], np.uint8), (pixels / 0.125 - 128).round().astype(np.int8)])
    assert own.boxes == pytest.approx(BOXES[:2], abs=0.02)
    assert own.scores == pytest.approx([0.5, 0.25])
    assert own.classes is None


@pytest.mark.parametrize(
    ("ports", "shape"),
    [
        (((1, 3, 4), (1, 4)), (1, 8, 16, 1)),
        (((1, 3, 4), (1, 3, 4)), (1, 8, 16, 1)),
        (((1, 4), (1,)), (1, 8, 16, 1)),
        (((1, 3, 4), (1, 3)), (1, 8, 16, 2)),
        (((1, 3, 4), (1, 3)), (1, 128)),
    ],
    ids=["no scores", "two of boxes", "a single box", "no picture", "no image"],
)
def test_other_models_have_no_boxes(ports: tuple[tuple[int, ...], ...], shape: tuple[int, ...]) -> None:
    outputs = [np.full(own, 0.5, np.float32) for own in ports]
    assert answered([port(own) for own in ports], outputs, np.zeros(shape, np.float32)) == []


def test_pictures_are_drawn_with_their_boxes() -> None:
    picture = grey_levels(np.linspace(-1, 1, 8 * 16 * 3).reshape(8, 16, 3), -1, 1)
    own = Detections("0", picture, BOXES[:1], np.array([0.875]), np.array([9]))
    contents: Any = box_pictures([own])
    (drawn,) = contents["pictures"]
    (frame,) = drawn.frames
    assert (drawn.width, drawn.height) == (240, 120)
    assert (frame.left, frame.top, frame.width, frame.height) == (120, 30, 120, 60)
    assert (frame.style, frame.label, frame.tip) == ("c1", "0.88", "class 9, score 0.88")
    data = b64decode(drawn.source.removeprefix("data:image/png;base64,"))
    start = data.index(b"IDAT") + 4
    lines = zlib.decompress(data[start : data.index(b"IEND") - 8])
    assert np.frombuffer(lines, np.uint8).reshape(8, 1 + 3 * 16)[:, 1:].tobytes() == picture.tobytes()


def test_the_page_has_the_pictures() -> None:
    plan = plan_for(ROOT / "examples" / "gate.tflite", HOST, BuildOptions()).plan
    own = Detections("0: <b>", np.zeros((8, 16), np.uint8), BOXES, np.array([0.9, 0.5, 0.25]), None)
    page = report_html(plan, HOST, detections=[own] * 30)
    assert page.count('class="found c0"') == 3 * 24
    assert "0: &lt;b&gt;" in page
    assert "6 more pictures are left out" in page
    assert 'id="boxes"' not in report_html(plan, HOST)
