"""Recurrent layers: SVDF, RNN and LSTM in floats, hybrid and integers, over sequences; state in variable tensors.

Sources: TFLite's reference_ops (svdf.h, rnn), kernels/lstm_eval.cc, and TFLite Micro's svdf_common.cc and lstm_eval.cc.
The last outputs of each evaluation are the new contents of the variable tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tflmgen.ir import DType
from tflmgen.reference.definitions.elementwise_unary import table_logistic, table_tanh
from tflmgen.reference.definitions.fixed_point_numbers import (
    quantized_multiplier,
    scaled,
    scaled_by,
    scaled_wide,
    wrapped,
)
from tflmgen.reference.definitions.integer_lstm import is_variant, lstm_variant
from tflmgen.reference.definitions.weighted_sums import exact_product, quantized_rows
from tflmgen.reference.operation import (
    FUSED_RANGES,
    TANH,
    Array,
    Evaluation,
    Operation,
    UnsupportedError,
    round_half_away,
    scale_of,
    zero_point_of,
)

GATE_SCALE = 2.0**-12
"""Scale of a gate's sums before its activation: Q3.12."""
ACTIVATED = 2.0**-15
"""Scale of an activated gate: Q0.15."""
INPUT, FORGET, CELL, OUTPUT = range(4)
"""Gates in the order of the file's inputs."""

UPDATES: Mapping[str, tuple[int, ...]] = {
    "SVDF": (4,),
    "RNN": (4,),
    "UNIDIRECTIONAL_SEQUENCE_RNN": (4,),
    "LSTM": (18, 19),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (18, 19),
    "BIDIRECTIONAL_SEQUENCE_RNN": (4, 8),
    "BIDIRECTIONAL_SEQUENCE_LSTM": (35, 36, 37, 38),
}
"""Inputs that are variable tensors; evaluations give their new contents after the outputs."""


def _is_hybrid(op: Operation, weights: int) -> bool:
    return op.gives_floats and not op.dtype(weights).is_float


def _product(op: Operation, rows: Array, weights: int) -> Array:
    """rows @ weights.T of floats; int8 weights meet rows that are quantised each on their own."""
    if not _is_hybrid(op, weights):
        return np.asarray(rows @ op.real(weights).T)
    asymmetric = bool(op.options.get("asymmetric_quantize_inputs", False))
    values, scales, points = quantized_rows(rows, asymmetric)
    sums = exact_product(values - points[:, None], op.integers(weights).T)
    return np.asarray(sums * scales[:, None].astype(np.float64) * op.scale(weights))


def _real_weights(op: Operation, index: int) -> Array:
    return op.real(index) * (op.scale(index) if _is_hybrid(op, index) else 1.0)


def _svdf(op: Operation) -> Sequence[Array]:
    """(input, feature weights [filters, inputs], time weights [filters, memory], bias, state)."""
    rank, memory = int(op.options["rank"]), op.array(2).shape[1]
    batches, filters = op.array(0).shape[0], op.array(1).shape[0]
    state = op.array(4).reshape(batches, filters, memory)
    if not op.gives_floats:
        return _integer_svdf(op, state, rank)
    newest = _product(op, op.real(0), 1)
    new = np.concatenate([state[:, :, 1:], op.rounded(newest)[:, :, None]], axis=2)
    sums = (new.astype(np.float64) * _real_weights(op, 2)).sum(axis=2).reshape(batches, -1, rank).sum(axis=2)
    sums = sums + op.real(3) if op.has(3) else sums
    return [op.clamped_real(sums), new.reshape(op.array(4).shape)]


