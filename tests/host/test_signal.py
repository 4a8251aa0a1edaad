"""TFLite Micro's signal operators, run frame after frame, against TFLite Micro itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from numpy.typing import NDArray
from support import kernel_harness
from support.kernel_harness import run_kernels
from support.model_writer import ModelWriter
from support.native import RESET, Invocation, build_native, run_native
from support.pipeline import compile_bytes
from tflmgen.errors import ModelError
from tflmgen.ir.graph.module import EntryPoint
from tflmgen.kernels.table import OPERATORS

Array = NDArray[Any]
TENSOR_TYPES = {"float32": 0, "int32": 2, "int16": 7}
RUNS = 6


@dataclass(frozen=True)
class Case:
    """One operator: constants among its inputs are arrays, the others (dtype, shape). `valid`: output 1 judges it."""

    name: str
    inputs: Sequence[tuple[str, tuple[int, ...]] | Array]
    outputs: Sequence[tuple[str, tuple[int, ...]]]
    options: Mapping[str, Any] = field(default_factory=dict)
    valid: bool = False
    part: tuple[int, int] | None = None

    @property
    def model(self) -> bytes:
        writer = ModelWriter()
        graph = writer.subgraph("main")
        indices = [
            graph.constant(f"c{i}", item) if isinstance(item, np.ndarray) else graph.tensor(f"x{i}", item[0], item[1])
            for i, item in enumerate(self.inputs)
        ]
        graph.inputs = [at for at, item in zip(indices, self.inputs, strict=True) if not isinstance(item, np.ndarray)]
        graph.outputs = [graph.tensor(f"y{i}", dtype, shape) for i, (dtype, shape) in enumerate(self.outputs)]
        custom = bytes(flexbuffers.Dumps(dict(self.options)))
        graph.operator(f"CUSTOM:Signal{self.name}", indices, graph.outputs, custom_options=custom)
        return bytes(writer.finish())

    def values(self, rng: np.random.Generator) -> tuple[Array, ...]:
        arrays = []
        for item in self.inputs:
            if isinstance(item, np.ndarray):
                continue
            dtype, shape = np.dtype(item[0]), item[1]
            if dtype.kind == "f":
                arrays.append(rng.normal(size=shape).astype(dtype))
                continue
            # Of all magnitudes alike, so that small numbers come up too.
            shift = dtype.type(rng.integers(0, 8 * dtype.itemsize - 1))
            wide = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
            arrays.append(wide >> shift if shape else np.asarray(wide % 12, dtype))
        return tuple(arrays)


Rng = np.random.Generator
Maker = Callable[[np.random.Generator], Case]


def window(rng: Rng) -> Case:
    length = int(rng.integers(1, 20))
    shape = ((length,), (3, length), (2, 1, length))[rng.integers(3)]
    weights = rng.integers(-32768, 32768, length).astype(np.int16)
    return Case("Window", [("int16", shape), weights], [("int16", shape)], {"shift": int(rng.integers(0, 20))})


def auto_scale(rng: Rng) -> Case:
    shape = (int(rng.integers(1, 30)),)
    return Case("FftAutoScale", [("int16", shape)], [("int16", shape), ("int32", ())])


def energy(rng: Rng) -> Case:
    count = int(rng.integers(1, 30))
    start, end = sorted(int(i) for i in rng.integers(0, count + 1, 2))
    fields = {"start_index": start, "end_index": end}
    return Case("Energy", [("int16", (2 * count,))], [("uint32", (count,))], fields, part=(start, end))


LENGTHS = (6, 10, 24, 90, 480)
"""Lengths that only transforms of floats have: TensorFlow Lite Micro's kernel computes none of them."""


def rfft(rng: Rng) -> Case:
    length, dtype = 2 ** int(rng.integers(2, 11)), str(rng.choice(list(TENSOR_TYPES)))
    length_in_use = int(rng.integers(1, length + 1))
    outer = ((), (2,), (1, 3))[rng.integers(3)]
    fields = {"T": TENSOR_TYPES[dtype], "fft_length": length}
    return Case("Rfft", [(dtype, (*outer, length_in_use))], [(dtype, (*outer, length + 2))], fields)


