"""Float models whose training steps keep much: a DS-CNN of keyword spotting's shape, and an LSTM of many steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from tflmgen.frontend.tflite import Model, ModelBuilder, SubGraphBuilder
from tflmgen.ir import DType

FLOAT, NUMBER = DType.FLOAT32, DType.INT32


def _weights(graph: SubGraphBuilder, name: str, *shape: int) -> int:
    rng = np.random.default_rng(len(graph.tensors))
    scale = np.sqrt(2 / max(1, int(np.prod(shape[1:]))))
    return graph.constant(name, (scale * rng.standard_normal(shape)).astype(np.float32))


def _layer(
    graph: SubGraphBuilder, value: int, size: tuple[int, int], channels: int, stride: int, depthwise: bool
) -> int:
    """A convolution with the same padding, and RELU."""
    batch, height, width, depth = graph.tensors[value].shape
    name = f"layer_{len(graph.tensors)}"
    result = graph.tensor(name, FLOAT, (batch, -(-height // stride), -(-width // stride), channels))
    filters = (1, *size, channels) if depthwise else (channels, *size, depth)
    options: dict[str, Any] = {"padding": 0, "stride_h": stride, "stride_w": stride, "fused_activation_function": 1}
    options |= {"dilation_h_factor": 1, "dilation_w_factor": 1, **({"depth_multiplier": 1} if depthwise else {})}
    operands = [value, _weights(graph, f"{name}/filter", *filters), _weights(graph, f"{name}/bias", channels)]
    graph.operator("DEPTHWISE_CONV_2D" if depthwise else "CONV_2D", operands, [result], options)
    return result


def _head(graph: SubGraphBuilder, value: int, classes: int) -> int:
    """A dense layer, and SOFTMAX."""
    logits, result = (graph.tensor(name, FLOAT, (1, classes)) for name in ("logits", "probabilities"))
    depth = graph.tensors[value].shape[-1]
    operands = [value, _weights(graph, "head/weights", classes, depth), _weights(graph, "head/bias", classes)]
    graph.operator("FULLY_CONNECTED", operands, [logits])
    graph.operator("SOFTMAX", [logits], [result], {"beta": 1.0})
    return result


def separable_network(channels: int = 64, blocks: int = 4) -> Model:
    """MLPerf Tiny's DS-CNN for keywords, in float: 49 x 10 coefficients, 12 classes, batch normalisation folded."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x = graph.tensor("x", FLOAT, (1, 49, 10, 1))
    value = _layer(graph, x, (10, 4), channels, 2, depthwise=False)
    for _ in range(blocks):
        value = _layer(graph, value, (3, 3), channels, 1, depthwise=True)
        value = _layer(graph, value, (1, 1), channels, 1, depthwise=False)
    mean = graph.tensor("mean", FLOAT, (1, channels))
    graph.operator("MEAN", [value, graph.constant("axes", np.array([1, 2], np.int32))], [mean], {"keep_dims": False})
    graph.inputs, graph.outputs = [x], [_head(graph, mean, 12)]
    return builder.model()


def recurrent_network(steps: int = 100, depth: int = 8, units: int = 16) -> Model:
    """An LSTM layer as Keras writes it, a loop over `steps` rows of `depth`, and a head of 4 classes."""
    builder = ModelBuilder()
    graph, condition, body = (builder.subgraph(name) for name in ("main", "condition", "body"))
    x = graph.tensor("x", FLOAT, (1, steps, depth))
    variables = [("k", NUMBER, ()), ("h", FLOAT, (1, units)), ("c", FLOAT, (1, units)), ("x", FLOAT, (1, steps, depth))]
    condition.inputs = [condition.tensor(*variable) for variable in variables]
    condition.outputs = [condition.tensor("goes_on", DType.BOOL, ())]
    limit = condition.constant("steps", np.array(steps, np.int32))
    condition.operator("LESS", [condition.inputs[0], limit], condition.outputs)
    body.inputs = [body.tensor(*variable) for variable in variables]
    body.outputs = _cell(body, depth, units)
    starts = [
        graph.constant("zero", np.array(0, np.int32)),
        *(graph.constant(n, np.zeros((1, units), np.float32)) for n in "hc"),
    ]
    results = [graph.tensor(f"{name}_after", dtype, shape) for name, dtype, shape in variables]
    graph.operator("WHILE", [*starts, x], results, {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    graph.inputs, graph.outputs = [x], [_head(graph, results[1], 4)]
    return builder.model()


def _cell(body: SubGraphBuilder, depth: int, units: int) -> list[int]:
    """One step of the LSTM: its next variables."""
    count, hidden, cell, rows = body.inputs
    follows = body.tensor("follows", NUMBER, ())
    body.operator("ADD", [count, body.constant("one", np.array(1, np.int32))], [follows])

    def computed(name: str, operator: str, *operands: int, shape: tuple[int, ...] = (1, units), **options: Any) -> int:
        result = body.tensor(name, FLOAT, shape)
        body.operator(operator, operands, [result], options)
        return result

    row = computed("row", "GATHER", rows, count, shape=(1, depth), axis=1)
    own = [_weights(body, "kernel", 4 * units, depth), _weights(body, "bias", 4 * units)]
    product = computed("product", "FULLY_CONNECTED", row, *own, shape=(1, 4 * units))
    recurrent = _weights(body, "recurrent", 4 * units, units)
    again = computed("again", "FULLY_CONNECTED", hidden, recurrent, -1, shape=(1, 4 * units))
    total = computed("total", "ADD", product, again, shape=(1, 4 * units))
    gates = [body.tensor(f"gate_{k}", FLOAT, (1, units)) for k in range(4)]
    body.operator("SPLIT", [body.constant("axis", np.array(1, np.int32)), total], gates, {"num_splits": 4})
    kinds = zip(("LOGISTIC", "LOGISTIC", "TANH", "LOGISTIC"), gates, strict=True)
    add, keep, new, out = (computed(f"g_{k}", kind, gate) for k, (kind, gate) in enumerate(kinds))
    kept, added = computed("kept", "MUL", keep, cell), computed("added", "MUL", add, new)
    after = computed("after", "ADD", kept, added)
    return [follows, computed("output", "MUL", out, computed("tanh", "TANH", after)), after, rows]
