"""Operators that move, compare or sum up what lies along a dimension known at run time only: against LiteRT."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.dynamic_axes import (
    ARGUMENT,
    BOUND,
    LARGEST_EXTENT,
    Shape,
    agrees,
    compiled,
    floats,
    ints,
    numbers_of,
    outputs_of,
    vary,
)
from support.dynamic_models import one_graph
from support.model_writer import SubgraphWriter

QUANTIZED = {"scale": [0.1], "zero_point": [-5]}


def graph(shape: Shape, dtype: str, *operators: tuple[str, Any, Sequence[Shape], dict[str, Any]]) -> bytes:
    """x through each of the operators: its name, constants (before x those in a tuple), output shapes, options."""

    def build(g: SubgraphWriter) -> None:
        more = QUANTIZED if dtype == "int8" else {}
        x = vary(g, "x", dtype, shape, **more)
        for number, (name, constants, outputs, options) in enumerate(operators):
            others = [g.constant(f"c{number}_{i}", np.array(c)) for i, c in enumerate(constants)]
            types = ("int32" if name == "TOPK_V2" and index else dtype for index in range(len(outputs)))
            result_tensors = [
                vary(g, f"y{number}_{i}", kind, out, **({} if kind == "int32" else more))
                for i, (kind, out) in enumerate(zip(types, outputs, strict=True))
            ]
            g.operator(name, [*others, x] if name == "SPLIT" else [x, *others], result_tensors, options)
            g.outputs += result_tensors
        g.inputs = [x]

    return one_graph(build)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_rows_that_are_moved(dtype: str, tmp_path: Path) -> None:
    shape = (2, -1, 3)
    pads = np.array([[1, 0], [2, 1], [0, 2]], np.int32)
    data = graph(
        shape,
        dtype,
        ("REVERSE_V2", [ints(1)], [shape], {}),
        ("MIRROR_PAD", [pads], [(3, -1, 5)], {"mode": 0}),
        ("MIRROR_PAD", [pads], [(3, -1, 5)], {"mode": 1}),
        ("TILE", [ints(1, 3, 2)], [(2, -1, 6)], {}),
        ("TOPK_V2", [np.int32(2)], [(2, -1, 2)] * 2, {}),
        ("SPLIT_V", [ints(1, -1, 1), np.int32(1)], [(2, 1, 3), (2, -1, 3), (2, 1, 3)], {"num_splits": 3}),
        ("SPLIT_V", [ints(-1, 2), np.int32(1)], [(2, -1, 3), (2, 2, 3)], {"num_splits": 2}),
    )
    cases: list[Any] = [[numbers_of(dtype, 2, n, 3)] for n in (LARGEST_EXTENT, 3, 4)]
    agrees(data, tmp_path, [*cases, ([numbers_of(dtype, 2, 2, 3)], ARGUMENT), cases[1]])


def test_both_dimensions_of_a_matrix_are_turned_round(tmp_path: Path) -> None:
    data = graph(
        (-1, -1), "float32", ("REVERSE_V2", [ints(0)], [(-1, -1)], {}), ("REVERSE_V2", [ints(1)], [(-1, -1)], {})
    )
    agrees(data, tmp_path, [[floats(n, m)] for n, m in ((4, 3), (0, 2), (1, 5))])


def test_equal_parts(tmp_path: Path) -> None:
    options = {"num_splits": 2}
    data = graph((2, -1), "float32", ("SPLIT", [np.int32(1)], [(2, -1)] * 2, options))
    odd = ([floats(2, 3)], ARGUMENT)
    agrees(data, tmp_path, [[floats(2, 4)], odd, [floats(2, 0)], [floats(2, 2)]])


def test_as_many_rows_as_outputs(tmp_path: Path) -> None:
    data = graph((2, -1), "float32", ("UNPACK", [], [(2,)] * 3, {"axis": 1, "num": 3}))
    wrong = [([floats(2, n)], ARGUMENT) for n in (2, 4)]
    agrees(data, tmp_path, [[floats(2, 3)], *wrong])


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_the_greatest_along_the_dimension(dtype: str, tmp_path: Path) -> None:
    data = graph((2, -1), dtype, ("TOPK_V2", [np.int32(3)], [(2, 3)] * 2, {}))
    small = np.full((2, 4), -np.inf, np.float32) if dtype == "float32" else np.full((2, 4), -128, np.int8)
    cases: list[Any] = [[numbers_of(dtype, 2, n)] for n in (LARGEST_EXTENT, 3)]
    agrees(data, tmp_path, [*cases, [small], ([numbers_of(dtype, 2, 2)], ARGUMENT)])


def test_the_greatest_of_nothing_but_infinities(tmp_path: Path) -> None:
    def build(g: SubgraphWriter) -> None:
        x, y = vary(g, "x", "float32", (2, -1)), g.tensor("y", "int32", [2])
        g.operator("ARG_MAX", [x, g.constant("axis", np.int32(1))], [y], {"output_type": 2})
        g.inputs, g.outputs = [x], [y]

    low = np.full((2, 3), -np.inf, np.float32)
    agrees(one_graph(build), tmp_path, [[low], [floats(2, 4)], ([floats(2, 0)], ARGUMENT)])


def test_blocks_of_pixels(tmp_path: Path) -> None:
    block = {"block_size": 2}
    data = graph(
        (-1, -1, -1, 4),
        "int8",
        ("DEPTH_TO_SPACE", [], [(-1, -1, -1, 1)], block),
        ("SPACE_TO_DEPTH", [], [(-1, -1, -1, 16)], block),
    )
    cases: list[Any] = [[numbers_of("int8", *size, 4)] for size in ((2, 4, 4), (1, 2, 4), (2, 4, 2), (1, 0, 2))]
    agrees(data, tmp_path, [*cases, ([numbers_of("int8", 1, 3, 4, 4)], ARGUMENT), cases[1]])


# -- integers along the dimension


def _quantized(shape: Shape, out: Shape, name: str, options: dict[str, Any], kind: str, *constants: Any) -> bytes:
    special = {
        "SOFTMAX int8": ([1 / 256], [-128]),
        "SOFTMAX int16": ([1 / 32768], [0]),
        "LOG_SOFTMAX int8": ([1 / 16], [127]),
    }

    def build(g: SubgraphWriter) -> None:
        inputs = {"int8": ([0.1], [-5]), "int16": ([0.001], [0]), "int32": (None, None)}[kind]
        x = vary(g, "x", kind, shape, scale=inputs[0], zero_point=inputs[1])
        rest = [g.constant(f"c{i}", np.array(c)) for i, c in enumerate(constants)]
        scale, zero = special.get(f"{name} {kind}", ([0.07], [3 if kind == "int8" else 0]))
        more = {} if kind == "int32" else {"scale": scale, "zero_point": zero}
        y = vary(g, "y", kind, out, **more)
        g.operator(name, [x, *rest], [y], options)
        g.inputs, g.outputs = [x], [y]

    return one_graph(build)


INTEGERS: dict[str, tuple[Shape, Shape, str, dict[str, Any], tuple[str, ...], tuple[Any, ...]]] = {
    "softmax": ((2, -1), (2, -1), "SOFTMAX", {"beta": 1.0}, ("int8", "int16"), ()),
    "softmax of many": ((-1, -1), (-1, -1), "SOFTMAX", {"beta": 0.5}, ("int8",), ()),
    "log softmax": ((2, -1), (2, -1), "LOG_SOFTMAX", {}, ("int8",), ()),
    "mean": ((2, -1, 3), (2, 3), "MEAN", {"keep_dims": False}, ("int8", "int16", "int32"), (ints(1),)),
    "mean of an image": ((-1, -1, -1, 3), (-1, 1, 1, 3), "MEAN", {"keep_dims": True}, ("int8",), (ints(1, 2),)),
}


def numbers(kind: str, *shape: int) -> Any:
    least, greatest = (-128, 127) if kind == "int8" else (-30000, 30000)
    return np.round(floats(*shape) * (4000 if kind == "int16" else 50)).clip(least, greatest).astype(kind)


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, row in INTEGERS.items() for kind in row[4]])
def test_integers(name: str, kind: str, tmp_path: Path) -> None:
    shape, out, operator, options, _, constants = INTEGERS[name]
    cases: list[Any] = []
    for size in ((LARGEST_EXTENT,) * 3, (2, 3, 1), (1, 1, 4), (3, 4, 2)):
        sizes = iter(size)
        cases.append([numbers(kind, *(next(sizes) if d < 0 else d for d in shape))])
    if name == "mean":
        cases.append([numbers(kind, 2, 0, 3)])
    agrees(_quantized(shape, out, operator, options, kind, *constants), tmp_path, [*cases, cases[0]])


@pytest.mark.parametrize("kind", ["int8", "int16"])
def test_sums_are_those_of_a_fixed_size(kind: str, tmp_path: Path) -> None:
    """LiteRT's quantised SUM is another one than TFLite Micro's, which the one of a fixed size equals."""
    options, axis = {"keep_dims": False}, ints(1)
    dynamic = compiled(_quantized((2, -1, -1), (2, -1), "SUM", options, kind, axis), tmp_path, max_dim=LARGEST_EXTENT)
    for n, m in ((LARGEST_EXTENT, LARGEST_EXTENT), (2, 3), (1, 4)):
        data = _quantized((2, n, m), (2, m), "SUM", options, kind, axis)
        fixed = compiled(data, tmp_path)
        array = numbers(kind, 2, n, m)
        (mine,), (theirs,) = (outputs_of(compilation, array) for compilation in (dynamic, fixed))
        assert np.array_equal(mine, theirs)


# -- operands from the run time


def _run_time(name: str, shape: Shape, out: Shape, table: Shape) -> bytes:
    def build(g: SubgraphWriter) -> None:
        x, numbers = vary(g, "x", "float32", shape), g.tensor("numbers", "int32", table)
        y = vary(g, "y", "float32", out)
        g.operator(name, [x, numbers], [y], {})
        g.inputs, g.outputs = [x, numbers], [y]

    return one_graph(build)


def test_paddings_from_the_run_time(tmp_path: Path) -> None:
    data = _run_time("PAD", (2, -1, 3), (2, -1, -1), (3, 2))
    cases: list[Any] = []
    for n, pads in ((2, [[0, 0], [1, 2], [0, 0]]), (5, [[0, 0], [0, 0], [1, 1]]), (1, [[0, 0], [3, 1], [2, 0]])):
        cases.append([floats(2, n, 3), np.array(pads, np.int32)])
    beyond = ([floats(2, 4, 3), np.array([[0, 0], [1, 1], [0, 0]], np.int32)], BOUND)
    negative = ([floats(2, 4, 3), np.array([[0, 0], [-1, 1], [0, 0]], np.int32)], BOUND)
    agrees(data, tmp_path, [*cases, beyond, negative, cases[0]], max_dim=LARGEST_EXTENT)


@pytest.mark.parametrize("shape", [(2, -1), (2, 2)], ids=str)
def test_multiples_from_the_run_time(shape: Shape, tmp_path: Path) -> None:
    data = _run_time("TILE", shape, (-1, -1), (2,))
    cases: list[Any] = [[floats(2, 2), ints(1, 3)], [floats(2, 2), ints(2, 1)], [floats(2, 2), ints(3, 0)]]
    agrees(data, tmp_path, [*cases, ([floats(2, 2), ints(1, 4)], BOUND), cases[0]], max_dim=6)


# -- one meets many


def test_one_row_meets_many(tmp_path: Path) -> None:
    def build(g: SubgraphWriter) -> None:
        x, y = vary(g, "x", "float32", (2, -1, -1)), vary(g, "y", "float32", (-1, -1))
        z, fixed = vary(g, "z", "float32", (2, -1, -1)), vary(g, "fixed", "float32", (2, 4, -1))
        both = vary(g, "both", "bool", (2, -1, -1))
        g.operator("ADD", [x, y], [z])
        g.operator("MUL", [x, g.constant("four", floats(4, 1))], [fixed])
        g.operator("LESS", [x, y], [both])
        g.inputs, g.outputs = [x, y], [z, fixed, both]

    pairs = [((4, 3), (1, 3)), ((1, 3), (4, 1)), ((1, 1), (3, 2)), ((4, 2), (4, 2)), ((1, 0), (0, 1))]
    cases: list[Any] = [[floats(2, *first), floats(*second)] for first, second in pairs]
    wrong: list[Any] = [
        ([floats(2, *first), floats(*second)], ARGUMENT)
        for first, second in [((4, 3), (3, 3)), ((4, 0), (2, 1)), ((2, 2), (1, 1))]
    ]
    agrees(one_graph(build), tmp_path, [*cases, *wrong, cases[0]])
