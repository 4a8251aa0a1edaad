"""TFLite Micro's operators for audio: windows, scaling, filter banks and what follows them, CIRCULAR_BUFFER.

Sources: signal/src of TFLite Micro (window, fft_auto_scale, energy, filter_bank*, pcan_argc_fixed, square_root, log),
and its circular_buffer.cc.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tflmgen.ir import DType
from tflmgen.reference.operation import Array, Evaluation, Operation

_U32 = (1 << 32) - 1
"""The greatest uint32."""


def _option(op: Operation, name: str) -> int:
    return int(op.options.get(name, 0))


def _window(op: Operation) -> Sequence[Array]:
    return [op.saturated((op.integers(0) * op.integers(1)) >> _option(op, "shift"))]


def _auto_scale(op: Operation) -> Sequence[Array]:
    """Shifted left until the greatest magnitude has 15 bits; -32768 counts as none, since its negation wraps."""
    values = op.integers(0)
    magnitudes = np.where(values == -32768, 0, np.abs(values))
    largest = int(magnitudes.max(initial=0))
    shift = max(15 - largest.bit_length(), 0) if largest else 0
    return [(values << shift).astype(np.int16), np.array(shift, np.int32)]


def _energy(op: Operation) -> Sequence[Array]:
    parts = op.integers(0).reshape(-1, 2)
    energies = (parts * parts).sum(axis=1)
    places = np.arange(len(energies))
    inside = (places >= _option(op, "start_index")) & (places < _option(op, "end_index"))
    return [np.where(inside, energies, 0).astype(np.uint32)]


def _filter_bank(op: Operation) -> Sequence[Array]:
    """Each band's energies go by their weights to one channel, by the complements to the next one. Modulo 2**64."""
    energies, weights, unweights = (op.array(i).astype(np.int64).astype(np.uint64) for i in range(3))
    sums = np.zeros((_option(op, "num_channels") + 2, 2), np.uint64)
    for i, (start, first, width) in enumerate(zip(*(op.integers(k) for k in (3, 4, 5)), strict=True)):
        if width > 0:
            band = energies[start : start + width]
            sums[i] = [(band * table[first : first + width]).sum() for table in (weights, unweights)]
    return [sums[1:-1, 0] + sums[:-2, 1]]


def _square_root(op: Operation) -> Sequence[Array]:
    """Rounded to the nearest; the greatest numbers round down."""
    shift = int(op.integers(1).reshape(-1)[0]) & 31
    roots = []
    for value in op.array(0).reshape(-1).tolist():
        root = math.isqrt(value)
        greatest = 0xFFFF if value <= _U32 else _U32
        roots.append((root + (value - root * root > root and root != greatest)) >> shift)
    return [np.array(roots, np.uint32)]


def _subtraction(op: Operation) -> Sequence[Array]:
    """The signal less its noise; the estimate follows the signal, channels of odd numbers by factors of their own."""
    signal, before = op.array(0).astype(np.uint64), op.array(1).astype(np.uint64)
    bits, smoothing_bits = (np.uint64(_option(op, k)) for k in ("spectral_subtraction_bits", "smoothing_bits"))
    odd = np.arange(signal.size) & 1

    def factor(name: str) -> Array:
        return np.take(np.array([_option(op, name), _option(op, f"alternate_{name}")], np.uint64), odd)

    mask = np.uint64(_U32)
    scaled = (signal << smoothing_bits) & mask
    kept = ((scaled * factor("smoothing") + before * factor("one_minus_smoothing")) >> bits) & mask
    estimate = np.minimum(kept, scaled)
    kept = estimate if op.options.get("clamping") else kept
    least = ((signal * np.uint64(_option(op, "min_signal_remaining"))) >> bits) & mask
    rest = (scaled - estimate) >> smoothing_bits
    return [a.astype(np.uint32) for a in (np.maximum(rest, least), kept, kept)]


def _gain(noise: int, table: Array) -> int:
    """A parabola in each power of two."""
    if noise <= 2:
        return int(table[noise])
    interval = noise.bit_length()
    base, linear, square = (int(v) for v in table[4 * interval - 6 : 4 * interval - 3])
    fraction = (noise << (11 - interval) if interval < 11 else noise >> (interval - 11)) & 0x3FF
    slope = ((square * fraction) >> 5) + linear * 32
    gain = ((slope * fraction + (1 << 14)) >> 15) + base
    return (gain + 0x8000 & 0xFFFF) - 0x8000


