"""int8 LSTM in LiteRT's variants: coupled gates, peepholes, a projection, layer normalisation, a single step.

Sources: TFLite's kernels/lstm.cc (PopulateQuantizedLstmParams8x8_16) and kernels/lstm_eval.cc, and gemmlowp's
fixedpoint.h on 16 bits. Effective scales are in single precision there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tflmgen.ir import TensorType
from tflmgen.reference.definitions.fixed_point_numbers import (
    divided_by_power,
    divided_towards_zero,
    inverse_square_roots,
    quantized_multiplier,
    scaled,
    scaled_by,
    wrapped,
)
from tflmgen.reference.definitions.weighted_sums import exact_product
from tflmgen.reference.operation import Array, Operation, UnsupportedError, round_half_away, scale_of, zero_point_of

INPUT, FORGET, CELL, OUTPUT = range(4)
WEIGHTS, RECURRENT, PEEPHOLES, BIASES, PROJECTION, PROJECTION_BIAS, STATE, CELLS, NORMS = (
    1,
    5,
    9,
    12,
    16,
    17,
    18,
    19,
    20,
)
"""First input of each kind; of peepholes those of the input, forget and output gates."""
PEEPHOLE_OF = {INPUT: PEEPHOLES, FORGET: PEEPHOLES + 1, OUTPUT: PEEPHOLES + 2}
VARIANTS = (PEEPHOLES, PEEPHOLES + 1, PEEPHOLES + 2, PROJECTION, NORMS, NORMS + 1, NORMS + 2, NORMS + 3)
"""Inputs whose presence makes a variant."""
HIDDEN = 4
"""Intermediate value of the cells' outputs before the projection; those before are of the gates."""
GATE_BITS = 3
"""Integer bits of the activations' arguments: they are in steps of 1/4096."""
LEAST, GREATEST = -(2**15), 2**15 - 1
"""The least and the greatest int16."""


def _saturated(values: Array) -> Array:
    return values.clip(LEAST, GREATEST)


# -- gemmlowp on 16 bits


def _product(a: Array, b: Array | int) -> Array:
    """SaturatingRoundingDoublingHighMul of int16."""
    product = np.asarray(a, np.int64) * np.asarray(b, np.int64)
    return np.asarray(np.minimum((product + (1 << 14)) >> 15, GREATEST))


def _exponential(x: Array, integer_bits: int) -> Array:
    """exp(x) in Q0.15 for x <= 0: that of the rest within a quarter, times exp(-2**k) for each bit of the quarters."""
    fraction_bits = 15 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    rest = (x & (quarter - 1)) - quarter
    around = _saturated(rest << integer_bits) + (1 << 12)
    square = _product(around, around)
    cube = _product(square, around)
    third = _product(divided_by_power(_product(square, square), 2) + cube, round(2**15 / 3))
    eighth = round(2**15 * np.exp(-0.125))
    result = _saturated(eighth + _product(around + divided_by_power(third + square, 1), eighth))
    for k in range(-2, integer_bits):
        factor = int(np.floor(2**15 * np.exp(-(2.0**k)) + 0.5))
        has_bit = ((rest - x) >> (fraction_bits + k)) & 1
        result = np.where(has_bit == 1, _product(result, factor), result)
    return np.where(x == 0, GREATEST, result)


def _two_over_one_plus(x: Array) -> Array:
    """2 / (1 + x) in Q2.13 for x in Q0.15: Newton's iterations from 48/17 - 32/17 d."""
    half = (x + GREATEST + 1) // 2
    estimate = 23130 + _product(half, -15420)
    for _ in range(3):
        error = (1 << 13) - _product(half, estimate)
        estimate = estimate + _saturated(_product(estimate, error) * 4)
    return estimate


def _logistic(x: Array, integer_bits: int) -> Array:
    positive = _saturated(2 * _two_over_one_plus(_exponential(-np.abs(x), integer_bits)))
    return np.where(x == 0, 1 << 14, np.where(x > 0, positive, GREATEST - positive))


def _tanh(x: Array, integer_bits: int) -> Array:
    twice = _exponential(-np.abs(x), integer_bits + 1)
    magnitude = _saturated(4 * (_two_over_one_plus(twice) - (1 << 13)))
    return np.where(x == 0, 0, np.sign(x) * magnitude)


# -- the layer


def is_variant(op: Operation) -> bool:
    """Whether TFLite Micro's LSTM of integers does not take it."""
    return op.array(0).ndim == 2 or not op.has(WEIGHTS) or any(op.has(i) for i in VARIANTS)


def _inner(op: Operation, index: int) -> TensorType:
    type_ = op.intermediates[index] if index < len(op.intermediates) else None
    if type_ is None or type_.quantization is None:
        raise UnsupportedError(f"{op.name} of integers whose inner values have no scale")
    return type_


def _gate_scale(op: Operation, gate: int) -> np.float32:
    return np.float32(scale_of(_inner(op, gate), op.name) if op.has(NORMS + 1) else 2.0**-12)


def _cell_log2(op: Operation) -> int:
    """Binary logarithm of the cell state's scale, rounded, in single precision as TFLite's CheckedLog2 computes it."""
    return int(round_half_away(np.log(np.float32(op.scale(CELLS))) * (np.float32(1) / np.log(np.float32(2)))))


