"""ADD_N of floats as ADDs, one after the other, which computes the same sums in the same order.

TFLite Micro's int8 kernel of ADD_N is right where the zero point is 0 only, and wants one scale for all operands.
"""

from __future__ import annotations

from dataclasses import replace

from tflmgen.frontend import Operator, SubGraph
from tflmgen.ir import DType
from tflmgen.quantize.graph_writer import GraphWriter


def with_sum_chains(graph: SubGraph) -> SubGraph:
    """The subgraph with ADDs in place of each ADD_N of two or more float tensors."""
    if not any(_is_sum(op, graph) for op in graph.operators):
        return graph
    writer = GraphWriter(graph)
    for op in graph.operators:
        if _is_sum(op, graph):
            _write_chain(writer, op)
        else:
            writer.operators.append(op)
    return writer.finished()


def _is_sum(op: Operator, graph: SubGraph) -> bool:
    return op.name == "ADD_N" and len(op.inputs) > 1 and graph.tensors[op.outputs[0]].dtype is DType.FLOAT32


def _write_chain(writer: GraphWriter, op: Operator) -> None:
    result, total = writer.tensors[op.outputs[0]], op.inputs[0]
    for place, operand in enumerate(op.inputs[1:], 2):
        output = result.index
        if place < len(op.inputs):
            output = writer.like(result, f"first_{place}", result.shape)
            writer.tensors[output] = replace(writer.tensors[output], shape_signature=result.shape_signature)
        writer.add("ADD", (total, operand), output)
        total = output