def irfft(rng: Rng) -> Case:
    length, dtype = 2 ** int(rng.integers(2, 11)), str(rng.choice(list(TENSOR_TYPES)))
    outer = ((), (2,), (1, 3))[rng.integers(3)]
    fields = {"T": TENSOR_TYPES[dtype], "fft_length": length}
    return Case("Irfft", [(dtype, (*outer, length + 2))], [(dtype, (*outer, length))], fields)


def filter_bank(rng: Rng) -> Case:
    channels, inputs, weights = int(rng.integers(1, 9)), 40, 60
    widths = rng.integers(0, 12, channels + 1)
    starts = [rng.integers(0, limit + 1 - widths) for limit in (inputs, weights)]
    constants = [rng.integers(-4096, 4097, weights) for _ in range(2)]
    tables = [np.asarray(values, np.int16) for values in (*constants, *starts, widths)]
    return Case("FilterBank", [("uint32", (inputs,)), *tables], [("uint64", (channels,))], {"num_channels": channels})


def square_root(rng: Rng) -> Case:
    shape = (int(rng.integers(1, 30)),)
    return Case("FilterBankSquareRoot", [("uint64", shape), ("int32", ())], [("uint32", shape)])


def subtraction(rng: Rng) -> Case:
    channels, bits = int(rng.integers(1, 20)), int(rng.integers(8, 16))
    smoothing, alternate, least = (int(i) for i in rng.integers(0, 2**bits + 1, 3))
    fields = {
        "num_channels": channels,
        "smoothing": smoothing,
        "one_minus_smoothing": 2**bits - smoothing,
        "alternate_smoothing": alternate,
        "alternate_one_minus_smoothing": 2**bits - alternate,
        "min_signal_remaining": least,
        "smoothing_bits": int(rng.integers(0, 13)),
        "spectral_subtraction_bits": bits,
        "clamping": bool(rng.integers(2)),
    }
    outputs = [("uint32", (channels,))] * 2
    return Case("FilterBankSpectralSubtraction", [("uint32", (channels,))], outputs, fields)


def pcan(rng: Rng) -> Case:
    shape = (int(rng.integers(1, 30)),)
    table = rng.integers(-32768, 32768, 125).astype(np.int16)
    inputs: list[Any] = [("uint32", shape), ("uint32", shape), table]
    return Case("PCAN", inputs, [("uint32", shape)], {"snr_shift": int(rng.integers(0, 20))})


def log(rng: Rng) -> Case:
    shape = (int(rng.integers(1, 60)),)
    fields = {"input_correction_bits": int(rng.integers(0, 8)), "output_scale": int(rng.integers(1, 5000))}
    return Case("FilterBankLog", [("uint32", shape)], [("int16", shape)], fields)


def framer(rng: Rng) -> Case:
    step, frames = int(rng.integers(1, 7)), int(rng.integers(1, 5))
    prefill = bool(rng.integers(2))
    size = int(rng.integers(step if prefill else 1, 25))
    outer = ((), (1,), (2,))[rng.integers(3)]
    fields = {"frame_size": size, "frame_step": step, "prefill": prefill}
    outputs = [("int16", (*outer, frames, size)), ("bool", ())]
    return Case("Framer", [("int16", (*outer, frames * step))], outputs, fields, valid=True)


def stacker(rng: Rng) -> Case:
    channels, left, right = (int(i) for i in rng.integers((1, 0, 0), (6, 4, 4)))
    fields = {
        "num_channels": channels,
        "stacker_left_context": left,
        "stacker_right_context": right,
        "stacker_step": int(rng.integers(1, left + right + 2)),
    }
    outputs = [("int16", (channels * (left + right + 1),)), ("bool", ())]
    return Case("Stacker", [("int16", (channels,))], outputs, fields, valid=True)


def delay(rng: Rng) -> Case:
    shape = ((7,), (2, 5), (1, 2, 4))[rng.integers(3)]
    return Case("Delay", [("int16", shape)], [("int16", shape)], {"delay_length": int(rng.integers(0, 12))})


