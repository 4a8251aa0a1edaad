"""The tensors of UNIDIRECTIONAL_SEQUENCE_LSTM in int8, with cells in int16, for a recognised loop.

Scales are those that TFLite's quantisation specification has for the layer: weights symmetric per tensor, biases in the
product of the input's and the weights' scale, cells with a power of two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tflmgen.frontend import LstmLoop
from tflmgen.frontend.model_graph import ElementType, bias_element
from tflmgen.ir import DType, Quantization
from tflmgen.quantize.element_types import element_contents, weight_quantization
from tflmgen.quantize.integer_forms import Array

MAX_CELL = 16.0
"""Largest magnitude of cells that the kernel's tables cover: 2^4."""

_GATES = "ifgo"
_ABSENT = None


@dataclass(frozen=True, slots=True)
class NewTensor:
    """A tensor of the fused operator. data: contents of a constant; a state that persists has none."""

    name: str
    shape: tuple[int, ...]
    element: ElementType
    data: bytes | None

    @property
    def is_state(self) -> bool:
        """Whether the tensor keeps its contents from one invoke to the next."""
        return self.data is None


def lstm_operands(
    layer: LstmLoop, source: ElementType, hidden: ElementType, cell_limit: float, keeps_state: bool
) -> list[NewTensor | None]:
    """Inputs 1 to 23; None for those that the layer lacks.

    source, hidden  scales of the sequence and of the outputs
    cell_limit      largest magnitude of a cell in calibration
    keeps_state     states are variables; else constant zeros, with which each invoke starts
    """
    weights = [_weights(f"weights_{g}", w) for g, w in zip(_GATES, layer.weights, strict=True)]
    recurrent = [_weights(f"recurrent_{g}", w) for g, w in zip(_GATES, layer.recurrent, strict=True)]
    biases = [
        _bias(f"bias_{g}", bias, source, tensor) for g, bias, tensor in zip(_GATES, layer.biases, weights, strict=True)
    ]
    cells = len(layer.biases[0])
    exponent = max(0, math.ceil(math.log2(cell_limit))) if cell_limit > 0 else 0
    cell = ElementType(DType.INT16, Quantization((2.0 ** (exponent - 15),), (0,)))
    shape = (layer.batch, cells)
    zeros = np.full(shape, hidden.affine.zero_point, np.int8), np.zeros(shape, np.int16)
    data = [None if keeps_state else z.tobytes() for z in zeros]
    states = [
        NewTensor("output_state", shape, hidden, data[0]),
        NewTensor("cell_state", shape, cell, data[1]),
    ]
    return [*weights, *recurrent, *[_ABSENT] * 3, *biases, *[_ABSENT] * 2, *states, *[_ABSENT] * 4]


def lstm_intermediates(hidden: ElementType) -> Sequence[NewTensor]:
    """Sums of the gates, which only layers with normalisation scale, and the outputs before a projection."""
    sums = [NewTensor(f"sum_{g}", (0,), ElementType(DType.FLOAT32), b"") for g in _GATES]
    return [*sums, NewTensor("hidden", (0,), hidden, b"")]


def _weights(name: str, values: Array) -> NewTensor:
    element = ElementType(DType.INT8, weight_quantization(values, None))
    return NewTensor(name, values.shape, element, element_contents(values, element))


def _bias(name: str, values: Array, source: ElementType, weights: NewTensor) -> NewTensor:
    element = bias_element(source, weights.element.affine)
    return NewTensor(name, values.shape, element, element_contents(values, element))
