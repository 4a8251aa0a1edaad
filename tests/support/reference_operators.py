"""Operators of a file on numpy arrays, by TFLite's definitions and nothing of the compiler: those that move elements.

Each function gets the operator's inputs, its options and its output's shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Evaluation = Callable[[Sequence[Array], Mapping[str, Any], tuple[int, ...]], Any]


def _space_to_depth(inputs: Sequence[Array], options: Mapping[str, Any], shape: tuple[int, ...]) -> Array:
    """Channel (i * block + j) * depth + c of an output pixel is channel c of pixel (i, j) of its block."""
    block, (batches, height, width, _) = options["block_size"], shape
    cut_up = inputs[0].reshape(batches, height, block, width, block, -1)
    return cut_up.transpose(0, 1, 3, 2, 4, 5).reshape(shape)


def _resize_nearest(inputs: Sequence[Array], options: Mapping[str, Any], shape: tuple[int, ...]) -> Array:
    """Without alignment of corners or half pixels: pixel y is that of the source at floor(y * source / output)."""
    assert not options["align_corners"]
    assert not options["half_pixel_centers"]
    image = inputs[0]
    rows, columns = (np.arange(shape[axis]) * image.shape[axis] // shape[axis] for axis in (1, 2))
    return image[:, rows][:, :, columns]


def _mirrored(inputs: Sequence[Array], options: Mapping[str, Any], shape: tuple[int, ...]) -> Array:
    del shape
    return np.pad(inputs[0], inputs[1], mode=("reflect", "symmetric")[options["mode"]])


def _by_table(function: Callable[[Array, Array], Any]) -> Evaluation:
    """A function of the operator's two inputs alone."""
    return lambda inputs, *_: function(inputs[0], inputs[1])


EVALUATIONS: Mapping[str, Evaluation] = {
    "MIRROR_PAD": _mirrored,
    "RESIZE_NEAREST_NEIGHBOR": _resize_nearest,
    "REVERSE_V2": _by_table(lambda array, axes: np.flip(array, tuple(axes))),
    "SPACE_TO_DEPTH": _space_to_depth,
    "TRANSPOSE": _by_table(np.transpose),
}
