"""CONV_3D and TRANSPOSE_CONV of what is known at run time only: against LiteRT."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.dynamic_axes import ARGUMENT, LARGEST_EXTENT, Shape, agrees, floats, ints, vary
from support.dynamic_models import one_graph
from support.model_writer import SubgraphWriter

SAME, VALID = 0, 1


def _volume(shape: Shape, out: Shape, taps: Sequence[int], padding: int, strides: Sequence[int], **more: int) -> bytes:
    def build(g: SubgraphWriter) -> None:
        x, y = vary(g, "x", "float32", shape), vary(g, "y", "float32", out)
        weights, bias = g.constant("w", floats(*taps, shape[4], out[4])), g.constant("b", floats(out[4]))
        options = {f"stride_{axis}": stride for axis, stride in zip("dhw", strides, strict=True)}
        g.operator("CONV_3D", [x, weights, bias], [y], {"padding": padding, **options, **more})
        g.inputs, g.outputs = [x], [y]

    return one_graph(build)


VOLUMES: dict[str, tuple[Shape, Shape, Sequence[int], int, Sequence[int], dict[str, int], list[Shape]]] = {
    "depth": ((1, -1, 3, 4, 2), (1, -1, 3, 4, 3), (3, 2, 2), SAME, (1, 1, 1), {}, [(1, 5, 3, 4, 2), (1, 1, 3, 4, 2)]),
    "strides": (
        (-1, -1, 3, -1, 2),
        (-1, -1, 2, -1, 3),
        (3, 3, 2),
        SAME,
        (2, 2, 3),
        {},
        [(2, 5, 3, 4, 2), (1, 2, 3, 1, 2), (2, 1, 3, 5, 2)],
    ),
    "valid": (
        (1, -1, -1, 4, 2),
        (1, -1, -1, 3, 3),
        (2, 3, 2),
        VALID,
        (1, 2, 1),
        {},
        [(1, 5, 5, 4, 2), (1, 3, 4, 4, 2), (1, 2, 3, 4, 2)],
    ),
    "dilated": (
        (1, 4, 3, -1, 2),
        (1, 4, 3, -1, 1),
        (2, 1, 3),
        SAME,
        (1, 1, 1),
        {"dilation_w_factor": 2, "dilation_d_factor": 2},
        [(1, 4, 3, 5, 2), (1, 4, 3, 3, 2)],
    ),
}


@pytest.mark.parametrize("name", VOLUMES)
def test_volumes(name: str, tmp_path: Path) -> None:
    shape, out, taps, padding, strides, more, sizes = VOLUMES[name]
    cases = [[floats(*size)] for size in (*sizes, sizes[0])]
    agrees(_volume(shape, out, taps, padding, strides, **more), tmp_path, cases)


def _filter(g: SubgraphWriter, dtype: str, taps: Sequence[int], channels: tuple[int, int]) -> tuple[list[int], Any]:
    """Weights and bias, and the quantisation of images."""
    before, after = channels
    if dtype == "float32":
        return [g.constant("w", floats(after, *taps, before)), g.constant("b", floats(after))], {}
    scales, zeros = [0.01 * (1 + i) for i in range(after)], [0] * after
    weights = np.round(floats(after, *taps, before) * 50).clip(-127, 127)
    of_images: dict[str, Any] = {
        "scale": [0.05 if dtype == "int8" else 0.002],
        "zero_point": [-7 if dtype == "int8" else 0],
    }
    products = [of_images["scale"][0] * scale for scale in scales]
    kind = "int32" if dtype == "int8" else "int64"
    return [
        g.constant("w", weights, "int8", scale=scales, zero_point=zeros),
        g.constant("b", np.arange(after) * 100, kind, scale=products, zero_point=zeros),
    ], of_images


def _upsampled(
    dtype: str, shape: Shape, out: Shape, taps: Sequence[int], padding: int, strides: Sequence[int], size: Any = None
) -> bytes:
    """The size of the output is an input, or `size`."""

    def build(g: SubgraphWriter) -> None:
        numbers, more = _filter(g, dtype, taps, (shape[3], out[3]))
        wanted = g.tensor("size", "int32", [4]) if size is None else g.constant("size", ints(*size))
        x, y = vary(g, "x", dtype, shape, **more), vary(g, "y", dtype, out, **more)
        options = {"padding": padding, "stride_h": strides[0], "stride_w": strides[1]}
        g.operator("TRANSPOSE_CONV", [wanted, numbers[0], x, numbers[1]], [y], options)
        g.inputs, g.outputs = [x] if size else [x, wanted], [y]

    return one_graph(build)


def random_values(dtype: str, *shape: int) -> Any:
    least, greatest = (-128, 127) if dtype == "int8" else (-30000, 30000)
    values = floats(*shape)
    rounded = np.round(values * (40 if dtype == "int8" else 4000)).clip(least, greatest)
    return values if dtype == "float32" else rounded.astype(dtype)


IMAGES: dict[str, tuple[Shape, Shape, Sequence[int], int, Sequence[int], list[tuple[Shape, Shape]]]] = {
    "same": (
        (-1, -1, -1, 2),
        (-1, -1, -1, 3),
        (3, 4),
        SAME,
        (2, 2),
        [((1, 3, 5, 2), (1, 6, 10, 3)), ((2, 5, 1, 2), (2, 9, 2, 3)), ((1, 1, 2, 2), (1, 1, 3, 3))],
    ),
    "valid": (
        (1, -1, 3, 2),
        (1, -1, 7, 3),
        (2, 3),
        VALID,
        (3, 2),
        [((1, 5, 3, 2), (1, 14, 7, 3)), ((1, 2, 3, 2), (1, 6, 7, 3)), ((1, 1, 3, 2), (1, 2, 7, 3))],
    ),
    "far apart": (
        (1, 2, -1, 1),
        (1, 4, -1, 2),
        (2, 2),
        SAME,
        (2, 3),
        [((1, 2, 5, 1), (1, 4, 15, 2)), ((1, 2, 2, 1), (1, 4, 4, 2))],
    ),
}
WRONG: dict[str, tuple[Shape, Shape]] = {
    "same": ((1, 3, 5, 2), (1, 7, 10, 3)),
    "valid": ((1, 3, 3, 2), (1, 4, 7, 3)),
    "far apart": ((1, 2, 2, 1), (1, 4, 3, 2)),
}


@pytest.mark.parametrize("dtype", ["float32", "int8", "int16"])
@pytest.mark.parametrize("name", IMAGES)
def test_images(name: str, dtype: str, tmp_path: Path) -> None:
    shape, out, taps, padding, strides, sizes = IMAGES[name]
    cases: list[Any] = [[random_values(dtype, *before), ints(*after)] for before, after in (*sizes, sizes[0])]
    before, after = WRONG[name]
    cases.insert(1, ([random_values(dtype, *before), ints(*after)], ARGUMENT))
    agrees(_upsampled(dtype, shape, out, taps, padding, strides), tmp_path, cases, max_dim=3 * LARGEST_EXTENT)


def test_a_size_that_the_file_says(tmp_path: Path) -> None:
    """Then no other image fits, and the output is of that size."""
    data = _upsampled("float32", (1, -1, -1, 2), (1, 6, 4, 3), (3, 3), SAME, (2, 2), (1, 6, 4, 3))
    agrees(data, tmp_path, [[floats(1, 3, 2, 2)], ([floats(1, 4, 2, 2)], ARGUMENT)])


def test_the_size_follows_from_the_image(tmp_path: Path) -> None:
    """As converters write it: the image's dimensions twice over."""

    def build(g: SubgraphWriter) -> None:
        x, y = vary(g, "x", "float32", (1, -1, -1, 2)), vary(g, "y", "float32", (1, -1, -1, 3))
        shape, doubled = g.tensor("shape", "int32", [4]), g.tensor("doubled", "int32", [4])
        wanted = g.tensor("wanted", "int32", [4])
        (weights, bias), _ = _filter(g, "float32", (3, 3), (2, 3))
        g.operator("SHAPE", [x], [shape], {"out_type": 2})
        g.operator("MUL", [shape, g.constant("factors", ints(1, 2, 2, 1))], [doubled])
        g.operator("ADD", [doubled, g.constant("more", ints(0, 0, 0, 1))], [wanted])
        options = {"padding": SAME, "stride_h": 2, "stride_w": 2}
        g.operator("TRANSPOSE_CONV", [wanted, weights, x, bias], [y], options)
        g.inputs, g.outputs = [x], [y]

    agrees(one_graph(build), tmp_path, [[floats(1, *size, 2)] for size in ((5, 5), (1, 3), (4, 2))])
