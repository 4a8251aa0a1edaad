"""Built-ins before models: microfrontend, rms, normalize, spectrogram, logmel, mfcc.

Source of the microfrontend: signal/src and the audio preprocessor of TFLite Micro, tensorflow/lite/experimental/
microfrontend/lib (filterbank_util.c, pcan_gain_control_util.c).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.applications.app_file import MAX_ELEMENTS
from tflmgen.applications.glue_graph import GlueGraph
from tflmgen.applications.stage_body import StageBody, StageContext
from tflmgen.ir import DType, TensorType

FILTER_BITS = 12
"""Bits behind the point of the filter bank's weights and of the window."""
SMOOTHING_BITS = 10
"""Bits behind the point of the noise estimate, which the gains and the spectral subtraction share."""
GAIN_STRENGTH, GAIN_OFFSET, GAIN_BITS = 0.95, 80.0, 21
"""TFLite's defaults for PCAN: exponent and offset of the noise estimate, and bits behind the point of a gain."""
_BLOCK, _ALIGNMENT = 4, 2
"""Elements that a channel of the filter bank takes a multiple of, and starts at a multiple of."""


def _mel(hertz: Any) -> Any:
    return 1127.0 * np.log1p(np.asarray(hertz, np.float64) / 700.0)


def _fft_length(samples: int) -> int:
    return 1 << max(2, (samples - 1).bit_length())


def hann(samples: int) -> NDArray[np.float64]:
    """Hann's window with half a sample at both ends, as the microfrontend has it."""
    return 0.5 - 0.5 * np.cos(2 * np.pi * (np.arange(samples) + 0.5) / samples)


@dataclass(frozen=True, slots=True)
class FilterBank:
    """Triangles on the mel scale: energies weighted for one channel, by the complement for the next."""

    weights: NDArray[np.int16]
    unweights: NDArray[np.int16]
    starts: NDArray[np.int16]
    weight_starts: NDArray[np.int16]
    widths: NDArray[np.int16]
    first: int
    end: int