def _integer_svdf(op: Operation, state: Array, rank: int) -> Sequence[Array]:
    kind, state_type = state.dtype, op.type(4)
    to_state = op.scale(0) * op.scale(1) / scale_of(state_type, op.name)
    to_output = scale_of(state_type, op.name) * op.scale(2) / op.output_scale
    newest = scaled_by(wrapped(exact_product(op.centred(0), op.integers(1).T)), to_state)
    newest = newest.clip(*state_type.dtype.limits) + zero_point_of(state_type)
    new = np.concatenate([state[:, :, 1:], newest.astype(kind)[:, :, None]], axis=2)
    centred = new.astype(np.int64) - zero_point_of(state_type)
    sums = (centred * op.integers(2)).sum(axis=2).reshape(len(state), -1, rank).sum(axis=2)
    sums = scaled_by(wrapped(sums + op.integers(3) if op.has(3) else sums), to_output)
    return [op.saturated(wrapped(sums + op.output_zero_point)), new.reshape(op.array(4).shape)]


def _activated(number: int, values: Array) -> Array:
    if number == TANH:
        return np.tanh(values)
    if number >= len(FUSED_RANGES):
        raise UnsupportedError(f"a recurrent layer with activation number {number}")
    return np.clip(values, *FUSED_RANGES[number])


def _steps(op: Operation, sequence: Array) -> tuple[Array, Callable[[list[Array]], Array]]:
    """[steps, batches, inputs] of the input in the order of running, and what makes the output of the steps'."""
    time_major, backward = bool(op.options.get("time_major", False)), bool(op.options.get("backward", False))
    is_single = sequence.ndim == 2
    steps = sequence[None] if is_single else sequence if time_major else sequence.swapaxes(0, 1)
    steps = steps[::-1] if backward else steps

    def joined(outputs: list[Array]) -> Array:
        whole = np.stack(outputs[::-1] if backward else outputs)
        return whole[0] if is_single else whole if time_major else whole.swapaxes(0, 1)

    return steps, joined


def _rnn(op: Operation) -> Sequence[Array]:
    """(input, weights, recurrent weights, bias, hidden state)."""
    steps, joined = _steps(op, op.real(0))
    h, number, outputs = op.real(4), int(op.options.get("fused_activation_function", 0) or 0), []
    for x in steps:
        h = _activated(number, _product(op, x, 1) + _product(op, h, 2) + op.real(3))
        h = op.rounded(h).astype(np.float64)
        outputs.append(op.rounded(h))
    return [joined(outputs), op.rounded(h)]


def _gates(op: Operation) -> Iterator[int]:
    """The gates that there are: without an input gate, the forget gate stands for it."""
    return iter(gate for gate in range(4) if gate != INPUT or op.has(1))


def _lstm(op: Operation) -> Sequence[Array]:
    """24 inputs: input, 4 weights, 4 recurrent weights, 3 peepholes, 4 biases, projection and its bias, output state,
    cell state, 4 layer norms; of the gates input, forget, cell, output."""
    if not op.gives_floats:
        return _integer_lstm(op)
    steps, joined = _steps(op, op.real(0))
    h, cell, outputs = op.real(18), op.real(19), []
    for x in steps:
        h, cell = _float_step(op, x, h, cell)
        outputs.append(op.rounded(h))
    return [joined(outputs), op.rounded(h), op.rounded(cell)]


def _float_step(op: Operation, x: Array, h: Array, cell: Array) -> tuple[Array, Array]:
    sums = {gate: _product(op, x, 1 + gate) + _product(op, h, 5 + gate) for gate in _gates(op)}
    for gate, peephole in ((INPUT, 9), (FORGET, 10)):
        if op.has(peephole) and gate in sums:
            sums[gate] = sums[gate] + _real_weights(op, peephole) * cell
    forget = _logistic(_biased(op, FORGET, sums[FORGET]))
    let_in = _logistic(_biased(op, INPUT, sums[INPUT])) if INPUT in sums else 1 - forget
    cell = forget * cell + let_in * np.tanh(_biased(op, CELL, sums[CELL]))
    cell = op.rounded(_clipped(cell, op.options.get("cell_clip", 0.0))).astype(np.float64)
    last = sums[OUTPUT] + _real_weights(op, 11) * cell if op.has(11) else sums[OUTPUT]
    h = _logistic(_biased(op, OUTPUT, last)) * np.tanh(cell)
    if op.has(16):
        h = _product(op, h, 16) + (op.real(17) if op.has(17) else 0.0)
        h = _clipped(h, op.options.get("proj_clip", 0.0))
    return op.rounded(h).astype(np.float64), cell


