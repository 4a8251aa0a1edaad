"""Constants of int8 layers (convolution, fully connected): the input of every weight packer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels.numeric.quantize_math import Activation, activation_range
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.window import Fields

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Int8Layer:
    """Constants of an int8 layer, one row per output channel.

    weights [channels, terms]; bias [channels], the input's zero point folded in, before it wraps; (multiplier, shift)
    of tflmgen_requantize per channel; the output's zero point and range.
    """

    weights: Integers
    bias: Integers
    scales: tuple[tuple[int, int], ...]
    zero_point: int
    low: int
    high: int

    def limit_fields(self, clamped: bool) -> Fields:
        """Params fields for the range that a kernel clamps int8 outputs to: the layer's if `clamped`, else int8's."""
        low, high = (self.low, self.high) if clamped else (-128, 127)
        return ("output_min", low), ("output_max", high)

    def channels(self, rows: NDArray[np.intp]) -> Int8Layer:
        """The layer of these channels only."""
        return replace(
            self, weights=self.weights[rows], bias=self.bias[rows], scales=tuple(self.scales[row] for row in rows)
        )


def layer_of(
    op: OperatorInstance, weights: Integers, scales: Sequence[tuple[int, int]], activation: Activation
) -> Int8Layer | None:
    """The layer of an operator [input, filter, bias]; None where the bias is not constant.

    weights: the constant filter [channels, terms].
    """
    bias = np.zeros(len(weights), dtype=np.int64)
    if len(op.inputs) > 2 and op.inputs[2] is not None:
        if op.constants[2] is None:
            return None
        bias = np.asarray(op.constants[2], dtype=np.int64).reshape(-1)
    folded = bias - zero_point(input_type(op, 0)) * weights.sum(axis=1)
    output = op.outputs[0]
    assert output.quantization is not None
    low, high = activation_range(activation, output.dtype, output.quantization)
    return Int8Layer(weights, folded, tuple(scales), zero_point(output), low, high)


def accumulators(layer: Int8Layer) -> tuple[Integers, Integers]:
    """Least and greatest accumulator of each channel, over every input."""
    positive, negative = np.maximum(layer.weights, 0).sum(axis=1), np.minimum(layer.weights, 0).sum(axis=1)
    return layer.bias + 127 * negative - 128 * positive, layer.bias + 127 * positive - 128 * negative