def filter_bank(rate: float, fft: int, channels: int, lower: float, upper: float) -> FilterBank:
    """channels + 1 bands, aligned and padded to blocks. As in TFLite Micro, both weights round down."""
    step = 0.5 * rate / (fft // 2)
    low, high = (float(_mel(edge)) for edge in (lower, upper))
    centers = [low + (high - low) / (channels + 1) * (i + 1) for i in range(channels + 1)]
    start = first = int(1.5 + lower / step)
    bands: list[tuple[int, int]] = []
    for center in centers:
        stop = start
        while float(_mel(stop * step)) <= center:
            stop += 1
        bands.append((start, stop - start))
        start = stop
    starts, weight_starts, widths, at = [], [], [], _BLOCK if any(width == 0 for _, width in bands) else 0
    for begin, width in bands:
        aligned = begin // _ALIGNMENT * _ALIGNMENT if width else 0
        padded = -(-(begin - aligned + width) // _BLOCK) * _BLOCK if width else _BLOCK
        starts.append(aligned)
        weight_starts.append(at if width else 0)
        widths.append(padded)
        at += padded if width else 0
    weights, unweights = np.zeros(at, np.int16), np.zeros(at, np.int16)
    for channel, (begin, width) in enumerate(bands):
        before = low if channel == 0 else centers[channel - 1]
        for i in range(begin, begin + width):
            weight = (centers[channel] - float(_mel(i * step))) / (centers[channel] - before)
            place = weight_starts[channel] + i - starts[channel]
            weights[place] = math.floor(weight * (1 << FILTER_BITS))
            unweights[place] = math.floor((1 - weight) * (1 << FILTER_BITS))
    places = [np.array(table, np.int16) for table in (starts, weight_starts, widths)]
    return FilterBank(weights, unweights, places[0], places[1], places[2], first, start)


def gain_table(input_bits: int) -> NDArray[np.int16]:
    """PCAN's gains by noise estimate: a parabola for each power of two, as pcan_gain_control_util.c has it."""

    def gain(estimate: int) -> int:
        value = (1 << GAIN_BITS) * (estimate / (1 << input_bits) + GAIN_OFFSET) ** -GAIN_STRENGTH
        return min(0x7FFF, int(value + 0.5))

    table = [gain(0), gain(1)]
    for interval in range(2, 33):
        x0 = 1 << (interval - 1)
        y0, y1, y2 = (gain(x) for x in (x0, x0 + x0 // 2, 2 * x0 - (interval == 32)))
        slope = 4 * (y1 - y0) - (y2 - y0)
        table += [y0, slope, y2 - y0 - slope, 0]
    return np.array(table[:125], np.int16)


def microfrontend(context: StageContext) -> StageBody:
    """Log-mel energies as TFLite Micro's audio preprocessor makes them: int8[1,channels] of int16[samples]."""
    context.check_settings(("rate", "window", "channels", "lower", "upper"))
    rate = context.number("rate", 16000, 1000, 192000)
    samples, channels = context.whole("window", 480, 16, 8192), context.whole("channels", 40, 2, 256)
    fft = _fft_length(samples)
    upper = context.number("upper", min(7500.0, rate / 2), 1, rate / 2)
    bank = filter_bank(rate, fft, channels, context.number("lower", 125, 0, upper - 1), upper)
    if bank.end > fft // 2 + 1:
        context.file.fail(context.key("upper"), "is beyond the spectrum")
    correction = fft.bit_length() - 1 - FILTER_BITS // 2
    window = np.floor(hann(samples) * (1 << FILTER_BITS) + 0.5).astype(np.int16)
    gains = gain_table(SMOOTHING_BITS - correction)

    def build(graph: GlueGraph, inputs: Sequence[int]) -> list[int]:
        energies, bits = _energies(graph, inputs[0], window, fft, bank)
        tables = (bank.weights, bank.unweights, bank.starts, bank.weight_starts, bank.widths)
        operands = [energies, *(graph.constant(table, DType.INT16) for table in tables)]
        summed = graph.custom("FilterBank", operands, _flat(DType.UINT64, channels), num_channels=channels)
        roots = graph.custom("FilterBankSquareRoot", [summed, bits], _flat(DType.UINT32, channels))
        signal, noise = graph.customs(
            "FilterBankSpectralSubtraction", [roots], [_flat(DType.UINT32, channels)] * 2, **_subtraction(channels)
        )
        gained = graph.custom(
            "PCAN", [signal, noise, graph.constant(gains, DType.INT16)], _flat(DType.UINT32, channels), snr_shift=6
        )
        logs = graph.custom(
            "FilterBankLog", [gained], _flat(DType.INT16, channels), input_correction_bits=correction, output_scale=64
        )
        return [_scaled(graph, logs, channels)]

    return StageBody((TensorType(DType.INT16, (samples,)),), ("features",), build)


def _subtraction(channels: int) -> dict[str, Any]:
    unit, even, odd, remaining = 1 << 14, 0.025, 0.06, 0.05
    return {
        "num_channels": channels,
        "smoothing": int(even * unit),
        "one_minus_smoothing": unit - int(even * unit),
        "alternate_smoothing": int(odd * unit),
        "alternate_one_minus_smoothing": unit - int(odd * unit),
        "smoothing_bits": SMOOTHING_BITS,
        "min_signal_remaining": int(remaining * unit),
        "clamping": False,
        "spectral_subtraction_bits": 14,
    }


def _energies(graph: GlueGraph, samples: int, window: NDArray[np.int16], fft: int, bank: FilterBank) -> tuple[int, int]:
    """Energies of the spectrum that the filter bank reads, uint32[fft / 2 + 1], and the bits that were scaled up."""
    count, half = len(window), fft // 2 + 1
    weighed = graph.custom(
        "Window", [samples, graph.constant(window, DType.INT16)], _flat(DType.INT16, count), shift=FILTER_BITS
    )
    scaled, bits = graph.customs("FftAutoScale", [weighed], [_flat(DType.INT16, count), TensorType(DType.INT32, ())])
    spectrum = graph.custom("Rfft", [scaled], _flat(DType.INT16, 2 * half), T=7, fft_length=fft)
    energies = graph.custom("Energy", [spectrum], _flat(DType.UINT32, half), start_index=bank.first, end_index=bank.end)
    return energies, bits


def _scaled(graph: GlueGraph, logs: int, channels: int) -> int:
    """Logarithms as int8: times 256, rounded, by 666, less 128, as the training of micro_speech has it."""
    type_ = _flat(DType.INT32, channels)
    value = graph.cast(logs, type_=type_)
    for combine, number in ((graph.mul, 256), (graph.add, 333), (graph.div, 666), (graph.add, -128)):
        value = combine(value, graph.integers(number), type_=type_)
    value = graph.minimum(value, graph.integers(127), type_=type_)
    value = graph.maximum(value, graph.integers(-128), type_=type_)
    return graph.shaped(graph.cast(value, type_=_flat(DType.INT8, channels)), (1, channels))


def _flat(dtype: DType, count: int) -> TensorType:
    return TensorType(dtype, (count,))


def rms(context: StageContext) -> StageBody:
    """The root of the mean square of all elements, as real numbers, times `scale`."""
    context.check_settings(("scale", "window"))
    count, scale = _count(context), context.number("scale", 1.0, -1e9, 1e9)

    def build(graph: GlueGraph, inputs: Sequence[int]) -> list[int]:
        type_ = TensorType(DType.FLOAT32, (1, count))
        values = graph.mul(graph.shaped(inputs[0], (1, count)), graph.floats(scale), type_=type_)
        mean = graph.mean(
            graph.mul(values, values, type_=type_), graph.integers([1]), type_=_flat(DType.FLOAT32, 1), keep_dims=False
        )
        return [graph.sqrt(mean, type_=_flat(DType.FLOAT32, 1))]

    return StageBody((_flat(DType.FLOAT32, count),), ("value",), build)


def normalize(context: StageContext) -> StageBody:
    """(x - mean) / deviation, with a number of each for each channel: the last axis. `window`: rows with `slide`."""
    context.check_settings(("mean", "deviation", "window"))
    _count(context)
    shape = context.types[0].max_shape
    if "window" in context.stage.settings:
        shape = (context.whole("window", None, 1, MAX_ELEMENTS // shape[-1]), shape[-1])
    tables = {}
    for name, least in (("mean", -1e30), ("deviation", 1e-30)):
        values = context.stage.settings.get(name)
        if not isinstance(values, list) or len(values) != shape[-1] or not all(
            type(v) in (int, float) and least <= v <= 1e30 for v in values
        ):  # fmt: skip
            context.file.fail(context.key(name), f"is a list of {shape[-1]} numbers, one for each channel")
        tables[name] = np.array(values, np.float32)

    def build(graph: GlueGraph, inputs: Sequence[int]) -> list[int]:
        type_ = TensorType(DType.FLOAT32, shape)
        centered = graph.sub(inputs[0], graph.floats(tables["mean"]), type_=type_)
        return [graph.mul(centered, graph.floats(1 / tables["deviation"]), type_=type_)]

    return StageBody((TensorType(DType.FLOAT32, shape),), ("values",), build)


def spectrogram(context: StageContext) -> StageBody:
    """The power spectrum of a frame under Hann's window: float32[1, fft / 2 + 1]."""
    context.check_settings(("window",))
    count = _count(context)
    wanted = (TensorType(DType.FLOAT32, (count,)),)
    return StageBody(wanted, ("power",), lambda graph, inputs: [_power(graph, inputs[0], count)])


def _power(graph: GlueGraph, frame: int, count: int) -> int:
    fft = _fft_length(count)
    half = fft // 2 + 1
    window = graph.floats(hann(count).astype(np.float32))
    weighed = graph.mul(frame, window, type_=_flat(DType.FLOAT32, count))
    spectrum = graph.custom("Rfft", [weighed], _flat(DType.FLOAT32, 2 * half), T=0, fft_length=fft)
    pairs = graph.shaped(spectrum, (half, 2))
    squares = graph.mul(pairs, pairs, type_=TensorType(DType.FLOAT32, (half, 2)))
    power = graph.sum(squares, graph.integers([1]), type_=_flat(DType.FLOAT32, half), keep_dims=False)
    return graph.shaped(power, (1, half))


def mel_matrix(rate: float, fft: int, channels: int, lower: float, upper: float) -> NDArray[np.float32]:
    """[channels, fft / 2 + 1]: triangles on the mel scale, each of height 1."""
    edges = np.linspace(float(_mel(lower)), float(_mel(upper)), channels + 2)
    mels = _mel(np.arange(fft // 2 + 1) * rate / fft)[None, :]
    left, center, right = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    slopes = np.minimum((mels - left) / (center - left), (right - mels) / (right - center))
    return np.asarray(np.maximum(slopes, 0), np.float32)


def cosine_matrix(coefficients: int, channels: int) -> NDArray[np.float32]:
    """[coefficients, channels]: the orthonormal DCT-II."""
    angles = np.pi / channels * np.outer(np.arange(coefficients), np.arange(channels) + 0.5)
    scale = np.where(np.arange(coefficients) == 0, math.sqrt(1 / channels), math.sqrt(2 / channels))
    return np.asarray(np.cos(angles) * scale[:, None], np.float32)


def logmel(context: StageContext) -> StageBody:
    """Natural logarithms of mel energies of a frame: float32[1, channels]."""
    context.check_settings(("rate", "channels", "lower", "upper", "window"))
    return _mel_body(context, 0)


def mfcc(context: StageContext) -> StageBody:
    """Mel-frequency cepstral coefficients of a frame: float32[1, coefficients]."""
    context.check_settings(("rate", "channels", "lower", "upper", "coefficients", "window"))
    return _mel_body(context, context.whole("coefficients", 13, 1, 256))


def _mel_body(context: StageContext, coefficients: int) -> StageBody:
    """coefficients: of the cosine transform; 0: there is none."""
    count, rate = _count(context), context.number("rate", 16000, 1, 1e6)
    channels, fft = context.whole("channels", 40, 1, 256), _fft_length(count)
    upper = context.number("upper", min(7500.0, rate / 2), 1, rate / 2)
    mel = mel_matrix(rate, fft, channels, context.number("lower", min(125.0, upper / 2), 0, upper - 1), upper)
    if coefficients > channels:
        context.file.fail(context.key("coefficients"), f"is at most {channels}, the number of channels")

    def build(graph: GlueGraph, inputs: Sequence[int]) -> list[int]:
        power = _power(graph, inputs[0], count)
        energies = _product(graph, power, mel)
        logs = graph.add(energies, graph.floats(1e-6), type_=TensorType(DType.FLOAT32, (1, channels)))
        logs = graph.log(logs, type_=TensorType(DType.FLOAT32, (1, channels)))
        return [_product(graph, logs, cosine_matrix(coefficients, channels)) if coefficients else logs]

    return StageBody((TensorType(DType.FLOAT32, (count,)),), ("coefficients" if coefficients else "features",), build)


def _product(graph: GlueGraph, vector: int, matrix: NDArray[np.float32]) -> int:
    return graph.dense(vector, graph.floats(matrix), -1, type_=TensorType(DType.FLOAT32, (1, len(matrix))))


def _count(context: StageContext) -> int:
    """Elements that the stage computes on: those of its window, which are those of its input by default."""
    if len(context.types) != 1 or context.types[0].elements < 2:
        context.file.fail(context.key("input"), f"{context.stage.builtin} reads one tensor of at least 2 elements")
    return context.whole("window", context.types[0].elements, 2, MAX_ELEMENTS)