def overlap_add(rng: Rng) -> Case:
    dtype = str(rng.choice(["int16", "float32"]))
    outer, frames, size = ((), (1,), (2,))[rng.integers(3)], int(rng.integers(1, 4)), int(rng.integers(1, 9))
    step = int(rng.integers(1, size + 1))
    fields = {"T": TENSOR_TYPES[dtype], "frame_step": step}
    return Case("OverlapAdd", [(dtype, (*outer, frames, size))], [(dtype, (*outer, frames * step))], fields)


MAKERS = (
    window,
    auto_scale,
    energy,
    rfft,
    irfft,
    filter_bank,
    square_root,
    subtraction,
    pcan,
    log,
    framer,
    stacker,
    delay,
    overlap_add,
)


def tflm(case: Case, sequence: Sequence[Sequence[Array]]) -> list[list[Array]]:
    runtime = pytest.importorskip("tflite_micro.python.tflite_micro.runtime", reason="needs tflite-micro")
    interpreter = runtime.Interpreter.from_bytes(case.model, arena_size=2_000_000)
    results = []
    for values in sequence:
        for i, value in enumerate(values):
            interpreter.set_input(value, i)
        interpreter.invoke()
        results.append([np.array(interpreter.get_output(i)) for i in range(len(case.outputs))])
    return results


def check(cases: Sequence[Case], seed: int) -> None:
    """Each case on a sequence of frames, and on its first two again after a reset."""
    rng = np.random.default_rng(seed)
    program, signatures = native(cases)
    calls: list[Invocation] = []
    wanted: list[tuple[Case, list[Array]]] = []
    for i, case in enumerate(cases):
        sequence = [case.values(rng) for _ in range(RUNS)]
        expected = tflm(case, sequence)
        calls += [Invocation(i, 0, values) for values in sequence]
        calls += [Invocation(i, RESET, ()), *(Invocation(i, 0, values) for values in sequence[:2])]
        wanted += [(case, outputs) for outputs in (*expected, [], *expected[:2])]
    results = run_native(program, calls, signatures)
    for (case, outputs), got in zip(wanted, results, strict=True):
        compare(case, outputs, got)


def native(cases: Sequence[Case]) -> tuple[Path, list[Sequence[EntryPoint]]]:
    stages = [compile_bytes(case.model) for case in cases]
    program = build_native({f"m{i}": stage.sources(f"m{i}") for i, stage in enumerate(stages)})
    return program, [stage.module.signatures for stage in stages]


