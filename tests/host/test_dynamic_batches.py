"""SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND of what is known at run time only: against LiteRT."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.dynamic_axes import ARGUMENT, BOUND, Shape, agrees, floats, ints, numbers_of, vary
from support.dynamic_models import one_graph
from support.model_writer import SubgraphWriter

QUANTIZED: dict[str, Any] = {"scale": [0.1], "zero_point": [-5]}


def _there_and_back(shape: Shape, block: Sequence[int], edges: Sequence[Sequence[int]], dtype: str) -> bytes:
    """To batches, a rectifier that keeps the parts apart, and back: both are outputs."""

    def build(g: SubgraphWriter) -> None:
        more = QUANTIZED if dtype == "int8" else {}
        size = int(np.prod(block))
        spaces = range(1, len(block) + 1)
        inner: list[int] = [d if d < 0 or a not in spaces else -1 for a, d in enumerate(shape)]
        inner[0] = -1 if shape[0] < 0 else shape[0] * size
        for axis, (b, (before, after)) in enumerate(zip(block, edges, strict=True), start=1):
            inner[axis] = -1 if shape[axis] < 0 else (shape[axis] + before + after) // b
        x, parts, kept, back = (
            vary(g, name, dtype, sizes, **more)
            for name, sizes in (("x", shape), ("parts", inner), ("kept", inner), ("back", shape))
        )
        blocks, table = g.constant("block", ints(*block)), g.constant("edges", np.array(edges, np.int32))
        g.operator("SPACE_TO_BATCH_ND", [x, blocks, table], [parts])
        g.operator("RELU", [parts], [kept])
        g.operator("BATCH_TO_SPACE_ND", [kept, blocks, table], [back])
        g.inputs, g.outputs = [x], [parts, back]

    return one_graph(build)


CASES: dict[str, tuple[Shape, Sequence[int], Sequence[Sequence[int]], list[Shape], Shape]] = {
    "time": ((1, -1, 3), (2,), ((2, 1),), [(1, 5, 3), (1, 1, 3), (1, 3, 3)], (1, 4, 3)),
    "time and batch": ((-1, -1, 3), (3,), ((1, 0),), [(2, 5, 3), (5, 2, 3), (1, 2, 3)], (2, 4, 3)),
    "height": ((2, -1, 4, 3), (2, 2), ((1, 1), (0, 2)), [(2, 4, 4, 3), (2, 2, 4, 3)], (2, 3, 4, 3)),
    "width and batch": ((-1, 3, -1, 2), (3, 2), ((0, 0), (1, 1)), [(4, 3, 4, 2), (1, 3, 2, 2)], (2, 3, 3, 2)),
    "channels": ((1, 4, -1), (2,), ((0, 0),), [(1, 4, 5), (1, 4, 2)], (1, 4, 6)),
}
"""Name -> shape, block, edges, shapes that fit, one that doesn't."""


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("name", CASES)
def test_there_and_back(name: str, dtype: str, tmp_path: Path) -> None:
    shape, block, edges, sizes, wrong = CASES[name]
    cases: list[Any] = [[numbers_of(dtype, *size)] for size in sizes]
    if name != "channels":
        cases.append(([numbers_of(dtype, *wrong)], ARGUMENT))
    agrees(_there_and_back(shape, block, edges, dtype), tmp_path, [*cases, cases[0]])


def _run_time(shape: Shape, inner: Shape, out: Shape) -> bytes:
    """The tables of paddings and crops are inputs, as converters compute them for SAME padding of open sequences."""

    def build(g: SubgraphWriter) -> None:
        count = len(shape) - 2
        x, pads, crops = vary(g, "x", "float32", shape), *(g.tensor(n, "int32", [count, 2]) for n in ("pads", "crops"))
        parts, back = vary(g, "parts", "float32", inner), vary(g, "back", "float32", out)
        block = g.constant("block", ints(*[2] * count))
        g.operator("SPACE_TO_BATCH_ND", [x, block, pads], [parts])
        g.operator("BATCH_TO_SPACE_ND", [parts, block, crops], [back])
        g.inputs, g.outputs = [x, pads, crops], [parts, back]

    return one_graph(build)


def table(*rows: tuple[int, int]) -> Any:
    return np.array(rows, np.int32)


def test_edges_from_the_run_time(tmp_path: Path) -> None:
    data = _run_time((-1, -1, 3), (-1, -1, 3), (-1, -1, 3))
    cases: list[Any] = [
        [floats(1, 5, 3), table((2, 3)), table((0, 3))],
        [floats(2, 4, 3), table((0, 0)), table((1, 2))],
        [floats(1, 1, 3), table((1, 0)), table((0, 0))],
    ]
    wrong: list[Any] = [
        ([floats(1, 5, 3), table((0, 0)), table((0, 0))], ARGUMENT),
        ([floats(1, 3, 3), table((-1, 0)), table((0, 0))], ARGUMENT),
        ([floats(1, 2, 3), table((0, 0)), table((2, 1))], ARGUMENT),
        ([floats(1, 5, 3), table((5, 6)), table((0, 0))], BOUND),
    ]
    agrees(data, tmp_path, [*cases, *wrong, cases[0]])


def test_a_width_that_stays(tmp_path: Path) -> None:
    """The tables are from the run time, but the file says how wide the images become."""
    data = _run_time((1, -1, 3, 2), (4, -1, 2, 2), (1, -1, 3, 2))
    cases: list[Any] = [
        [floats(1, 3, 3, 2), table((1, 0), (0, 1)), table((0, 1), (1, 0))],
        [floats(1, 4, 3, 2), table((1, 3), (1, 0)), table((0, 0), (1, 0))],
    ]
    agrees(data, tmp_path, [*cases, ([floats(1, 4, 3, 2), table((0, 0), (0, 3)), table((0, 0), (0, 0))], ARGUMENT)])


def test_dilated_convolutions_of_a_sequence(tmp_path: Path) -> None:
    """What a temporal convolutional network is to older converters."""

    def build(g: SubgraphWriter) -> None:
        x = vary(g, "x", "float32", (1, -1, 1, 3))
        before = x
        for rate in (2, 4):
            reach = 2 * rate
            padded, parts, product, back = (
                vary(g, f"{name}{rate}", "float32", shape)
                for name, shape in (
                    ("padded", (1, -1, 1, 3)),
                    ("parts", (rate, -1, 1, 3)),
                    ("made", (rate, -1, 1, 3)),
                    ("back", (1, -1, 1, 3)),
                )
            )
            weights = g.constant(f"w{rate}", floats(3, 3, 1, 3))
            block, none = g.constant(f"b{rate}", ints(rate, 1)), g.constant(f"n{rate}", table((0, 0), (0, 0)))
            pads = g.constant(f"p{rate}", table((0, 0), (reach, 0), (0, 0), (0, 0)))
            g.operator("PAD", [before, pads], [padded])
            g.operator("SPACE_TO_BATCH_ND", [padded, block, none], [parts])
            g.operator(
                "CONV_2D",
                [parts, weights, g.constant(f"o{rate}", floats(3))],
                [product],
                {"padding": 1, "stride_h": 1, "stride_w": 1},
            )
            g.operator("BATCH_TO_SPACE_ND", [product, block, none], [back])
            before = back
        g.inputs, g.outputs = [x], [before]

    agrees(one_graph(build), tmp_path, [[floats(1, n, 1, 3)] for n in (16, 4, 8)], max_dim=16)
