"""ADD_N of floats becomes ADDs before quantisation."""

from __future__ import annotations

from tflmgen.frontend.model_graph import rewrite_subgraph
from tflmgen.frontend.tflite import ModelBuilder, SubGraph
from tflmgen.ir import DType
from tflmgen.quantize.float_rules import sum_chain


def sum_of(count: int, dtype: DType) -> SubGraph:
    graph = ModelBuilder().subgraph("main")
    operands = [graph.tensor(f"x{i}", dtype, (2, 3)) for i in range(count)]
    graph.operator("ADD_N", operands, [graph.tensor("y", dtype, (2, 3))], {})
    return graph.build()


def test_operands_are_added_in_order() -> None:
    chain = rewrite_subgraph(sum_of(3, DType.FLOAT32), sum_chain)
    assert [(op.index, op.name, op.inputs, op.outputs) for op in chain.operators] == [
        (0, "ADD", (0, 1), (4,)),
        (1, "ADD", (4, 2), (3,)),
    ]
    assert chain.tensors[4].shape == (2, 3)


def test_integers_and_single_operands_stay() -> None:
    for graph in (sum_of(3, DType.INT32), sum_of(1, DType.FLOAT32)):
        assert rewrite_subgraph(graph, sum_chain) is graph
