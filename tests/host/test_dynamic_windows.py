"""Filters and pools over images whose height and width are known at run time only: against LiteRT."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.dynamic_axes import ARGUMENT, Shape, agrees, vary
from support.dynamic_models import one_graph
from support.model_writer import SubgraphWriter
from support.sampling import sampled
from support.sliding_models import filters, pools, quantized

SIZES = ((9, 11), (5, 6), (6, 5), (8, 9), (5, 11), (9, 7), (7, 8))
"""Heights and widths into which every window fits, dilated ones too; the first is the largest."""


FILTERS = list(
    product(["CONV_2D", "DEPTHWISE_CONV_2D"], ["int8 int8", "float32 float32", "float32 int8", "int16 int8"])
)
POOLS = list(product(["AVERAGE_POOL_2D", "MAX_POOL_2D"], ["int8", "int16", "float32"]))


def images(dtype: str, shape: Shape, sizes: Any = SIZES) -> list[list[Any]]:
    """Each of the sizes once, and the first again: nothing is left over from a call."""
    rng = np.random.default_rng(1)
    cases = []
    for number, size in enumerate([*sizes, sizes[0]]):
        sides = iter(size)
        full = [number % 2 + 1 if shape[0] < 0 else shape[0], *(next(sides) if d < 0 else d for d in shape[1:3])]
        values = rng.normal(size=[*full, shape[3]])
        scaled = values if dtype == "float32" else np.clip(np.round(values * 50), -128, 127)
        cases.append([scaled.astype(dtype)])
    return cases


def bound(shape: Shape) -> dict[str, Any]:
    sides = iter(SIZES[0])
    dims = [2 if shape[0] < 0 else shape[0], *(next(sides) if d < 0 else d for d in shape[1:3]), shape[3]]
    return {"max_shape": [f"x={','.join(map(str, dims))}"]}


@pytest.mark.parametrize(("name", "types"), sampled(FILTERS, 3))
def test_filters(name: str, types: str, tmp_path: Path) -> None:
    dtype, weights = types.split()
    shape = (1, -1, -1, 3)
    agrees(filters(name, dtype, shape, weights), tmp_path, images(dtype, shape), **bound(shape))


@pytest.mark.parametrize("shape", [(-1, -1, 8, 2), (-1, -1, -1, 4)], ids=str)
def test_filters_along_some_dimensions(shape: Shape, tmp_path: Path) -> None:
    agrees(filters("CONV_2D", "int8", shape, "int8"), tmp_path, images("int8", shape), **bound(shape))


def test_filters_along_the_width(tmp_path: Path) -> None:
    shape = (2, 9, -1, 2)
    widths = [(width,) for _, width in SIZES]
    data = filters("DEPTHWISE_CONV_2D", "int8", shape, "int8")
    agrees(data, tmp_path, images("int8", shape, widths), max_shape=["x=2,9,11,2"])


@pytest.mark.parametrize(("name", "dtype"), sampled(POOLS, 2))
def test_pools(name: str, dtype: str, tmp_path: Path) -> None:
    shape = (-1, -1, -1, 3)
    agrees(pools(name, dtype, shape), tmp_path, images(dtype, shape), **bound(shape))


def test_roots_of_mean_squares(tmp_path: Path) -> None:
    shape = (-1, -1, -1, 3)
    agrees(pools("L2_POOL_2D", "float32", shape), tmp_path, images("float32", shape), **bound(shape))


SAMPLINGS: tuple[dict[str, bool], ...] = ({}, {"align_corners": True}, {"half_pixel_centers": True})


def resizes(name: str, dtype: str, sizes: Any) -> bytes:
    """x to a fixed size and, times two and three, to one computed of its own, by each kind of sampling."""

    def build(g: SubgraphWriter) -> None:
        more = quantized(dtype)
        x = vary(g, "x", dtype, (1, -1, -1, 3), **more)
        shape, size, twice = (g.tensor(n, "int32", [k]) for n, k in (("shape", 4), ("size", 2), ("twice", 2)))
        g.operator("SHAPE", [x], [shape], {"out_type": 2})
        bounds = [g.constant(f"b{i}", np.array([n], np.int32)) for i, n in enumerate((1, 3, 1))]
        g.operator("STRIDED_SLICE", [shape, *bounds], [size], {})
        g.operator("MUL", [size, g.constant("factors", np.array([2, 3], np.int32))], [twice])
        fixed = g.constant("fixed", np.array(sizes, np.int32))
        for number, sampling in enumerate(SAMPLINGS):
            out = (
                vary(g, f"f{number}", dtype, (1, *sizes, 3), **more),
                vary(g, f"y{number}", dtype, (1, -1, -1, 3), **more),
            )
            g.operator(name, [x, fixed], [out[0]], sampling)
            g.operator(name, [x, twice], [out[1]], sampling)
            g.outputs += out
        g.inputs = [x]

    return one_graph(build)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("RESIZE_NEAREST_NEIGHBOR", "int8"), *(("RESIZE_BILINEAR", dtype) for dtype in ("int8", "int16", "float32"))],
)
def test_resized_images(name: str, dtype: str, tmp_path: Path) -> None:
    shape = (1, -1, -1, 3)
    cases: list[Any] = images(dtype, shape, (*SIZES, (1, 1), (1, 4)))
    empty = ([np.zeros((1, 0, 2, 3), dtype)], ARGUMENT)
    agrees(resizes(name, dtype, (6, 7)), tmp_path, [*cases, empty, cases[0]], **bound(shape))
