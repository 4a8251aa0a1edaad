"""Float LSTM layers in place of the loops that compute them: a Model to a Model, before the import.

The layer's states are constants of zeros, with which each invoke starts, as the loop does. Loops stay whose state
persists, whose weights are stored in fewer bits than float32, or whose sequence has a dynamic dimension.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tflmgen.frontend.lstm_loops import LstmLoop, find_lstm_loops, idle_views, lstm_operator
from tflmgen.frontend.model_graph.model_rewrite import SubGraphRewrite, TensorUses, rewrite_model
from tflmgen.frontend.model_graph.subgraphs import bindings, fused_activation, is_loop
from tflmgen.frontend.model_graph.tensor_values import constant_values
from tflmgen.frontend.shape_bounds import is_open
from tflmgen.frontend.tflite.model import ABSENT, FileOperator, Model, SubGraph
from tflmgen.ir import DType
from tflmgen.kernels import traits_of

_NUMBERS = "lstm_numbers"
"""Name of constants that are shapes and places."""


def with_fused_lstm(model: Model) -> Model:
    """The model with one operator for each loop that is a float LSTM layer; the model itself if there is none."""
    layers = {
        body: layer
        for body, layer in find_lstm_loops(model, keeps_state=False).items()
        if isinstance(layer, LstmLoop) and not layer.is_stateful and _has_float_weights(model.subgraphs[body])
    }

    if not layers:
        return model
    idle = {(graph.index, index) for graph in model.subgraphs for index in idle_views(graph)}

    def fuse(graph: SubGraphRewrite, op: FileOperator) -> bool:
        if (graph.graph.index, op.index) in idle:
            return True
        layer = layers.get(bindings(op)[1].subgraph) if is_loop(op) else None
        if layer is None or any(is_open(graph.tensors[tensor]) for tensor in (op.inputs[layer.rows], *op.outputs)):
            return False
        _add_layer(graph, op, layer)
        return True

    return rewrite_model(model, fuse, renumber=False)


def _of_what_precedes(graph: SubGraphRewrite, rows: int, layer: LstmLoop) -> tuple[int, LstmLoop]:
    """The layer on the rows of a product in front of the loop, as ONNX has it, whose elements are sums of gates.

    Each sum is to have one element of the product, as it is, so that no weight is rounded.
    """
    uses = TensorUses.of(graph.graph)
    op = uses.sole_producer(rows)
    if op is None or not traits_of(op.name).is_matrix_layer or fused_activation(op) or not layer.takes_sums:
        return rows, layer
    parts = [graph.tensors[tensor] for tensor in op.inputs[1:] if tensor != ABSENT]
    if any(part.data is None or part.dtype is not DType.FLOAT32 or part.quantization or part.blocks for part in parts):
        return rows, layer
    matrix, *bias = (constant_values(part).astype(np.float64) for part in parts)
    if matrix.shape[0] != layer.weights[0].shape[1]:
        return rows, layer
    weights = tuple(chosen @ matrix for chosen in layer.weights)
    offsets = [chosen @ bias[0].reshape(-1) if bias else 0.0 for chosen in layer.weights]
    biases = tuple(own + offset for own, offset in zip(layer.biases, offsets, strict=True))
    return op.inputs[0], replace(layer, weights=weights, biases=biases)


def _has_float_weights(body: SubGraph) -> bool:
    """Whether no weights are stored in fewer bits, which would grow in float32."""
    return all(tensor.quantization is None and tensor.blocks is None for tensor in body.tensors)


def _add_layer(graph: SubGraphRewrite, loop: FileOperator, layer: LstmLoop) -> None:
    """The layer, and from its outputs what is read of the loop's results; all have the loop's index."""
    source, layer = _of_what_precedes(graph, loop.inputs[layer.rows], layer)
    cells, features = layer.weights[0].shape
    rows = (layer.steps, layer.batch)
    sequence = graph.value("lstm_sequence", (*rows, features))
    graph.reshape(source, sequence, _NUMBERS)
    zeros = np.zeros((layer.batch, cells))
    matrices = [
        graph.constant(f"lstm_weights_{i}", array, DType.FLOAT32)
        for i, array in enumerate((*layer.weights, *layer.recurrent))
    ]
    biases = [graph.constant(f"lstm_bias_{i}", bias, DType.FLOAT32) for i, bias in enumerate(layer.biases)]
    states = [graph.constant(f"lstm_{name}_state", zeros, DType.FLOAT32) for name in ("output", "cell")]
    outputs = graph.value("lstm_outputs", (*rows, cells))
    operands = [sequence, *matrices, *[ABSENT] * 3, *biases, *[ABSENT] * 2, *states, *[ABSENT] * 4]
    graph.operators.append(replace(lstm_operator(), index=loop.index, inputs=tuple(operands), outputs=(outputs,)))
    read = TensorUses.of(graph.graph).readers
    for place in (layer.hidden, *layer.last):
        if loop.outputs[place] in read:
            last = graph.value("lstm_last", (1, layer.batch, cells))
            begin, size = (graph.constant(_NUMBERS, n) for n in ((layer.steps - 1, 0, 0), (1, layer.batch, cells)))
            graph.cut(outputs, begin, size, last)
            graph.reshape(last, loop.outputs[place], _NUMBERS)
    for place in layer.all_rows:
        if loop.outputs[place] in read:
            graph.reshape(outputs, loop.outputs[place], _NUMBERS)
