"""Float LSTM layers in place of the loops that compute them: a Model to a Model, before the import.

The layer's states are constants of zeros, with which each invoke starts, as the loop does. Loops stay whose state
persists, whose weights are stored in fewer bits than float32, or whose sequence has a dynamic dimension.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.lstm_loops import LstmLoop, find_lstm_loops
from tflmgen.frontend.shape_bounds import is_open
from tflmgen.frontend.subgraphs import bindings, is_loop
from tflmgen.frontend.tflite.builder import options_with_defaults
from tflmgen.frontend.tflite.model import ABSENT, Model, Operator, SubGraph, Tensor
from tflmgen.ir import DType, contents


def lstm_operator() -> Operator:
    """The layer without operands; its first is [steps, batch, features]."""
    name = "UNIDIRECTIONAL_SEQUENCE_LSTM"
    tanh = 4
    options = options_with_defaults(name, {"fused_activation_function": tanh, "time_major": True})
    return Operator(0, name, 1, (), (), options, b"", ())


def with_fused_lstm(model: Model) -> Model:
    """The model with one operator for each loop that is a float LSTM layer; the model itself if there is none."""
    layers = {
        body: layer
        for body, layer in find_lstm_loops(model, keeps_state=False).items()
        if isinstance(layer, LstmLoop) and not layer.is_stateful and _has_float_weights(model.subgraphs[body])
    }
    graphs = tuple(_fused(graph, layers) for graph in model.subgraphs) if layers else model.subgraphs
    return model if graphs == model.subgraphs else replace(model, subgraphs=graphs)


def _has_float_weights(body: SubGraph) -> bool:
    """Whether no weights are stored in fewer bits, which would grow in float32."""
    return all(tensor.quantization is None and tensor.blocks is None for tensor in body.tensors)


def _fused(graph: SubGraph, layers: Mapping[int, LstmLoop]) -> SubGraph:
    rewriter = _Rewriter(graph)
    for op in graph.operators:
        layer = layers.get(bindings(op)[1].subgraph) if is_loop(op) else None
        if layer is None or any(is_open(graph.tensors[tensor]) for tensor in (op.inputs[layer.rows], *op.outputs)):
            rewriter.operators.append(op)
        else:
            rewriter.fuse(op, layer)
    operators = tuple(rewriter.operators)
    return (
        graph if operators == graph.operators else replace(graph, tensors=tuple(rewriter.tensors), operators=operators)
    )


class _Rewriter:
    """Tensors and operators of a subgraph in the making; the operators of a layer have its loop's index."""

    def __init__(self, graph: SubGraph) -> None:
        self.tensors = list(graph.tensors)
        self.operators: list[Operator] = []
        self._read = {tensor for op in graph.operators for tensor in op.inputs} | set(graph.outputs)

    def fuse(self, loop: Operator, layer: LstmLoop) -> None:
        """The layer, and from its outputs what is read of the loop's results."""
        cells, features = layer.weights[0].shape
        rows = (layer.steps, layer.batch)
        sequence = self._tensor("sequence", (*rows, features))
        self._reshape(loop, loop.inputs[layer.rows], sequence)
        matrices = [self._constant(f"weights_{i}", array) for i, array in enumerate((*layer.weights, *layer.recurrent))]
        biases = [self._constant(f"bias_{i}", bias) for i, bias in enumerate(layer.biases)]
        states = [self._constant(name, np.zeros((layer.batch, cells))) for name in ("output_state", "cell_state")]
        outputs = self._tensor("outputs", (*rows, cells))
        operands = [sequence, *matrices, *[ABSENT] * 3, *biases, *[ABSENT] * 2, *states, *[ABSENT] * 4]
        self.operators.append(replace(lstm_operator(), index=loop.index, inputs=tuple(operands), outputs=(outputs,)))
        for place in self._places_read(loop, (layer.hidden, *layer.last)):
            last = self._tensor("last", (1, layer.batch, cells))
            bounds = [self._integers(numbers) for numbers in ((layer.steps - 1, 0, 0), (1, layer.batch, cells))]
            self._add(loop, "SLICE", [outputs, *bounds], last)
            self._reshape(loop, last, loop.outputs[place])
        for place in self._places_read(loop, layer.all_rows):
            self._reshape(loop, outputs, loop.outputs[place])

    def _places_read(self, loop: Operator, places: Sequence[int]) -> list[int]:
        return [place for place in places if loop.outputs[place] in self._read]

    def _reshape(self, loop: Operator, source: int, result: int) -> None:
        self._add(loop, "RESHAPE", [source, self._integers(self.tensors[result].shape)], result)

    def _add(self, loop: Operator, name: str, inputs: Sequence[int], output: int) -> None:
        options = options_with_defaults(name, {})
        self.operators.append(Operator(loop.index, name, 1, tuple(inputs), (output,), options, b"", ()))

    def _constant(self, name: str, values: NDArray[Any]) -> int:
        return self._tensor(name, values.shape, contents(values, DType.FLOAT32))

    def _integers(self, numbers: Sequence[int]) -> int:
        values = np.array(numbers, np.int32)
        return self._tensor("numbers", values.shape, contents(values, DType.INT32), DType.INT32)

    def _tensor(
        self, name: str, shape: tuple[int, ...], data: bytes | None = None, dtype: DType = DType.FLOAT32
    ) -> int:
        index = len(self.tensors)
        self.tensors.append(Tensor.added(index, f"lstm_{name}", dtype, shape, data))
        return index
