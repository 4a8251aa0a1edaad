"""State of an ONNX model as variables, written as TensorFlow's converter does: CALL_ONCE assigns the first values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import onnx

from tflmgen.frontend.onnx.laid_out import Graph, Value
from tflmgen.frontend.onnx.walk import Scope, Walker


def read_state(walker: Walker, graph: Graph, model: onnx.ModelProto, names: Iterable[str], scope: Scope) -> None:
    """Enters the state's values into the scope, read from variables that are made here."""
    first = walker.new_graph("initial_state")
    graph.builder.operator("CALL_ONCE", [], [], {"init_subgraph_index": first.index})
    values = {tensor.name: tensor for tensor in model.graph.initializer}
    for name in names:
        initial = walker.constant(values[name], first)
        first.builder.operator("ASSIGN_VARIABLE", [_handle(first, name), first.laid(initial)], [])
        read = graph.new_tensor(initial.dtype, initial.shape, name)
        graph.builder.operator("READ_VARIABLE", [_handle(graph, name)], [read])
        scope[name] = graph.value(read)


def write_state(graph: Graph, after: Mapping[str, Value]) -> None:
    """Assigns the next values, by the state's names. All are computed before the first is assigned."""
    tensors = {name: graph.laid(value) for name, value in after.items()}
    for name, tensor in tensors.items():
        graph.builder.operator("ASSIGN_VARIABLE", [_handle(graph, name), tensor], [])


def _handle(graph: Graph, name: str) -> int:
    handle = graph.builder.tensor(f"{name}:handle", None, ())
    graph.builder.operator("VAR_HANDLE", [], [handle], {"shared_name": name})
    return handle
