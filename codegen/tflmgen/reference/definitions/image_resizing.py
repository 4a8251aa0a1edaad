"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR: TFLite's resize_bilinear.h and resize_nearest_neighbor.h."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tflmgen.reference.definitions.fixed_point_numbers import divided_towards_zero
from tflmgen.reference.operation import Array, Evaluation, Operation, round_half_away

FRACTION_BITS = 10
"""Bits behind the point of positions and weights in integer RESIZE_BILINEAR."""


def _ratio(op: Operation, size: int, wanted: int) -> np.float32:
    if op.options.get("align_corners") and wanted > 1:
        return np.float32(size - 1) / np.float32(wanted - 1)
    return np.float32(size) / np.float32(wanted)


def nearest_indices(op: Operation, size: int, wanted: int) -> Array:
    """Index of the source row (or column) for each of `wanted` output rows, of an image with `size` of them."""
    ratio = _ratio(op, size, wanted)
    half = np.float32(0.5 if op.options.get("half_pixel_centers") else 0.0)
    places = (np.arange(wanted, dtype=np.float32) + half) * ratio
    if op.options.get("align_corners"):
        places = round_half_away(places)
    return np.asarray(np.clip(np.floor(places).astype(np.int64), 0, size - 1))


def _output_size(op: Operation) -> tuple[int, int]:
    height, width = op.array(1).reshape(-1).tolist()
    return int(height), int(width)


def _nearest(op: Operation) -> Sequence[Array]:
    return [resized_to_nearest(op, op.array(0), *_output_size(op))]


def resized_to_nearest(op: Operation, image: Array, height: int, width: int) -> Array:
    """The image (NHWC) at another size, each element a copy of its nearest neighbour."""
    rows, columns = nearest_indices(op, image.shape[1], height), nearest_indices(op, image.shape[2], width)
    return image[:, rows][:, :, columns]


def _bilinear(op: Operation) -> Sequence[Array]:
    return [resized_linearly(op, op.array(0), *_output_size(op))]


def resized_linearly(op: Operation, image: Array, height: int, width: int) -> Array:
    """The image (NHWC) at another size by bilinear interpolation, in floats or in TFLite's fixed point."""
    function = _in_floats if op.gives_floats else _in_integers
    return function(op, image, height, width)


def float_steps(op: Operation, size: int, wanted: int) -> tuple[Array, Array, Array]:
    """(lower index, upper index, fraction) of each output line."""
    ratio, places = _ratio(op, size, wanted), np.arange(wanted, dtype=np.float32)
    half = np.float32(0.5)
    at = (places + half) * ratio - half if op.options.get("half_pixel_centers") else places * ratio
    floor = np.floor(at).astype(np.int64)
    lower = np.maximum(floor, 0)
    return lower, np.minimum(floor + 1, size - 1), at - lower.astype(np.float32)


def _in_floats(op: Operation, image: Array, height: int, width: int) -> Array:
    top, bottom, down = float_steps(op, image.shape[1], height)
    left, right, across = float_steps(op, image.shape[2], width)
    x = image.astype(np.float64)
    down, across = down[:, None, None].astype(np.float64), across[:, None].astype(np.float64)
    upper = x[:, top][:, :, left] * (1 - across) + x[:, top][:, :, right] * across
    lower = x[:, bottom][:, :, left] * (1 - across) + x[:, bottom][:, :, right] * across
    return op.rounded(upper * (1 - down) + lower * down)


def integer_steps(op: Operation, size: int, wanted: int) -> tuple[Array, Array, Array]:
    """Lower index, upper index and fraction of each line, in Q21.10."""
    unit = 1 << FRACTION_BITS
    ratio = (unit * size + wanted // 2) // wanted
    if op.options.get("align_corners") and wanted > 1:
        ratio = (unit * (size - 1) + (wanted - 1) // 2) // (wanted - 1)
    places = np.arange(wanted, dtype=np.int64)
    at = places * ratio
    if op.options.get("half_pixel_centers"):
        at = at + ratio // 2 - unit // 2
    lower = np.maximum(divided_towards_zero(at, unit), 0)
    upper = np.minimum(divided_towards_zero(at + unit - 1, unit), size - 1)
    return lower, upper, at - unit * lower


def _in_integers(op: Operation, image: Array, height: int, width: int) -> Array:
    unit = 1 << FRACTION_BITS
    top, bottom, down = integer_steps(op, image.shape[1], height)
    left, right, across = integer_steps(op, image.shape[2], width)
    x, down, across = image.astype(np.int64), down[:, None, None], across[:, None]
    upper = x[:, top][:, :, left] * (unit - across) + x[:, top][:, :, right] * across
    lower = x[:, bottom][:, :, left] * (unit - across) + x[:, bottom][:, :, right] * across
    total = upper * (unit - down) + lower * down
    half = np.where(total >= 0, 1, -1) << (2 * FRACTION_BITS - 1)
    return divided_towards_zero(total + half, 1 << (2 * FRACTION_BITS)).astype(op.output.dtype.numpy)


EVALUATIONS: Mapping[str, Evaluation] = {
    "RESIZE_NEAREST_NEIGHBOR": _nearest,
    "RESIZE_BILINEAR": _bilinear,
}
