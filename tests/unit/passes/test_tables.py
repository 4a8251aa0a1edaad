"""Tables are dequantised row by row, after the rows are picked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.model_writer import ModelWriter
from support.native import Invocation, build_native, run_native
from support.pipeline import Stages, compile_bytes
from tflmgen.ir.graph.module import Op, walk

ROWS, WIDTH = 40, 6
RNG = np.random.default_rng(4)


def lookup(picks: int = 5, tied: bool = False, operator: str = "GATHER", **stored: Any) -> Stages:
    """Rows of a table that DEQUANTIZE widens, picked at run time; `tied`: the table is a matrix as well."""
    writer = ModelWriter()
    graph = writer.subgraph("main")
    table, wide = graph.constant("table", **stored), graph.tensor("wide", "float32", [ROWS, WIDTH])
    graph.operator("DEQUANTIZE", [table], [wide], {})
    indices, rows = graph.tensor("indices", "int32", [picks]), graph.tensor("rows", "float32", [picks, WIDTH])
    options = {"axis": 0} if operator == "GATHER" else {}
    graph.operator(operator, [wide, indices] if operator == "GATHER" else [indices, wide], [rows], options)
    graph.inputs, graph.outputs = [indices], [rows]
    if tied:
        scores = graph.tensor("scores", "float32", [picks, ROWS])
        graph.operator("FULLY_CONNECTED", [rows, wide, -1], [scores], {})
        graph.outputs = [rows, scores]
    return compile_bytes(bytes(writer.finish()))


def operators(stages: Stages) -> list[str]:
    return [node.operator for node in walk(stages.module.functions[0].body) if isinstance(node, Op)]


HALF: dict[str, Any] = {"values": RNG.normal(size=(ROWS, WIDTH)).astype(np.float16), "dtype": "float16"}
INT8: dict[str, Any] = {
    "values": RNG.integers(-128, 128, (ROWS, WIDTH)).astype(np.int8),
    "dtype": "int8",
    "scale": [0.1],
}
BY_ROW = INT8 | {"scale": [0.1] * ROWS, "zero_point": [0] * ROWS}


@pytest.mark.parametrize("operator", ["GATHER", "EMBEDDING_LOOKUP"])
@pytest.mark.parametrize(("stored", "factor"), [(HALF, 1.0), (INT8 | {"zero_point": [3]}, 0.1)])
def test_rows_are_picked_first(stored: dict[str, Any], factor: float, operator: str) -> None:
    stages = lookup(operator=operator, **stored)
    assert operators(stages) == [operator, "DEQUANTIZE"]
    picks = np.array([7, 0, 39, 7, 12], np.int32)
    program = build_native({"m": stages.sources("m")})
    ((rows,),) = run_native(program, [Invocation(0, 0, (picks,))], [stages.program.signatures])
    wide = stored["values"].astype(np.float32) - np.float32(stored.get("zero_point", [0])[0])
    np.testing.assert_array_equal(rows, wide[picks] * np.float32(factor))


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        ({"tied": True}, ["GATHER", "FULLY_CONNECTED"]),
        ({"picks": ROWS + 1}, ["GATHER"]),
        (BY_ROW, ["GATHER"]),
    ],
)
def test_or_the_table_is_dequantised_at_compile_time(changes: dict[str, Any], left: list[str]) -> None:
    assert operators(lookup(**(HALF | changes))) == left