def _gate(op: Operation, gate: int, x: Array, h: Array, cell: Array) -> Array:
    """Activation of one gate in Q0.15; x and h without their zero points."""
    unit = _gate_scale(op, gate)
    biases = op.integers(BIASES + gate)
    sums = np.zeros((1, 1), np.int64)
    for rows, source, weights, bias in ((x, 0, WEIGHTS, not op.has(NORMS + 1)), (h, STATE, RECURRENT, False)):
        products = exact_product(rows, op.integers(weights + gate).T) + (biases if bias else 0)
        factor = np.float32(op.scale(weights + gate)) * np.float32(op.scale(source)) / unit
        sums = _saturated(wrapped(scaled_by(wrapped(products), float(factor)) + sums))
    if gate != CELL and op.has(PEEPHOLES + 1):
        index = PEEPHOLE_OF[gate]
        factor = np.float32(2.0 ** _cell_log2(op)) * np.float32(op.scale(index)) / unit
        sums = _saturated(wrapped(scaled_by(op.integers(index) * cell, float(factor)) + sums))
    if op.has(NORMS + 1):
        sums = _normalized(op, gate, sums, biases)
    return _tanh(sums, GATE_BITS) if gate == CELL else _logistic(sums, GATE_BITS)


def _normalized(op: Operation, gate: int, sums: Array, biases: Array) -> Array:
    """ApplyLayerNorm: in 1024ths, the variance from whole numbers."""
    count, norm_scale = sums.shape[1], np.float32(op.scale(NORMS + gate))
    total, squares = sums.sum(axis=1), (sums * sums).sum(axis=1)
    mean = divided_towards_zero(1024 * total, count)
    variance = divided_towards_zero(squares * ((1 << 20) // count) - mean * mean, 1 << 20)
    least = max(1, int(np.float32(10000) * norm_scale))
    multipliers, shifts = inverse_square_roots(np.where(variance < 1, least, variance)[:, None])
    centred = scaled(1024 * sums - mean[:, None], multipliers, shifts)
    weighted = wrapped(centred * op.integers(NORMS + gate) + biases)
    rounded = divided_towards_zero(weighted + np.where(weighted > 0, 512, -512), 1024)
    multiplier, shift = quantized_multiplier(float(norm_scale))
    return _saturated(scaled(rounded, multiplier, shift + 12))


def _next_cell(op: Operation, cell: Array, forget: Array, let_in: Array, candidate: Array) -> Array:
    kept = divided_by_power(forget * cell, 15)
    added = divided_by_power(let_in * candidate, 30 + _cell_log2(op)).astype(np.int16).astype(np.int64)
    cell, limit = _saturated(kept + added), float(op.options.get("cell_clip", 0.0))
    clip = int(min(np.float32(limit) / np.float32(op.scale(CELLS)), np.float32(GREATEST))) if limit else 0
    return cell.clip(-clip, clip) if clip else cell


def _hidden(op: Operation, cell: Array, gate: Array) -> Array:
    """int8, with LiteRT's zero point: the other way round before a projection, which takes it away again."""
    type_ = _inner(op, HIDDEN)
    factor = np.float32(2.0**-15) / np.float32(scale_of(type_, op.name)) * np.float32(2.0**-15)
    point = -zero_point_of(type_) if op.has(PROJECTION) else zero_point_of(type_)
    squashed = _tanh(cell, 15 + _cell_log2(op))
    return wrapped(scaled_by(squashed * gate, float(factor)) + point).clip(-128, 127)


def _output(op: Operation, hidden: Array) -> Array:
    """The new output state."""
    if not op.has(PROJECTION):
        return hidden
    inner, state = _inner(op, HIDDEN), op.type(STATE)
    sums = exact_product(hidden + zero_point_of(inner), op.integers(PROJECTION).T)
    sums = sums + (op.integers(PROJECTION_BIAS) if op.has(PROJECTION_BIAS) else 0)
    factor = np.float32(op.scale(PROJECTION)) * np.float32(scale_of(inner, op.name)) / np.float32(op.scale(STATE))
    result = wrapped(scaled_by(wrapped(sums), float(factor)) + zero_point_of(state)).clip(-128, 127)
    limit = float(op.options.get("proj_clip", 0.0))
    clip = int(min(np.float32(limit) / np.float32(op.output_scale), np.float32(127))) if limit else 0
    return result.clip(-clip, clip) if clip else result


def lstm_variant(op: Operation, steps: Array, joined: Callable[[list[Array]], Array]) -> Sequence[Array]:
    """Outputs, output state and cells; steps: [steps, batches, inputs] without the input's zero point."""
    state_type = op.type(STATE)
    h, cell, outputs = op.centred(STATE), op.integers(CELLS), []
    for x in steps:
        gates = {gate: _gate(op, gate, x, h, cell) for gate in (FORGET, CELL)}
        let_in = _gate(op, INPUT, x, h, cell) if op.has(WEIGHTS) else GREATEST - gates[FORGET]
        cell = _next_cell(op, cell, gates[FORGET], let_in, gates[CELL])
        # The peephole of the output gate sees the new cells.
        result = _output(op, _hidden(op, cell, _gate(op, OUTPUT, x, h, cell)))
        outputs.append(result.astype(op.output.dtype.numpy))
        h = result - zero_point_of(state_type)
    state = (h + zero_point_of(state_type)).astype(state_type.dtype.numpy)
    return [joined(outputs), state, cell.astype(op.dtype(CELLS).numpy)]
