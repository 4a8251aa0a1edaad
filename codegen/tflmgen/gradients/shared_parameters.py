"""Parameters that the file has in several layouts: one constant, from which the others are computed at run time.

A front end lays a parameter out for each layer that reads it. Where a source uses a matrix and its transpose, as with
tied embeddings, both are one weight: they must not train apart.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from tflmgen.frontend.tflite import FileTensor
from tflmgen.gradients.flow_graph import FlowGraph, reachable
from tflmgen.gradients.graph_arithmetic import Arithmetic
from tflmgen.ir import DType

_MOST_AXES = 5
"""Rank up to which layouts are looked for among all orders of the axes."""


def share_parameters(entry: FlowGraph) -> None:
    """Computes constants of a graph, and of those that it runs, from the first one that was made of their parameter,
    where they have its elements in another order or shape."""
    first: dict[str, FileTensor] = {}
    for graph in reachable([entry]):
        moved: dict[int, int] = {}
        steps, graph.nodes = graph.nodes, []
        for index, tensor in enumerate(list(graph.tensors)):
            if tensor.data is None or tensor.dtype is not DType.FLOAT32 or len(tensor.parameters or ()) != 1:
                continue
            original = first.setdefault((tensor.parameters or ("",))[0], tensor)
            order = _order(original, tensor)
            if order is not None and (tensor.data, tensor.shape) != (original.data, original.shape):
                moved[index] = _moved(graph, original, order, tensor)
        for node in steps:
            node.inputs = [moved.get(index, index) for index in node.inputs]
        graph.outputs = [moved.get(index, index) for index in graph.outputs]
        graph.nodes += steps


def _order(original: FileTensor, tensor: FileTensor) -> tuple[int, ...] | None:
    """The order of the original's axes in which its elements are those of a tensor; None if there is none."""
    if len(original.data or b"") != len(tensor.data or b"") or len(original.shape) > _MOST_AXES:
        return None
    elements = np.frombuffer(original.data or b"", np.float32).reshape(original.shape)
    orders = permutations(range(len(original.shape)))
    return next((order for order in orders if elements.transpose(order).tobytes() == tensor.data), None)


def _moved(graph: FlowGraph, original: FileTensor, order: tuple[int, ...], tensor: FileTensor) -> int:
    """Adds the operators that give the original's elements the layout of a tensor; their result."""
    a, value = Arithmetic(graph), graph.copy_tensor(original)
    if order != tuple(range(len(order))):
        value = a.transpose(value, order)
    return value if a.shape(value) == tensor.shape else a.reshape(value, tensor.shape)
