"""examples/detect: the people in its pictures are found in float32 and in int8, on a Cortex-M4 and a Cortex-M55."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflmgen
from numpy.typing import NDArray
from support.repository import ROOT
from support.tools import requires_compiler, requires_qemu
from tflmgen.frontend.tflite import write_model
from tflmgen.options import QuantizeOptions
from tflmgen.quantize import quantize_file

Array = NDArray[Any]
FOLDER = ROOT / "examples" / "detect"
PEOPLE = [1, 1, 1, 2]


@pytest.fixture(scope="module")
def quantised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that the page's command writes."""
    result = quantize_file(FOLDER / "person.tflite", FOLDER / "pictures.npz", QuantizeOptions(), None, lambda *_: None)
    path = tmp_path_factory.mktemp("detect") / "person-int8.tflite"
    path.write_bytes(write_model(result.quantized.model))
    return path


def boxes_in(model: Path, board: str) -> list[Array]:
    """Boxes float32[n, 4] in each of the four scenes."""
    boxes = []
    with np.load(FOLDER / "scenes.npz") as scenes, tflmgen.compile(model, board).session() as session:
        for picture in scenes["picture"]:
            answer = session.run(picture[None])
            number = int(answer["count"][0])
            assert (answer["scores"][0] > 0).tolist() == [place < number for place in range(5)]
            boxes.append(answer["boxes"][0, :number])
    return boxes


def overlap(a: Array, b: Array) -> float:
    """Area that two boxes share by the area of both together."""
    shared = float(np.prod(np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0)))
    return shared / (float(np.prod(a[2:] - a[:2])) + float(np.prod(b[2:] - b[:2])) - shared)


def check(boxes: list[Array]) -> None:
    """Each person has a box, and each box a person."""
    with np.load(FOLDER / "scenes.npz") as scenes:
        people = [rows[rows.any(axis=1)] for rows in scenes["people"]]
    assert [len(own) for own in boxes] == [len(own) for own in people] == PEOPLE
    for own, wanted in zip(boxes, people, strict=True):
        assert all(max(overlap(box, person) for box in own) > 0.5 for person in wanted)


def test_people_are_found_on_this_computer() -> None:
    check(boxes_in(FOLDER / "person.tflite", "host"))


@requires_compiler
@requires_qemu
@pytest.mark.parametrize("board", ["mps2_an386", "mps3_an547"])
def test_people_are_found_in_int8(quantised: Path, board: str) -> None:
    check(boxes_in(quantised, board))