def compare(case: Case, outputs: Sequence[Array], got: Sequence[Array]) -> None:
    for number, (expected, value) in enumerate(zip(outputs, got, strict=True)):
        if case.valid and number == 0 and not outputs[1]:
            continue  # TFLite Micro leaves in it what was there
        if value.dtype.kind == "f":
            np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-5, err_msg=str(case))
        else:
            part = slice(*case.part) if case.part else ...
            np.testing.assert_array_equal(value[part], expected[part], err_msg=str(case))


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_equals_tflite_micro(make: Maker) -> None:
    rng = np.random.default_rng(3)
    check([make(rng) for _ in range(4)], 4)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_sweep(make: Maker, seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    check([make(rng) for _ in range(12)], seed)


def test_other_lengths_of_floats_equal_numpy() -> None:
    """And their inverses, of whole and of short frames."""
    rng = np.random.default_rng(1)
    cases, wanted = [], []
    for length in LENGTHS:
        frames = rng.normal(size=(2, length - length // 3 % 2)).astype(np.float32)
        spectra = np.fft.rfft(frames, length)
        pairs = np.stack([spectra.real, spectra.imag], -1).reshape(2, -1).astype(np.float32)
        whole = np.fft.irfft(spectra, length).astype(np.float32)
        fields = {"T": TENSOR_TYPES["float32"], "fft_length": length}
        cases += [Case("Rfft", [("float32", frames.shape)], [("float32", pairs.shape)], fields)]
        cases += [Case("Irfft", [("float32", pairs.shape)], [("float32", whole.shape)], fields)]
        wanted += [(frames, pairs), (pairs, whole)]
    program, signatures = native(cases)
    calls = [Invocation(i, 0, (values,)) for i, (values, _) in enumerate(wanted)]
    for case, (_, expected), (got,) in zip(cases, wanted, run_native(program, calls, signatures), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=3e-5, err_msg=str(case))


def test_extreme_values() -> None:
    """Frames of zeros, of the least and of the greatest number."""
    cases = [make(np.random.default_rng(9)) for make in MAKERS]
    program, signatures = native(cases)
    for fill in ("zero", "min", "max"):
        calls, wanted = [], []
        for i, case in enumerate(cases):
            values = tuple(_filled(value, fill) for value in case.values(np.random.default_rng(0)))
            calls += [Invocation(i, 0, values), Invocation(i, RESET, ())]
            wanted.append(tflm(case, [values])[0])
        results = run_native(program, calls, signatures)[::2]
        for case, outputs, got in zip(cases, wanted, results, strict=True):
            compare(case, outputs, got)


def _filled(value: Array, fill: str) -> Array:
    if value.dtype.kind == "f" or fill == "zero" or not value.ndim:
        return np.zeros_like(value)
    return np.full_like(value, getattr(np.iinfo(value.dtype), fill))


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_overlaps(make: Maker) -> None:
    """The same results with outputs over inputs, wherever the kernel permits it."""
    rng = np.random.default_rng(5)
    runs, overlaps = [], []
    for _ in range(4):
        case, values = harness_case(make(rng), rng)
        if case.states or OPERATORS[case.operator].state is None:  # without, nothing is kept and nothing computed
            claims = [None, *case.kernel.overlaps]
            overlaps += claims
            runs += [(case, values)] * len(claims)
    alone: list[Array] = []
    for (case, _), overlap, outputs in zip(runs, overlaps, run_kernels(runs, overlaps), strict=True):
        alone = outputs if overlap is None else alone
        for got, want in zip(outputs, alone, strict=True):
            np.testing.assert_array_equal(got, want, err_msg=f"{case} {overlap}")


def harness_case(case: Case, rng: Rng) -> tuple[kernel_harness.Case, list[Array | None]]:
    tensors = [
        kernel_harness.constant(str(item.dtype), item) if isinstance(item, np.ndarray) else kernel_harness.tensor(*item)
        for item in case.inputs
    ]
    outputs = [kernel_harness.tensor(dtype, ()) for dtype, _ in case.outputs]
    kernel_case = kernel_harness.make_case(f"CUSTOM:Signal{case.name}", tensors, outputs, case.options)
    arrays = iter(case.values(rng))
    values: list[Array | None] = [None if isinstance(item, np.ndarray) else next(arrays) for item in case.inputs]
    state = OPERATORS[kernel_case.operator].state
    for piece in state(kernel_case.without_state.instance) if state else ():
        start = np.frombuffer(piece.initial or bytes(piece.type.bytes), piece.dtype.numpy)
        values.append(start.reshape(piece.shape))
    return kernel_case, values


@pytest.mark.parametrize(
    ("make", "change", "message"),
    [
        (rfft, {"fft_length": 56}, "fft_length is 56, but must be an even product of 2, 3 and 5"),
        (rfft, {"fft_length": 480, "T": 7}, "requires float32, or a length that is a power of two"),
        (rfft, {"fft_length": 2}, "fft_length is 2, but must be from 4 to 65536"),
        (rfft, {"fft_length": None}, "the custom options lack fft_length"),
        (rfft, {"fft_length": 0.5}, "fft_length is not an integer"),
        (window, {"shift": 32}, "shift is 32, but must be from 0 to 31"),
        (energy, {"end_index": 900}, "a range within the spectrum"),
        (filter_bank, {"num_channels": 40}, "one more band than num_channels"),
        (stacker, {"stacker_step": 90}, "a stacker_step of at most the number of stacked frames"),
        (overlap_add, {"frame_step": 90}, "a frame_step of at most the input's innermost dimension"),
        (framer, {"frame_step": 900}, "an input whose innermost dimension is a multiple of frame_step"),
        (subtraction, {"num_channels": 90}, "an input of num_channels elements"),
    ],
)
def test_bad_options(make: Maker, change: dict[str, Any], message: str) -> None:
    case = make(np.random.default_rng(0))
    fields = {k: v for k, v in {**case.options, **change}.items() if v is not None}
    with pytest.raises(ModelError) as caught:
        compile_bytes(replace(case, options=fields).model)
    assert f"operator 0 (CUSTOM:Signal{case.name}): " in str(caught.value)
    assert message in str(caught.value)
