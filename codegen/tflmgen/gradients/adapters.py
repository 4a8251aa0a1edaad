"""Low-rank adapters: layers y = W x + b become W x + B (A x) + b, of which A and B train (LoRA, Hu et al. 2021).

A begins with normal numbers of variance 1 / inputs, and B with zeros: at first the model computes what it did. The
paper's factor alpha / rank is 1.
"""

from __future__ import annotations

import math

import numpy as np

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.tflite import FileTensor
from tflmgen.gradients.flow_graph import FlowGraph, FlowNode, reachable
from tflmgen.ir import DType
from tflmgen.kernels import traits_of

ADAPTERS = ("*/lora_a", "*/lora_b")
"""Patterns of the names of all adapters."""

_SEED = 0
"""Seed of the numbers of A: a model gets the same file each time."""


def add_adapters(entry: FlowGraph, rank: int, model: str) -> None:
    """Gives adapters of at most this rank to the float layers of a graph, and of those that it runs, whose weights are
    one matrix. Raises ModelError if it has none."""
    numbers, count = np.random.default_rng(_SEED), 0
    for graph in reachable([entry]):
        nodes, graph.nodes = graph.nodes, []
        for node in nodes:
            graph.nodes.append(node)
            if _is_adaptable(graph, node):
                _adapt(graph, node, rank, numbers)
                count += 1
    if not count:
        rule = "adapters require layers of float32 with a constant matrix: FULLY_CONNECTED, or CONV_2D with 1x1 filters"
        raise ModelError([Problem(Location(model), rule, "")])


def _is_adaptable(graph: FlowGraph, node: FlowNode) -> bool:
    roles = traits_of(node.name).roles
    if roles.weights is None or roles.scale_axis != 0 or roles.shapes or not graph.is_float(node.inputs[roles.data]):
        return False
    weights = graph.tensors[node.inputs[roles.weights]]
    *taps, depth = weights.shape[1:]
    is_grouped = bool(taps) and graph.shape(node.inputs[roles.data])[-1] != depth
    return weights.dtype is DType.FLOAT32 and weights.data is not None and math.prod(taps) == 1 and not is_grouped


def _adapt(graph: FlowGraph, node: FlowNode, rank: int, numbers: np.random.Generator) -> None:
    """Behind the node, which loses its activation: both matrices, and the sum, which has it."""
    weights = graph.tensors[node.inputs[1]]
    units, *taps, depth = weights.shape
    rank = min(rank, units, depth)
    result, activation = node.outputs[0], node.activation
    *outer, _ = graph.shape(result)
    plain = graph.value(f"{graph.tensors[result].name}/plain", graph.shape(result))
    node.outputs[0], node.options["fused_activation_function"] = plain, 0
    down = numbers.standard_normal((rank, *taps, depth)) / math.sqrt(depth)
    first = _layer(graph, node, node.inputs[0], _matrix(graph, f"{weights.name}/lora_a", down), (*outer, rank))
    up = _matrix(graph, f"{weights.name}/lora_b", np.zeros((units, *taps, rank)))
    second = _layer(graph, node, first, up, (*outer, units), is_second=True)
    graph.add_node("ADD", [plain, second], [result], {"fused_activation_function": activation})


def _matrix(graph: FlowGraph, name: str, values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> int:
    data = values.astype(np.float32)
    return graph.copy_tensor(FileTensor.added(0, name, DType.FLOAT32, data.shape, data.tobytes()))


def _layer(
    graph: FlowGraph, node: FlowNode, value: int, weights: int, shape: tuple[int, ...], is_second: bool = False
) -> int:
    """A layer like the node with other weights, without bias; the second of two moves by one pixel."""
    options = dict(node.options)
    if is_second:
        options |= {name: 1 for name in options if name.startswith("stride")}
    return graph.compute(node.name, [value, weights], shape, options=options)
