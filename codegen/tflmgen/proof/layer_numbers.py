"""Quantised layers of products as TFLite defines them: their weights, biases, multipliers and outputs.

Written from the documents and kernels of TFLite (quantization_util.cc, kernel_util.cc, gemmlowp's fixedpoint.h), and
shares nothing with what packs constants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import TensorType
from tflmgen.ir.kernel import OperatorInstance

Integers = NDArray[np.int64]

_ONE = 2**31
"""1 in Q0.31."""


@dataclass(frozen=True, slots=True)
class Operands:
    """Positions of a layer's data, filter and bias among its inputs, and the filter's axis of output channels."""

    data: int
    filter: int
    bias: int
    channel_axis: int


LAYERS = {
    "CONV_2D": Operands(0, 1, 2, 0),
    "DEPTHWISE_CONV_2D": Operands(0, 1, 2, 3),
    "FULLY_CONNECTED": Operands(0, 1, 2, 0),
    "TRANSPOSE_CONV": Operands(2, 1, 3, 0),
}


@dataclass(frozen=True, slots=True, eq=False)
class LayerNumbers:
    """A layer of sums of products with a constant filter.

    weights: [channels, taps, input channels that one output sees]. taps: rows and columns of the filter. inputs:
    channels of the input. bias: as in the file. multipliers, shifts: TFLite's, per channel, the shift to the left.
    least, greatest: of the outputs. bits: of the activations.
    """

    weights: Integers
    taps: tuple[int, int]
    inputs: int
    bias: Integers
    input_zero: int
    output_zero: int
    multipliers: Integers
    shifts: Integers
    least: int
    greatest: int
    bits: int

    @property
    def channels(self) -> int:
        """Number of output channels."""
        return len(self.weights)

    @property
    def starts(self) -> Integers:
        """Starts of sums of products with the raw inputs: the bias, less the zero point times the weights."""
        result: Integers = self.bias - self.input_zero * self.weights.reshape(self.channels, -1).sum(axis=1)
        return result

    def outputs(self, accumulators: Integers) -> Integers:
        """Outputs of int8 for accumulators [channels, n]: rounded twice (halves up, then away from zero); unclamped."""
        multipliers, shifts = self.multipliers[:, None], self.shifts[:, None]
        high = ((accumulators << np.maximum(shifts, 0)) * multipliers + (1 << 30)) >> 31
        right = np.maximum(-shifts, 0)
        half = (1 << right) >> 1
        rounded = (np.abs(high) + half) >> right
        result: Integers = np.where(high < 0, -rounded, rounded) + self.output_zero
        return result

    def thresholds(self, outputs: Integers) -> Integers:
        """The least accumulator [channels, n] whose output is outputs[n] or more; multipliers are not 0.

        Solved backward through both roundings: of the second, y >= k 2^r - 2^(r-1), or one more where k <= 0, since
        halves below zero go away from it; of the first, a m >= 2^31 y - 2^30.
        """
        steps, right = outputs[None, :] - self.output_zero, np.maximum(-self.shifts, 0)[:, None]
        first = (steps << right) - ((1 << right) >> 1) + ((steps <= 0) & (right > 0))
        # Beyond 32 bits are thresholds that no accumulator reaches.
        first = np.clip(first, -_ONE, _ONE)
        shifted = -(((1 << 30) - (first << 31)) // self.multipliers[:, None])
        left = np.maximum(self.shifts, 0)[:, None]
        result: Integers = -(-shifted >> left)
        return result


def layer_numbers(operator: str, op: OperatorInstance) -> LayerNumbers | None:
    """The numbers of a layer with int8 or int16 activations; None where it has none, or its filter is no constant."""
    operands = LAYERS.get(operator)
    data = op.inputs[operands.data] if operands else None
    if operands is None or data is None or data.dtype.label not in ("int8", "int16"):
        return None
    filter_type, weights = op.inputs[operands.filter], op.constants[operands.filter]
    has_bias = len(op.inputs) > operands.bias and op.inputs[operands.bias] is not None
    bias = op.constants[operands.bias] if has_bias else None
    if filter_type is None or weights is None or (has_bias and bias is None) or filter_type.quantization is None:
        return None
    rows = np.moveaxis(np.asarray(weights, dtype=np.int64), operands.channel_axis, 0)
    channels = len(rows)
    taps = (1, 1) if weights.ndim == 2 else (weights.shape[1], weights.shape[2])
    rows = rows.reshape(channels, taps[0] * taps[1], -1)
    output = op.outputs[0]
    multipliers, shifts = channel_scales(operands, op, channels)
    least, greatest = _activation_range(op, output)
    return LayerNumbers(
        rows - _common_zero(filter_type),
        taps,
        data.max_shape[-1] if weights.ndim > 2 else rows.shape[2],
        np.zeros(channels, dtype=np.int64) if bias is None else np.asarray(bias, dtype=np.int64).reshape(-1),
        zero_of(data),
        zero_of(output),
        multipliers,
        shifts,
        least,
        greatest,
        data.dtype.bits,
    )


def channel_scales(operands: Operands, op: OperatorInstance, channels: int) -> tuple[Integers, Integers]:
    """Multipliers and shifts to the left of each output channel, whose filter may have one scale for all of them."""
    data, filter_type = op.inputs[operands.data], op.inputs[operands.filter]
    assert data is not None
    assert filter_type is not None
    assert filter_type.quantization is not None
    factors = [_scale(data) * each / _scale(op.outputs[0]) for each in filter_type.quantization.scales]
    pairs = [fixed_point(factor) for factor in (factors if len(factors) == channels else factors * channels)]
    return np.array([m for m, _ in pairs], dtype=np.int64), np.array([s for _, s in pairs], dtype=np.int64)


def fixed_point(real: float) -> tuple[int, int]:
    """(m, s) with real = m 2^(s - 31), and m from 2^30 to 2^31 - 1: TFLite's QuantizeMultiplier."""
    if real == 0:
        return 0, 0
    fraction, exponent = math.frexp(real)
    rounded = math.floor(fraction * _ONE + 0.5)
    if rounded == _ONE:
        rounded, exponent = rounded // 2, exponent + 1
    return (rounded, exponent) if exponent >= -31 else (0, 0)