def _pcan(op: Operation) -> Sequence[Array]:
    """Each channel by the gain that its noise has in the table, then compressed."""
    shift, table, gains = _option(op, "snr_shift"), op.array(2), []
    for value, noise in zip(op.array(0).tolist(), op.array(1).tolist(), strict=True):
        ratio = (value * (_gain(noise, table) & _U32) >> shift) & _U32
        gains.append((ratio * ratio & _U32) >> 20 if ratio < 2 << 12 else (ratio >> 6) - (1 << 6))
    return [np.array(gains, np.uint32)]


_LOGARITHMS = [round(65536 * (math.log2(1 + i / 128) - i / 128)) for i in range(129)]
"""log2(1 + x) - x in Q0.16, for each 128th."""


def _log(op: Operation) -> Sequence[Array]:
    bits, scale = _option(op, "input_correction_bits"), _option(op, "output_scale")
    return [np.array([_logarithm((v << bits) & _U32, scale) for v in op.array(0).tolist()], np.int16)]


def _logarithm(value: int, scale: int) -> int:
    """scale times the natural logarithm, by the table and lines between its entries."""
    if value <= 1:
        return 0
    whole = value.bit_length() - 1
    rest = value - (1 << whole)
    fraction = rest << (16 - whole) if whole < 16 else rest >> (whole - 16)
    segment = fraction >> 9
    step = ((_LOGARITHMS[segment + 1] - _LOGARITHMS[segment]) * (fraction - segment * 512)) >> 16
    log2 = (whole << 16) + fraction + _LOGARITHMS[segment] + step
    natural = (45426 * log2 + 32768) >> 16
    return min(((scale * natural + 32768) & _U32) >> 16, 32767)


def _circular_buffer(op: Operation) -> Sequence[Array]:
    """(window, whether it is time; then the states: slots but the latest, invocations until it is time)."""
    window, states = op.output.max_shape, list(op.inputs[1:])
    results, kept = op.array(0).reshape(1, *window[2:]), []
    if window[1] > 1:
        results = np.concatenate([op.array(1), results])
        kept.append(results[1:])
    valid = []
    if len(op.output_types) > 1 and op.output_types[1].dtype is DType.BOOL:
        left = int(op.integers(len(states)).reshape(-1)[0]) - 1
        valid.append(np.full(op.output_types[1].max_shape, left == 0))
        kept.append(np.array([left or _option(op, "cycles_max")], np.int32))
    return [results.reshape(window), *valid, *kept]


def circular_buffer_states(op: Operation) -> tuple[Array, ...]:
    """States of CIRCULAR_BUFFER at the start: zeros for all slots but the latest, and invocations until the first
    output."""
    slots = (op.output.max_shape[1] - 1, *op.output.max_shape[2:])
    count = np.array([_option(op, "cycles_max")], np.int32)
    return (*([np.zeros(slots, np.int8)] if slots[0] else []), *([count] if len(op.output_types) > 1 else []))


def _delay(op: Operation) -> Sequence[Array]:
    """Each stream after the samples that it kept."""
    fresh = op.array(0).reshape(-1, op.array(0).shape[-1])
    if len(op.inputs) == 1:
        return [op.array(0)]
    stream = np.concatenate([op.array(1).reshape(len(fresh), -1), fresh], axis=1)
    return [stream[:, : fresh.shape[1]].reshape(op.array(0).shape), stream[:, fresh.shape[1] :]]


def _overlap_add(op: Operation) -> Sequence[Array]:
    """Frames added up, one after another; int16 saturates at each sum."""
    *outer, count, size = op.array(0).shape
    step = _option(op, "frame_step")
    kind = np.int64 if op.dtype() is DType.INT16 else op.float_type
    frames = op.array(0).reshape(-1, count, size).astype(kind)
    sums = np.zeros((len(frames), size), kind)
    if len(op.inputs) > 1:
        sums[:, : size - step] = op.array(1).reshape(len(frames), -1)
    done = []
    for number in range(count):
        sums = frames[:, number] + sums
        sums = sums.clip(-32768, 32767) if kind is np.int64 else sums
        done.append(sums[:, :step])
        sums = np.pad(sums[:, step:], ((0, 0), (0, step)))
    result = np.stack(done, axis=1).reshape(*outer, count * step).astype(op.array(0).dtype)
    kept = sums[:, : size - step].astype(op.array(0).dtype)
    return [result, kept] if len(op.inputs) > 1 else [result]


def delay_states(op: Operation) -> tuple[Array, ...]:
    """State of DELAY at the start: zeros for the samples that each stream holds back; none without a delay."""
    *outer, _ = op.array(0).shape
    delay = _option(op, "delay_length")
    return (np.zeros((*outer, delay), np.int16),) if delay else ()


