"""Draws grey pictures of scenes with people in them, and says where the people are.

A scene is a shaded wall and floor with boxes, poles and balls in it. People stand, one to three of them, in any size
from a quarter to nine tenths of the picture's height, lighter or darker than what is behind them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SIZE = 96
"""Height and width of a picture in pixels."""
MOST_PEOPLE = 3
LEVELS = 64
"""Grey levels of a picture, of 256: fewer make smaller files."""

_rows, _columns = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32) + np.float32(0.5)


def scenes(count: int, seed: int) -> tuple[Array, list[Array]]:
    """Pictures float32[count, SIZE, SIZE, 1] of 0 to 1, and of each its people's boxes float32[people, 4]: top, left,
    bottom and right in parts of the picture."""
    rng = np.random.default_rng(seed)
    drawn = [_scene(rng) for _ in range(count)]
    return np.stack([picture for picture, _ in drawn]), [boxes for _, boxes in drawn]


def _scene(rng: np.random.Generator) -> tuple[Array, Array]:
    horizon = rng.uniform(0.3, 0.7) * SIZE
    slope = rng.uniform(-0.15, 0.15)
    wall, floor = rng.uniform(0.15, 0.85, 2)
    picture = np.where(_rows < horizon, wall, floor) + slope * (_columns / SIZE - 0.5)
    picture = picture.astype(np.float32)
    for _ in range(rng.integers(1, 5)):
        _paint(picture, _object(rng), rng.uniform(0.05, 0.95))
    boxes: list[Array] = []
    for _ in range(rng.integers(0, MOST_PEOPLE + 1)):
        box = _place(rng)
        if all(_overlap(box, other) < 0.15 for other in boxes):
            _paint_person(picture, box, rng)
            boxes.append(box)
    picture += rng.normal(0, 0.01, picture.shape).astype(np.float32)
    grey = np.round(np.clip(picture, 0, 1) * (LEVELS - 1)) / (LEVELS - 1)
    return grey[..., None].astype(np.float32), np.array(boxes, np.float32).reshape(-1, 4)


def _place(rng: np.random.Generator) -> Array:
    height = rng.uniform(0.25, 0.9)
    width = height * rng.uniform(0.4, 0.5)
    top, left = rng.uniform(0, 1 - height), rng.uniform(0, 1 - width)
    return np.array([top, left, top + height, left + width], np.float32)


def _overlap(a: Array, b: Array) -> float:
    """Area that two boxes share, as a part of the smaller one's."""
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    shared = float(np.prod(np.maximum(sides, 0)))
    return shared / min(float(np.prod(box[2:] - box[:2])) for box in (a, b))


def _object(rng: np.random.Generator) -> Array:
    """The pixels of a box, a pole or a ball."""
    row, column = rng.uniform(0, SIZE, 2)
    kind = rng.integers(3)
    if kind == 2:
        return _ellipse(row, column, *np.repeat(rng.uniform(4, 14), 2))
    height, width = (rng.uniform(8, 40), rng.uniform(8, 40)) if kind else (rng.uniform(40, 90), rng.uniform(2, 6))
    return (np.abs(_rows - row) < height / 2) & (np.abs(_columns - column) < width / 2)


def _ellipse(row: float, column: float, height: float, width: float) -> Array:
    inside: Array = ((_rows - row) / height) ** 2 + ((_columns - column) / width) ** 2 < 1
    return inside


def _paint(picture: Array, pixels: Array, grey: float) -> None:
    picture[pixels] = grey


def _paint_person(picture: Array, box: Array, rng: np.random.Generator) -> None:
    """Head, trunk, two legs and two arms, the clothes apart from what is behind them by a third of all greys."""
    top, left, bottom, right = box * SIZE
    height, width, middle = bottom - top, right - left, (left + right) / 2
    behind = float(picture[int(top) : int(bottom) + 1, int(left) : int(right) + 1].mean())
    clothes = behind + rng.choice([-1, 1]) * rng.uniform(0.3, 0.5)
    clothes = clothes if 0.03 < clothes < 0.97 else 2 * behind - clothes
    legs, skin = np.clip(clothes + rng.uniform(-0.15, 0.15, 2), 0, 1)
    hips, shoulders = top + 0.55 * height, top + 0.22 * height
    stride = rng.uniform(0.1, 0.42) * width
    for side in (-1, 1):
        _paint(
            picture, _limb((hips, middle + side * 0.12 * width), (bottom, middle + side * stride), 0.11 * width), legs
        )
        hand = (hips, middle + side * rng.uniform(0.3, 0.48) * width)
        _paint(picture, _limb((shoulders, middle + side * 0.25 * width), hand, 0.08 * width), clothes)
    trunk = (_rows > shoulders - 0.03 * height) & (_rows < hips + 0.03 * height)
    _paint(picture, trunk & (np.abs(_columns - middle) < 0.3 * width), clothes)
    _paint(picture, _ellipse(top + 0.1 * height, middle, 0.1 * height, 0.085 * height), skin)


def _limb(start: tuple[float, float], end: tuple[float, float], thickness: float) -> Array:
    """The pixels at most `thickness` from a line."""
    along = np.array(end, np.float32) - np.array(start, np.float32)
    rows, columns = _rows - start[0], _columns - start[1]
    share = np.clip((rows * along[0] + columns * along[1]) / float(along @ along), 0, 1)
    near: Array = np.hypot(rows - share * along[0], columns - share * along[1]) < max(thickness, 0.7)
    return near
