"""The product's reference equals TFLite Micro on its audio operators and CIRCULAR_BUFFER, frame after frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from support.model_writer import ModelWriter
from tflmgen.frontend import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.reference import Array, Interpreter
from tflmgen.reference.module_interpreter import ModuleInterpreter

runtime = pytest.importorskip("tflite_micro.python.tflite_micro.runtime", reason="tflite-micro is the reference")

Rng = np.random.Generator
Described = tuple[str, tuple[int, ...]]
FRAMES = 6
TYPE_NUMBERS = {"int32": 2, "int16": 7}
"""Of transforms; TFLite Micro's Python package crashes on those of floats."""


@dataclass(frozen=True)
class Signal:
    """One operator: inputs of a run, or constants, and outputs.

    fills: frames until its state depends on nothing but the inputs
    """

    name: str
    inputs: tuple[Described | Array, ...]
    outputs: tuple[Described, ...]
    options: Mapping[str, Any]
    fills: int = 0


def magnitudes(rng: Rng, dtype: str, shape: tuple[int, ...]) -> Array:
    """Of many magnitudes, the greatest included."""
    limits = np.iinfo(dtype)
    high = float(2.0 ** rng.uniform(0, limits.bits - (limits.min < 0)))
    low = -high if limits.min < 0 else 0.0
    reals = np.clip(rng.uniform(low, high, shape), float(limits.min), np.nextafter(float(limits.max), 0))
    return np.asarray(reals.astype(dtype))


def window(rng: Rng) -> Signal:
    shape = (int(rng.integers(1, 3)), int(rng.integers(1, 20)))
    weights = rng.integers(-32768, 32768, shape[1]).astype(np.int16)
    return Signal("SignalWindow", (("int16", shape), weights), (("int16", shape),), {"shift": int(rng.integers(16))})


def auto_scale(rng: Rng) -> Signal:
    shape = (int(rng.integers(1, 20)),)
    return Signal("SignalFftAutoScale", (("int16", shape),), (("int16", shape), ("int32", ())), {})


def energy(rng: Rng) -> Signal:
    count = int(rng.integers(1, 20))
    options = {"start_index": 0, "end_index": count}
    return Signal("SignalEnergy", (("int16", (2 * count,)),), (("uint32", (count,)),), options)


def rfft(rng: Rng) -> Signal:
    dtype = str(rng.choice(list(TYPE_NUMBERS)))
    length = 2 ** int(rng.integers(2, 9))
    used = int(rng.integers(1, length + 1))
    options = {"T": TYPE_NUMBERS[dtype], "fft_length": length}
    return Signal("SignalRfft", ((dtype, (2, used)),), ((dtype, (2, length + 2)),), options)


def irfft(rng: Rng) -> Signal:
    dtype = str(rng.choice(list(TYPE_NUMBERS)))
    length = 2 ** int(rng.integers(2, 9))
    options = {"T": TYPE_NUMBERS[dtype], "fft_length": length}
    return Signal("SignalIrfft", ((dtype, (2, length + 2)),), ((dtype, (2, length)),), options)


def filter_bank(rng: Rng) -> Signal:
    channels, size, table = int(rng.integers(1, 6)), 30, 40
    widths = rng.integers(0, 8, channels + 1)
    starts = rng.integers(0, size - 8, channels + 1)
    firsts = rng.integers(0, table - 8, channels + 1)
    weights = [rng.integers(0, 4097, table).astype(np.int16) for _ in range(2)]
    tables = [a.astype(np.int16) for a in (starts, firsts, widths)]
    return Signal(
        "SignalFilterBank",
        (("uint32", (size,)), *weights, *tables),
        (("uint64", (channels,)),),
        {"num_channels": channels},
    )


def square_root(rng: Rng) -> Signal:
    shape = (int(rng.integers(1, 20)),)
    shift = np.array(rng.integers(0, 16), np.int32)
    return Signal("SignalFilterBankSquareRoot", (("uint64", shape), shift), (("uint32", shape),), {})


def subtraction(rng: Rng) -> Signal:
    count = int(rng.integers(1, 12))
    names = ("smoothing", "one_minus_smoothing", "alternate_smoothing", "alternate_one_minus_smoothing")
    options = {name: int(rng.integers(0, 1 << 14)) for name in (*names, "min_signal_remaining")}
    options |= {"num_channels": count, "smoothing_bits": int(rng.integers(12)), "spectral_subtraction_bits": 14}
    signal = ("uint32", (count,))
    clamping = {"clamping": bool(rng.integers(2))}
    return Signal("SignalFilterBankSpectralSubtraction", (signal,), (signal, signal), {**options, **clamping})


def pcan(rng: Rng) -> Signal:
    signal = ("uint32", (int(rng.integers(1, 12)),))
    gains = rng.integers(-32768, 32768, 125).astype(np.int16)
    return Signal("SignalPCAN", (signal, signal, gains), (signal,), {"snr_shift": int(rng.integers(0, 16))})


def logarithm(rng: Rng) -> Signal:
    shape = (int(rng.integers(1, 20)),)
    options = {"input_correction_bits": int(rng.integers(0, 6)), "output_scale": int(rng.integers(1, 2000))}
    return Signal("SignalFilterBankLog", (("uint32", shape),), (("int16", shape),), options)


def delay(rng: Rng) -> Signal:
    shape = (2, int(rng.integers(1, 10)))
    return Signal("SignalDelay", (("int16", shape),), (("int16", shape),), {"delay_length": int(rng.integers(1, 15))})


