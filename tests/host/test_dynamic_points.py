"""GATHER_ND, SCATTER_ND and BROADCAST_TO of what is known at run time only: against LiteRT."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.dynamic_axes import ARGUMENT, BOUND, LARGEST_EXTENT, Shape, agrees, floats, ints, vary
from support.dynamic_models import one_graph
from support.model_writer import SubgraphWriter


def points(*sizes: int, below: Sequence[int]) -> Any:
    """Indices of these leading dimensions, each below its limit."""
    rng = np.random.default_rng(sum(sizes))
    return np.stack([rng.integers(0, limit, sizes) for limit in below], -1).astype(np.int32)


def _two(name: str, first: tuple[str, Shape], second: tuple[str, Shape], out: tuple[str, Shape]) -> bytes:
    def build(g: SubgraphWriter) -> None:
        inputs = [vary(g, called, *kind) for called, kind in (("a", first), ("b", second))]
        y = vary(g, "y", *out)
        g.operator(name, inputs, [y], {})
        g.inputs, g.outputs = inputs, [y]

    return one_graph(build)


GATHERS: dict[str, tuple[Shape, Shape, Shape, list[tuple[Shape, Shape]]]] = {
    "rows": ((-1, 3), (4, 1), (4, 3), [((5, 3), (4,)), ((2, 3), (4,))]),
    "points": ((-1, -1, 2), (-1, 2), (-1, 2), [((5, 4, 2), (5,)), ((2, 3, 2), (1,)), ((3, 1, 2), (0,))]),
    "what points pick": ((4, -1), (2, -1, 1), (2, -1, -1), [((4, 5), (2, 5)), ((4, 2), (2, 3))]),
}


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("name", GATHERS)
def test_gathered(name: str, dtype: str, tmp_path: Path) -> None:
    shape, indices, out, sizes = GATHERS[name]
    data = _two("GATHER_ND", (dtype, shape), ("int32", indices), (dtype, out))
    cases = []
    for table, lead in (*sizes, sizes[0]):
        values = floats(*table) if dtype == "float32" else np.round(floats(*table) * 40).astype(np.int8)
        cases.append([values, points(*lead, below=table[: indices[-1]])])
    agrees(data, tmp_path, cases)


def _scattered(indices: Shape, updates: Shape, out: Shape, size: Sequence[int] | None = None) -> bytes:
    """The size of the output is an input, or `size`."""

    def build(g: SubgraphWriter) -> None:
        first, second = vary(g, "points", "int32", indices), vary(g, "updates", "float32", updates)
        shape = g.tensor("shape", "int32", [len(out)]) if size is None else g.constant("shape", ints(*size))
        y = vary(g, "y", "float32", out)
        g.operator("SCATTER_ND", [first, second, shape], [y], {})
        g.inputs, g.outputs = [first, second, *([shape] if size is None else [])], [y]

    return one_graph(build)


def test_points_in_a_fixed_shape(tmp_path: Path) -> None:
    data = _scattered((-1, 2), (-1, 3), (4, 4, 3), (4, 4, 3))
    cases: list[Any] = [[points(n, below=(4, 4)), floats(n, 3)] for n in (LARGEST_EXTENT, 1, 3)]
    differing = ([points(3, below=(4, 4)), floats(2, 3)], ARGUMENT)
    agrees(data, tmp_path, [*cases, differing, cases[0]])


def test_points_in_two_dimensions(tmp_path: Path) -> None:
    data = _scattered((2, -1, 1), (2, -1), (4,), (4,))
    agrees(data, tmp_path, [[points(2, n, below=(4,)), floats(2, n)] for n in (LARGEST_EXTENT, 1, 4)])


def test_a_shape_from_the_run_time(tmp_path: Path) -> None:
    data = _scattered((-1, 1), (-1, -1), (-1, -1))
    cases: list[Any] = [
        [points(n, below=(rows,)), floats(n, width), ints(rows, width)]
        for n, width, rows in ((5, 5, 5), (2, 3, 4), (4, 1, 1))
    ]
    wrong: list[Any] = [
        ([points(2, below=(3,)), floats(2, 3), ints(3, 2)], ARGUMENT),
        ([points(2, below=(3,)), floats(2, 3), ints(6, 3)], BOUND),
    ]
    agrees(data, tmp_path, [*cases, *wrong, cases[0]])


def test_updates_of_fixed_width(tmp_path: Path) -> None:
    """Points are few and fixed, but what they hold varies; the output is as wide as it says."""
    data = _scattered((2, 1), (2, -1), (3, 4), (3, 4))
    table = points(2, below=(3,))
    agrees(data, tmp_path, [[table, floats(2, 4)], ([table, floats(2, 3)], ARGUMENT)])


def _broadcast(shape: Shape, out: Shape, size: Sequence[int] | None = None) -> bytes:
    def build(g: SubgraphWriter) -> None:
        x, y = vary(g, "x", "float32", shape), vary(g, "y", "float32", out)
        wanted = g.tensor("shape", "int32", [len(out)]) if size is None else g.constant("shape", ints(*size))
        g.operator("BROADCAST_TO", [x, wanted], [y], version=2)
        g.inputs, g.outputs = [x, *([wanted] if size is None else [])], [y]

    return one_graph(build)


def test_broadcast_to_a_fixed_shape(tmp_path: Path) -> None:
    data = _broadcast((-1, 1, 2), (3, 4, 4, 2), (3, 4, 4, 2))
    agrees(data, tmp_path, [[floats(4, 1, 2)], [floats(1, 1, 2)], ([floats(2, 1, 2)], ARGUMENT)])


def test_broadcast_to_a_shape_from_the_run_time(tmp_path: Path) -> None:
    data = _broadcast((-1, 1, -1), (-1, -1, 3, -1))
    cases: list[Any] = [
        [floats(first, 1, last), ints(*size)]
        for first, last, size in ((4, 2, (2, 4, 3, 2)), (1, 5, (1, 5, 3, 5)), (1, 1, (5, 2, 3, 4)))
    ]
    wrong: list[Any] = [
        ([floats(2, 1, 2), ints(1, 3, 3, 2)], ARGUMENT),
        ([floats(2, 1, 2), ints(6, 2, 3, 2)], BOUND),
    ]
    agrees(data, tmp_path, [*cases, *wrong, cases[0]])


def test_broadcast_to_the_shape_of_another(tmp_path: Path) -> None:
    def build(g: SubgraphWriter) -> None:
        x, other = vary(g, "x", "float32", (1, -1)), vary(g, "other", "float32", (-1, -1))
        shape, y = g.tensor("shape", "int32", [2]), vary(g, "y", "float32", (-1, -1))
        g.operator("SHAPE", [other], [shape], {"out_type": 2})
        g.operator("BROADCAST_TO", [x, shape], [y], version=2)
        g.inputs, g.outputs = [x, other], [y]

    sizes = [((1, 4), (3, 4)), ((1, 1), (2, 5)), ((1, 3), (1, 3))]
    agrees(one_graph(build), tmp_path, [[floats(*a), floats(*b)] for a, b in sizes])