def _scale(tensor: TensorType) -> float:
    assert tensor.quantization is not None
    return tensor.quantization.scales[0]


def zero_of(tensor: TensorType) -> int:
    """Zero point of a quantised tensor; 0 where the file leaves it out."""
    assert tensor.quantization is not None
    return tensor.quantization.zero_points[0] if tensor.quantization.zero_points else 0


def _common_zero(tensor: TensorType) -> int:
    """The zero point that all weights have."""
    return zero_of(tensor)


_BOUNDS: dict[str, tuple[float | None, float | None]] = {
    "NONE": (None, None),
    "RELU": (0.0, None),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU6": (0.0, 6.0),
}
"""Real outputs of the fused activations."""


def _activation_range(op: OperatorInstance, output: TensorType) -> tuple[int, int]:
    """Least and greatest output: the type's ends, narrowed by a fused activation's bounds, quantised in float32."""
    half = 1 << (output.dtype.bits - 1)
    least, greatest = -half, half - 1

    def quantized(real: float) -> int:
        quotient = float(np.float32(real) / np.float32(_scale(output)))
        return zero_of(output) + int(math.copysign(math.floor(abs(quotient) + 0.5), quotient))

    low, high = _BOUNDS[op.attributes.activation.name]
    if low is not None:
        least = max(least, quantized(low))
    if high is not None:
        greatest = min(greatest, quantized(high))
    return least, greatest


def reachable(weights: Integers) -> tuple[Integers, Integers]:
    """The least and the greatest sum of products of weights [rows, terms] by int8 values."""
    positive = np.maximum(weights, 0).sum(axis=1)
    negative = np.minimum(weights, 0).sum(axis=1)
    return 127 * negative - 128 * positive, 127 * positive - 128 * negative


def spread(layer: LayerNumbers, own: int, rows: Sequence[int] | Integers) -> Integers:
    """Weights [rows, taps, own] as if outputs saw `own` channels, zeros for those that they do not see.

    Groups of `own` input channels are whole groups of the layer's. Raises ValueError where they are not.
    """
    narrow = layer.weights.shape[2]
    if own == narrow:
        return layer.weights[rows]
    if own < narrow or own % narrow or layer.inputs % own:
        raise ValueError(f"windows of {own} channels are no whole groups of {narrow}")
    wide = np.zeros((len(rows), layer.weights.shape[1], own), dtype=np.int64)
    for number, row in enumerate(rows):
        first = int(row) * (layer.inputs // narrow) // layer.channels * narrow % own
        wide[number, :, first : first + narrow] = layer.weights[row]
    return wide


@dataclass(frozen=True, slots=True, eq=False)
class SumNumbers:
    """Rows of int8 weights [rows, terms], and what their sums of products with the raw inputs begin with."""

    weights: Integers
    starts: Integers


def sum_numbers(operator: str, op: OperatorInstance) -> tuple[int, list[SumNumbers]] | None:
    """Number of filters or cells, and their sums: an SVDF's features and its units through time, or an
    LSTM's input and its state, all input gates, then forget gates, cells and output gates.

    None where the operator has none, or is not int8.
    """
    data = op.inputs[0]
    if data is None or data.dtype.label != "int8":
        return None
    if operator == "SVDF" and op.constants[1] is not None and op.constants[2] is not None:
        weights, through_time = (np.asarray(op.constants[i], dtype=np.int64) for i in (1, 2))
        memory, rank, bias = op.inputs[4], op.attributes.rank, op.constants[3]
        assert memory is not None
        of_units = through_time.reshape(len(weights) // rank, -1)
        starts = -zero_of(memory) * of_units.sum(axis=1) + (0 if bias is None else np.asarray(bias, dtype=np.int64))
        features = SumNumbers(weights, -zero_of(data) * weights.sum(axis=1))
        return len(weights), [features, SumNumbers(of_units, starts)]
    state = op.inputs[18] if operator == "UNIDIRECTIONAL_SEQUENCE_LSTM" else None
    if state is None or any(op.constants[i] is None for i in (*range(1, 9), *range(12, 16))):
        return None
    gates, recurrent, biases = (
        np.concatenate([np.asarray(op.constants[i], dtype=np.int64) for i in range(first, first + 4)])
        for first in (1, 5, 12)
    )
    inner = SumNumbers(recurrent, -zero_of(state) * recurrent.sum(axis=1))
    return len(gates) // 4, [SumNumbers(gates, biases - zero_of(data) * gates.sum(axis=1)), inner]
