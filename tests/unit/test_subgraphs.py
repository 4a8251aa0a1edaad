"""Call order, and which subgraphs touch variables."""

from __future__ import annotations

import pytest
from support.model_writer import ModelWriter
from tflmgen.errors import ModelError
from tflmgen.frontend.kept_state import assigning_subgraphs, stateful_subgraphs
from tflmgen.frontend.model_graph.subgraphs import call_order
from tflmgen.frontend.tflite.model import Model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.kernels.table import OPERATORS


def calls(*edges: tuple[int, ...]) -> Model:
    """A model whose subgraph i calls those of edges[i]."""
    writer = ModelWriter()
    for index, targets in enumerate(edges):
        graph = writer.subgraph(f"g{index}")
        for target in targets:
            graph.operator("CALL", [], [], {"subgraph": target})
    return parse_model(writer.finish(), "m.tflite")


@pytest.mark.parametrize(
    ("edges", "order"),
    [
        (((),), (0,)),
        (((1, 2), (2,), ()), (2, 1, 0)),
        (((1, 1), ()), (1, 0)),
        (((2,), (), ()), (2, 0)),
        (((1, 2), (3,), (3,), ()), (3, 1, 2, 0)),
    ],
)
def test_callees_come_first(edges: tuple[tuple[int, ...], ...], order: tuple[int, ...]) -> None:
    assert call_order(calls(*edges), [0]) == order


def test_several_entries_share_what_they_call() -> None:
    assert call_order(calls((2,), (2,), ()), [0, 1]) == (2, 0, 1)


def test_long_chains_need_no_stack() -> None:
    depth = 3000
    chain = calls(*((i + 1,) for i in range(depth)), ())
    assert call_order(chain, [0]) == tuple(range(depth, -1, -1))


@pytest.mark.parametrize(
    ("edges", "chain"),
    [
        (((0,),), "'g0' -> 'g0'"),
        (((1,), (2,), (1,)), "'g1' -> 'g2' -> 'g1'"),
        (((1, 2), (), (3,), (0,)), "'g0' -> 'g2' -> 'g3' -> 'g0'"),
    ],
)
def test_recursion(edges: tuple[tuple[int, ...], ...], chain: str) -> None:
    with pytest.raises(ModelError, match=f"calls itself: {chain}. Recursion"):
        call_order(calls(*edges), [0])


def test_recursion_out_of_reach_does_not_matter() -> None:
    assert call_order(calls((), (1,)), [0]) == (0,)


def test_what_touches_variables() -> None:
    writer = ModelWriter()
    graphs = [writer.subgraph(f"g{i}") for i in range(5)]
    for graph in graphs[2:4]:
        handle = graph.tensor("h", "resource", [])
        graph.operator("VAR_HANDLE", [], [handle], {"container": "", "shared_name": "v"})
        if graph is graphs[2]:
            graph.operator("READ_VARIABLE", [handle], [graph.tensor("x", "int32", [1])])
        else:
            graph.operator("ASSIGN_VARIABLE", [handle, graph.tensor("x", "int32", [1])], [])
            graph.inputs = [1]
    graphs[0].operator("CALL", [], [], {"subgraph": 1})
    graphs[1].operator("CALL", [], [], {"subgraph": 2})
    graphs[4].operator("CALL", [], [], {"subgraph": 3})
    model = parse_model(writer.finish(), "m.tflite")
    assert stateful_subgraphs(model, OPERATORS) == {0, 1, 2, 3, 4}
    assert assigning_subgraphs(model, OPERATORS) == {3, 4}
