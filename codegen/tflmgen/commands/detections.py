"""Boxes among the outputs of a detector, for the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.emulators import Result
from tflmgen.input_sets import VectorSet, set_caption
from tflmgen.ir import DType
from tflmgen.ir.graph import EntryPoint, Port
from tflmgen.report import Detections, grey_levels

_LEAST_PICTURE = 8
"""Rows and columns that a picture has at least."""
_LARGEST_PART = 2.0
"""Greatest coordinate of boxes in parts of the picture, which may go beyond it; larger ones are pixels."""

_FEWEST_BOXES = 2
"""Boxes from which on an output of a single element is their number, and no score."""

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class DetectorOutputs:
    """Places of a detector's outputs; None: it has no such output. count: the number of boxes in use."""

    boxes: int
    scores: int
    classes: int | None
    count: int | None


def real_values(array: Array, port: Port) -> NDArray[np.float64]:
    """Values of a port as real numbers."""
    quantization, values = port.type.quantization, array.astype(np.float64)
    return values if quantization is None else (values - quantization.zero_point) * quantization.scale


def detections_of(
    signatures: Sequence[EntryPoint], sets: Sequence[VectorSet], results: Sequence[Result]
) -> list[Detections]:
    """Boxes of each set of a detector; none where the model is no detector.

    A detector has one picture as input, [1, height, width, 1 or 3], and among its outputs boxes [..., n, 4] and scores
    with n elements; classes with n elements and the number of boxes in use, as TensorFlow's detectors have them, may
    come beside these.
    """
    numbers = {own.signature for own in sets}
    if len(numbers) != 1 or not _has_picture(signature := signatures[numbers.pop()]):
        return []
    answers = [[real_values(a, p) for a, p in zip(r.outputs, signature.outputs, strict=True)] for r in results]
    places = _places_of(signature.outputs, answers)
    if places is None:
        return []
    pictures = [real_values(own.inputs[0], signature.inputs[0])[0] for own in sets]
    low, high = min(float(p.min()) for p in pictures), max(float(p.max()) for p in pictures)
    return [
        _detections(set_caption(number, own.label), grey_levels(picture, low, high), answer, places)
        for number, (own, picture, answer) in enumerate(zip(sets, pictures, answers, strict=True))
    ]


def _detections(title: str, picture: NDArray[np.uint8], answer: Sequence[Array], places: DetectorOutputs) -> Detections:
    boxes, scores = answer[places.boxes].reshape(-1, 4), answer[places.scores].reshape(-1)
    if np.abs(boxes).max(initial=0) > _LARGEST_PART:
        boxes = boxes / np.tile(picture.shape[:2], 2)
    used = scores > 0
    if places.count is not None:
        used &= np.arange(len(used)) < answer[places.count].item()
    classes = None if places.classes is None else answer[places.classes].reshape(-1)[used].astype(np.int64)
    return Detections(title, picture, boxes[used], scores[used], classes)


def _has_picture(signature: EntryPoint) -> bool:
    shapes = [port.type.max_shape for port in signature.inputs]
    return [len(shape) for shape in shapes] == [4] and (
        shapes[0][0] == 1 and min(shapes[0][1:3]) >= _LEAST_PICTURE and shapes[0][3] in (1, 3)
    )


def _places_of(outputs: Sequence[Port], answers: Sequence[Sequence[Array]]) -> DetectorOutputs | None:
    """Boxes and what has a value for each of them; scores are real, and not whole numbers in all sets."""
    shapes = [port.type.max_shape for port in outputs]
    boxes = [k for k, s in enumerate(shapes) if len(s) >= 2 and s[-1] == 4 and _is_real(outputs[k])]
    if len(boxes) != 1 or (number := int(np.prod(shapes[boxes[0]])) // 4) < _FEWEST_BOXES:
        return None
    beside = [k for k, s in enumerate(shapes) if k != boxes[0] and np.prod(s) == number]
    real = (k for k in beside if _is_real(outputs[k]) and any((a[k] % 1 != 0).any() for a in answers))
    scores = next(real, None)
    if scores is None:
        return None
    classes = next((k for k in beside if k != scores), None)
    count = next((k for k, s in enumerate(shapes) if np.prod(s) == 1), None)
    return DetectorOutputs(boxes[0], scores, classes, count)


def _is_real(port: Port) -> bool:
    return port.type.dtype is DType.FLOAT32 or port.type.quantization is not None