def overlap_add(rng: Rng) -> Signal:
    size, count = int(rng.integers(1, 12)), int(rng.integers(1, 4))
    step = int(rng.integers(1, size + 1))
    options = {"T": TYPE_NUMBERS["int16"], "frame_step": step}
    return Signal("SignalOverlapAdd", (("int16", (2, count, size)),), (("int16", (2, count * step)),), options)


def circular_buffer(rng: Rng) -> Signal:
    slots, width, depth = (int(n) for n in rng.integers(1, 5, 3))
    outputs: tuple[Described, ...] = (("int8", (1, slots, width, depth)),)
    cycles = int(rng.integers(1, 4)) if rng.integers(2) else 1
    outputs += (("bool", (1,)),) if cycles > 1 or rng.integers(2) else ()
    return Signal("CIRCULAR_BUFFER", (("int8", (1, 1, width, depth)),), outputs, {"cycles_max": cycles}, slots - 1)


def framer(rng: Rng) -> Signal:
    step, count = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    size = step + int(rng.integers(0, 9))
    options = {"frame_size": size, "frame_step": step, "prefill": bool(rng.integers(2))}
    outputs: tuple[Described, ...] = (("int16", (2, count, size)), ("bool", ()))
    return Signal("SignalFramer", (("int16", (2, count * step)),), outputs, options)


def stacker(rng: Rng) -> Signal:
    channels, left, right = int(rng.integers(1, 6)), int(rng.integers(0, 3)), int(rng.integers(0, 3))
    size = (left + 1 + right) * channels
    options = {
        "num_channels": channels,
        "stacker_left_context": left,
        "stacker_right_context": right,
        "stacker_step": int(rng.integers(1, left + right + 2)),
    }
    outputs: tuple[Described, ...] = (("int16", (size,)), ("bool", ()))
    return Signal("SignalStacker", (("int16", (channels,)),), outputs, options)


MAKERS: tuple[Callable[[Rng], Signal], ...] = (
    *(window, auto_scale, energy, rfft, irfft, filter_bank, square_root, subtraction, pcan, logarithm, delay),
    *(overlap_add, circular_buffer, framer, stacker),
)


FRAMED = ("SignalFramer", "SignalStacker")
"""Operators whose second output says whether the first is valid."""


def model_of(signal: Signal) -> bytes:
    writer = ModelWriter()
    graph = writer.subgraph("main")
    inputs = []
    for number, operand in enumerate(signal.inputs):
        if isinstance(operand, np.ndarray):
            inputs.append(graph.constant(f"c{number}", operand, str(operand.dtype)))
        else:
            inputs.append(graph.tensor(f"x{number}", operand[0], list(operand[1])))
            graph.inputs.append(inputs[-1])
    outputs = [graph.tensor(f"y{number}", dtype, list(shape)) for number, (dtype, shape) in enumerate(signal.outputs)]
    graph.outputs = outputs
    graph.operator(f"CUSTOM:{signal.name}", inputs, outputs, custom_options=bytes(flexbuffers.Dumps(signal.options)))
    return bytes(writer.finish())


def check(signal: Signal, rng: Rng) -> None:
    data = model_of(signal)
    model = parse_model(data, f"{signal.name}.tflite")
    module = import_model(model)
    file, graph = Interpreter(model), ModuleInterpreter(module)
    tflm = runtime.Interpreter.from_bytes(data, arena_size=200_000)
    kinds = [d for d in signal.inputs if not isinstance(d, np.ndarray)]
    for frame in range(FRAMES):
        values = [magnitudes(rng, dtype, shape) for dtype, shape in kinds]
        for number, value in enumerate(values):
            tflm.set_input(value, number)
        tflm.invoke()
        outcomes = file.invoke(None, values), graph.invoke(module.signatures[0], values)
        # TFLite Micro leaves frames as they were that are not whole yet.
        has_frames = signal.name not in FRAMED or bool(np.all(tflm.get_output(1)))
        for number, (_, shape) in enumerate(signal.outputs):
            want = np.array(tflm.get_output(number)).reshape(shape)
            for got in outcomes if (frame >= signal.fills and has_frames) or number else ():
                where = f"{signal}, frame {frame}, output {number}"
                np.testing.assert_array_equal(got[number].reshape(shape), want, err_msg=where)


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: str(make.__name__))
@pytest.mark.parametrize("count", [6, pytest.param(200, marks=pytest.mark.sweep)])
def test_random_operators(make: Callable[[Rng], Signal], count: int) -> None:
    for seed in range(count):
        rng = np.random.default_rng([seed, *make.__name__.encode()])
        check(make(rng), rng)


@pytest.mark.parametrize("name", ["SignalRfft", "SignalIrfft"])
@pytest.mark.parametrize("length", [4, 8, 64, 512])
def test_transforms_of_floats(name: str, length: int) -> None:
    rng = np.random.default_rng(length)
    shapes = [(2, length), (2, length + 2)] if name == "SignalRfft" else [(2, length + 2), (2, length)]
    kinds: list[Described] = [("float32", shape) for shape in shapes]
    signal = Signal(name, (kinds[0],), (kinds[1],), {"T": 0, "fft_length": length})
    data = model_of(signal)
    tflm = runtime.Interpreter.from_bytes(data, arena_size=200_000)
    values = rng.normal(size=shapes[0]).astype(np.float32)
    tflm.set_input(values, 0)
    tflm.invoke()
    want = np.array(tflm.get_output(0)).reshape(shapes[1])
    (got,) = Interpreter(parse_model(data, "transform.tflite")).invoke(None, [values])
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5 * float(np.abs(want).max()))