def overlap_states(op: Operation) -> tuple[Array, ...]:
    """State of OVERLAP_ADD at the start: zeros where frames overlap the next ones; none if they do not."""
    *outer, _, size = op.array(0).shape
    kept = size - _option(op, "frame_step")
    return (np.zeros((*outer, kept), op.array(0).dtype),) if kept else ()


def subtraction_states(op: Operation) -> tuple[Array, ...]:
    """State of the noise estimate at the start: one zero of uint32 for each channel."""
    return (np.zeros(op.array(0).shape, np.uint32),)


def framer_states(op: Operation) -> tuple[Array, ...]:
    """Samples of which no frame is whole yet, the oldest first, and how many there are."""
    size, step = _option(op, "frame_size"), _option(op, "frame_step")
    room = max(1, (size - 1) // step * step)
    kept = size - step if op.options.get("prefill") else 0
    return np.zeros((int(np.prod(op.array(0).shape[:-1])), room), np.int16), np.array([kept], np.int32)


def _framer(op: Operation) -> Sequence[Array]:
    """(samples; what is kept, how many): a frame for each step; those that are not whole yet are zeros."""
    size, step, count = _option(op, "frame_size"), _option(op, "frame_step"), int(op.array(2).reshape(-1)[0])
    samples = op.array(0).reshape(-1, op.array(0).shape[-1])
    stream = np.concatenate([op.array(1)[:, :count], samples], axis=1)
    frames, begin = [], 0
    for end in range(count + step, stream.shape[1] + 1, step):
        is_whole = end - begin >= size
        frames.append(stream[:, begin : begin + size] if is_whole else np.zeros((len(stream), size), np.int16))
        begin += step if is_whole else 0
    is_valid = begin == len(frames) * step
    shape = (*op.array(0).shape[:-1], len(frames), size)
    return [np.stack(frames, axis=1).reshape(shape), np.array(is_valid), *_kept_contents(op, stream[:, begin:])]


def _kept_contents(op: Operation, rest: Array) -> tuple[Array, Array]:
    """The new contents and their number, in the room that there is."""
    contents = np.zeros(op.array(1).shape, np.int16)
    contents[..., : rest.shape[-1]] = rest
    return contents, np.array([rest.shape[-1]], np.int32)


def stacker_states(op: Operation) -> tuple[Array, ...]:
    """Features of the past, and how many there are; -1 before the first."""
    others = _option(op, "stacker_left_context") + _option(op, "stacker_right_context")
    return np.zeros(max(1, others * _option(op, "num_channels")), np.int16), np.array([-1], np.int32)


def _stacker(op: Operation) -> Sequence[Array]:
    """(features; what is kept, how many): before the first ones come as many copies of them as there is context."""
    channels, left = _option(op, "num_channels"), _option(op, "stacker_left_context")
    size = (left + 1 + _option(op, "stacker_right_context")) * channels
    features, count = op.array(0), int(op.array(2).reshape(-1)[0])
    past = np.tile(features, left) if count < 0 else op.array(1)[:count]
    stream = np.concatenate([past, features])
    is_valid = len(stream) >= size
    output = stream[:size] if is_valid else np.zeros(size, np.int16)
    rest = stream[_option(op, "stacker_step") * channels :] if is_valid else stream
    return [output, np.array(is_valid), *_kept_contents(op, rest)]


INITIAL_STATES: Mapping[str, Callable[[Operation], tuple[Array, ...]]] = {
    "CUSTOM:CIRCULAR_BUFFER": circular_buffer_states,
    "CUSTOM:SignalDelay": delay_states,
    "CUSTOM:SignalOverlapAdd": overlap_states,
    "CUSTOM:SignalFramer": framer_states,
    "CUSTOM:SignalStacker": stacker_states,
    "CUSTOM:SignalFilterBankSpectralSubtraction": subtraction_states,
}

EVALUATIONS: Mapping[str, Evaluation] = {
    "CUSTOM:SignalWindow": _window,
    "CUSTOM:SignalFftAutoScale": _auto_scale,
    "CUSTOM:SignalEnergy": _energy,
    "CUSTOM:SignalFilterBank": _filter_bank,
    "CUSTOM:SignalFilterBankSquareRoot": _square_root,
    "CUSTOM:SignalFilterBankSpectralSubtraction": _subtraction,
    "CUSTOM:SignalPCAN": _pcan,
    "CUSTOM:SignalFilterBankLog": _log,
    "CUSTOM:CIRCULAR_BUFFER": _circular_buffer,
    "CUSTOM:SignalDelay": _delay,
    "CUSTOM:SignalOverlapAdd": _overlap_add,
    "CUSTOM:SignalFramer": _framer,
    "CUSTOM:SignalStacker": _stacker,
}