def _biased(op: Operation, gate: int, sums: Array) -> Array:
    if op.has(20 + gate):
        centred = sums - sums.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-8)
        norm = op.real(20 + gate) * (op.scale(20 + gate) if not op.dtype(20 + gate).is_float else 1.0)
        sums = centred / deviation * norm
    return np.asarray(sums + op.real(12 + gate))


def _logistic(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _clipped(values: Array, limit: float) -> Array:
    return np.clip(values, -limit, limit) if limit else values


def _integer_lstm(op: Operation) -> Sequence[Array]:
    """TFLite Micro's int8 and int16 LSTM: sums in 1/4096, activations by the table of the logistic function."""
    steps, joined = _steps(op, op.centred(0))
    if is_variant(op):
        return lstm_variant(op, steps, joined)
    h, cell, outputs = op.centred(18), op.integers(19), []
    cell_scale, h_type = op.scale(19), op.type(18)
    limit = float(op.options.get("cell_clip", 0.0))
    clip = int(min(limit / cell_scale, 32767.0)) if limit else 32768
    for x in steps:
        gates = [_integer_gate(op, gate, x, h) for gate in range(4)]
        kept = _int16(scaled_by(gates[FORGET] * cell, ACTIVATED))
        added = _int16(scaled_by(gates[INPUT] * gates[CELL], ACTIVATED * ACTIVATED / cell_scale))
        cell = _int16(kept + added)
        cell = cell.clip(-clip, clip)
        activated = table_tanh(_cell_steps(cell, cell_scale)).astype(np.int64)
        result = scaled_by(activated * gates[OUTPUT], ACTIVATED * ACTIVATED / scale_of(h_type, op.name))
        h = wrapped(result + zero_point_of(h_type)).clip(*h_type.dtype.limits)
        outputs.append(h.astype(op.output.dtype.numpy))
        h = h - zero_point_of(h_type)
    kinds = h_type.dtype.numpy, op.dtype(19).numpy
    return [joined(outputs), (h + zero_point_of(h_type)).astype(kinds[0]), cell.astype(kinds[1])]


def _integer_gate(op: Operation, gate: int, x: Array, h: Array) -> Array:
    """Activation of one gate in Q0.15."""
    is_wide = op.dtype() is DType.INT16
    total: Array | int = 0
    for rows, weights, scale, bias in ((x, 1, op.scale(0), 12 + gate), (h, 5, op.scale(18), None)):
        sums = exact_product(rows, op.integers(weights + gate).T)
        sums = sums + op.integers(bias) if bias is not None and op.has(bias) else sums
        factor = quantized_multiplier(scale * op.scale(weights + gate) / GATE_SCALE)
        total = total + _int16(scaled_wide(sums, *factor) if is_wide else scaled(wrapped(sums), *factor))
    steps = _int16(np.asarray(total)) * 3
    return (table_tanh(steps) if gate == CELL else table_logistic(steps)).astype(np.int64)


def _int16(values: Array) -> Array:
    return values.clip(-32768, 32767)


def _cell_steps(cell: Array, scale: float) -> Array:
    """Cells in steps of 1 / 12288, which the table's tanh takes."""
    # In single precision, as CheckedLog2.
    log = np.log(np.float32(scale)) * (np.float32(1) / np.log(np.float32(2)))
    left = int(round_half_away(log)) + 12
    return cell * (3 << left) if left >= 0 else (3 * cell + (1 << (-left - 1))) >> -left


def _bidirectional(name: str, forward: Sequence[int], backward: Sequence[int]) -> Evaluation:
    """Two layers, the second from the last step to the first; outputs side by side, or joined where merged."""

    def evaluate(op: Operation) -> Sequence[Array]:
        merged = bool(op.options.get("merge_outputs", False))
        outputs, states = [], []
        for number, indices in enumerate((forward, backward)):
            output = op.output_types[0 if merged else number]
            inputs = tuple(op.inputs[i] if 0 <= i < len(op.inputs) else None for i in (0, *indices))
            types = tuple(op.input_types[i] if 0 <= i < len(op.inputs) else None for i in (0, *indices))
            options = {**op.options, "backward": bool(number)}
            layer = replace(op, name=name, inputs=inputs, input_types=types, output_types=(output,), options=options)
            first, *rest = EVALUATIONS[name](layer)
            outputs.append(first)
            states += rest
        return [*([np.concatenate(outputs, axis=-1)] if merged else outputs), *states]

    return evaluate


def _in_use(layer: Evaluation, last: int) -> Evaluation:
    """The layer on as many steps as operand `last` says; its tensors lie densely, as those of fewer steps do."""

    def evaluate(op: Operation) -> Sequence[Array]:
        steps, room = int(op.array(last).reshape(-1)[0]), op.array(0)
        result = np.zeros(op.output.elements, op.float_type if op.gives_floats else op.output.dtype.numpy)
        states = [op.array(i) for i in UPDATES[op.name.removesuffix("_IN_USE")]]
        if steps:
            shape = list(room.shape)
            shape[0 if op.options.get("time_major") else 1] = steps
            values = room.reshape(-1)[: int(np.prod(shape))].reshape(shape)
            output, *states = layer(replace(op, inputs=(values, *op.inputs[1:last])))
            result[: output.size] = output.reshape(-1)
        return [result.reshape(op.output.max_shape), *states]

    return evaluate


_NONE = (-1,) * 4
"""Operands of a layer without layer normalisation."""


def _gru(op: Operation) -> Sequence[Array]:
    """ONE's luci-interpreter/pal/linux/PALGRU.h: update, reset and candidate rows of both products."""
    (source, weights, state_weights), units = (op.array(i) for i in (0, 1, 3)), op.array(3).shape[-1]
    biases = [op.array(i).reshape(-1) for i in (2, 4)]
    dtype = np.float64 if op.wide else np.float32
    state = op.array(5).reshape(-1).astype(dtype)
    for row in source.reshape(len(source), -1):
        of_input = (weights @ row.astype(dtype) + biases[0]).reshape(3, units)
        of_state = (state_weights @ state + biases[1]).reshape(3, units)
        update, reset = 1 / (1 + np.exp(-(of_input[:2] + of_state[:2]).astype(np.float64)))
        candidate = np.tanh(of_input[2] + reset * of_state[2])
        state = (update * state + (1 - update) * candidate).astype(dtype)
    return [state.reshape(op.output.max_shape)]


EVALUATIONS: Mapping[str, Evaluation] = {
    "SVDF": _svdf,
    "CUSTOM:TflmgenGru": _gru,
    "RNN": _rnn,
    "UNIDIRECTIONAL_SEQUENCE_RNN": _rnn,
    "LSTM": _lstm,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _lstm,
    "UNIDIRECTIONAL_SEQUENCE_RNN_IN_USE": _in_use(_rnn, 5),
    "UNIDIRECTIONAL_SEQUENCE_LSTM_IN_USE": _in_use(_lstm, 24),
    "BIDIRECTIONAL_SEQUENCE_RNN": _bidirectional("UNIDIRECTIONAL_SEQUENCE_RNN", (1, 2, 3, 4), (5, 6, 7, 8)),
    "BIDIRECTIONAL_SEQUENCE_LSTM": _bidirectional(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", (*range(1, 18), 35, 36, *_NONE), (*range(18, 35), 37, 38, *_NONE)
    ),
}
