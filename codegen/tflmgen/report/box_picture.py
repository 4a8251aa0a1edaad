"""Pictures with the boxes that a detector found in them."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.report.palette import COLOURS

PICTURES = 24
"""Pictures on a page."""
_LEAST_SIDE = 240
"""Pixels on the page of a picture's longer side, unless it has more of its own."""


@dataclass(frozen=True, slots=True)
class Detections:
    """Boxes that a detector found in the picture of an input set.

    picture  uint8[height, width] or uint8[height, width, 3]
    boxes    float[n, 4]: top, left, bottom and right in parts of the picture
    scores   float[n]
    classes  int[n]; None: the detector knows one class
    """

    title: str
    picture: NDArray[np.uint8]
    boxes: NDArray[np.float64]
    scores: NDArray[np.float64]
    classes: NDArray[np.int64] | None


@dataclass(frozen=True, slots=True)
class DrawnBox:
    """A box in pixels of the page, with its CSS class."""

    left: float
    top: float
    width: float
    height: float
    style: str
    label: str
    tip: str


@dataclass(frozen=True, slots=True)
class BoxPicture:
    """A picture as it is drawn. source: its data as a URL."""

    title: str
    width: int
    height: int
    source: str
    frames: tuple[DrawnBox, ...]


def box_pictures(detections: Sequence[Detections]) -> dict[str, object]:
    """Contents of the page's section of detections."""
    pictures = [_box_picture(own) for own in detections[:PICTURES]]
    return {"pictures": pictures, "more_pictures": len(detections) - len(pictures)}


def _box_picture(detections: Detections) -> BoxPicture:
    rows, columns = detections.picture.shape[:2]
    zoom = max(1.0, _LEAST_SIDE / max(rows, columns))
    width, height = round(columns * zoom), round(rows * zoom)
    frames = tuple(_frame(detections, number, width, height) for number in range(len(detections.boxes)))
    source = "data:image/png;base64," + b64encode(_png(detections.picture)).decode()
    return BoxPicture(detections.title, width, height, source, frames)


def _frame(detections: Detections, number: int, width: int, height: int) -> DrawnBox:
    top, left, bottom, right = np.clip(detections.boxes[number], 0.0, 1.0).tolist()
    class_ = 0 if detections.classes is None else int(detections.classes[number])
    label = f"{detections.scores[number]:.2f}"
    tip = f"score {label}" if detections.classes is None else f"class {class_}, score {label}"
    sides = (right - left) * width, (bottom - top) * height
    return DrawnBox(left * width, top * height, *sides, f"c{class_ % COLOURS}", label, tip)


def _png(picture: NDArray[np.uint8]) -> bytes:
    """The picture as a file (PNG, W3C, https://www.w3.org/TR/png-3/): 8 bits a value, grey or RGB, no filter."""
    rows, columns = picture.shape[:2]
    header = struct.pack(">IIBBBBB", columns, rows, 8, 2 if picture.ndim == 3 else 0, 0, 0, 0)
    lines = b"".join(b"\0" + row.tobytes() for row in picture)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, contents) for kind, contents in chunks)


def _chunk(kind: bytes, contents: bytes) -> bytes:
    named = kind + contents
    return struct.pack(">I", len(contents)) + named + struct.pack(">I", zlib.crc32(named))


def grey_levels(picture: NDArray[Any], low: float, high: float) -> NDArray[np.uint8]:
    """Values [height, width, channels] from `low` to `high` as 8 bits, without the axis of a single channel."""
    scaled = np.clip((picture.astype(np.float64) - low) / max(high - low, 1e-30) * 255, 0, 255).round().astype(np.uint8)
    return scaled[..., 0] if scaled.shape[-1] == 1 else scaled
