"""TFLM_DECODE: what TFLite Micro's compression packs is constant at build time, and computes what TFLite Micro does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.model_writer import ModelWriter
from support.native import Invocation, build_native, run_native
from support.pipeline import compile_bytes
from tflmgen.errors import ModelError
from tflmgen.ir.graph.module import Op, walk

Array = NDArray[Any]
LOOKUP, PRUNING = 0, 2
UNITS, DEPTH = 6, 20


def header(kind: int, bits: int = 0, axis: int = 0, entries: int = 0, version: int = 1) -> bytes:
    return bytes([kind, version, 0, 0, 1, axis << 4 | bits, entries]) + bytes(9)


def packed_bits(values: Array, bits: int) -> Array:
    digits = (values.reshape(-1, 1) >> np.arange(bits)[::-1]) & 1
    return np.packbits(digits.astype(np.uint8))


def model(
    packed: Array, ancillary: bytes, scales: list[float] | None = None, axis: int = 0, points: Any = None
) -> bytes:
    """A dense layer by decoded weights."""
    writer = ModelWriter()
    graph = writer.subgraph("main")
    x = graph.tensor("x", "int8", [1, DEPTH], [0.1], [0])
    scales = scales or [0.05] * UNITS
    weights = graph.tensor("weights", "int8", [UNITS, DEPTH], scales, points or [0] * len(scales), axis)
    y = graph.tensor("y", "int8", [1, UNITS], [0.5], [1])
    inputs = [graph.constant("packed", packed), graph.constant("how", np.frombuffer(ancillary, np.uint8))]
    graph.operator("CUSTOM:TFLM_DECODE", inputs, [weights])
    graph.operator("FULLY_CONNECTED", [x, weights, -1], [y])
    graph.inputs, graph.outputs = [x], [y]
    return bytes(writer.finish())


def tables(axis: int, bits: int, rng: np.random.Generator) -> bytes:
    """Lookup tables of random weights, one in all or one for each index along an axis."""
    entries = 2**bits - int(bits > 2)
    channels = 1 if axis == 15 else (UNITS, DEPTH)[axis]
    values = rng.integers(-127, 128, (channels, entries)).astype(np.int8)
    indices = rng.integers(0, entries, (UNITS, DEPTH))
    scales = [0.05] if axis == 15 else [0.05] * UNITS
    return model(packed_bits(indices, bits), header(LOOKUP, bits, axis, entries) + values.tobytes(), scales)


def pruned(channels: int, rng: np.random.Generator) -> bytes:
    kept = rng.random((UNITS, DEPTH)) < 0.4
    values = rng.integers(-127, 128, int(kept.sum())).astype(np.int8)
    return model(np.packbits(kept), header(PRUNING) + values.tobytes(), [0.05] * channels)


def tflm(data: bytes, x: Array) -> Array:
    runtime = pytest.importorskip("tflite_micro.python.tflite_micro.runtime", reason="needs tflite-micro")
    interpreter = runtime.Interpreter.from_bytes(data, arena_size=100_000)
    interpreter.set_input(x, 0)
    interpreter.invoke()
    return np.array(interpreter.get_output(0))


def test_equals_tflite_micro() -> None:
    rng = np.random.default_rng(0)
    models = [tables(axis, bits, rng) for axis in (0, 15) for bits in (1, 2, 3, 4, 5, 7)]
    models += [pruned(channels, rng) for channels in (1, UNITS)]
    stages = [compile_bytes(data) for data in models]
    for stage in stages:
        assert [n.operator for f in stage.module.functions for n in walk(f.body) if isinstance(n, Op)] == [
            "FULLY_CONNECTED"
        ]
    program = build_native({f"m{i}": s.sources(f"m{i}") for i, s in enumerate(stages)})
    inputs = [rng.integers(-128, 128, (1, DEPTH)).astype(np.int8) for _ in models]
    calls = [Invocation(i, 0, (x,)) for i, x in enumerate(inputs)]
    results = run_native(program, calls, [s.module.signatures for s in stages])
    for data, x, (got,) in zip(models, inputs, results, strict=True):
        np.testing.assert_array_equal(got, tflm(data, x))


@pytest.mark.parametrize("axis", [None, 0])
def test_what_the_compression_makes(axis: int | None) -> None:
    """The packed tensor has kept the scales of the weights; the model computes what it did before."""
    package = "tflite_micro.tensorflow.lite.micro.compression"
    compress = pytest.importorskip(f"{package}.compress", reason="needs tflite-micro").__dict__["compress"]
    spec = pytest.importorskip(f"{package}.spec")
    rng = np.random.default_rng(1)
    writer = ModelWriter()
    graph = writer.subgraph("main")
    graph.inputs = [graph.tensor("x", "int8", [1, DEPTH], [0.1], [0])]
    values = rng.integers(-3, 4, (UNITS, DEPTH)).astype(np.int8)
    weights = graph.constant("weights", values, "int8", [0.05] * UNITS, [0] * UNITS)
    graph.outputs = [graph.tensor("y", "int8", [1, UNITS], [0.1], [1])]
    graph.operator("FULLY_CONNECTED", [*graph.inputs, weights, -1], graph.outputs)
    plain = bytes(writer.finish())
    mode = spec.PerTensor() if axis is None else spec.PerChannel(axis)
    compressed = bytes(compress(plain, [spec.Tensor(0, weights, [spec.LookUpTableCompression(3, mode)])]))
    assert b"TFLM_DECODE" in compressed
    stages = [compile_bytes(data) for data in (plain, compressed)]
    program = build_native({f"m{i}": s.sources(f"m{i}") for i, s in enumerate(stages)})
    x = rng.integers(-128, 128, (1, DEPTH)).astype(np.int8)
    calls = [Invocation(i, 0, (x,)) for i in range(2)]
    (before,), (after,) = run_native(program, calls, [s.module.signatures for s in stages])
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(
    ("packed", "ancillary"),
    [
        (np.zeros(60, np.uint8), header(LOOKUP, 4, 15, 16)[:10]),
        (np.zeros(60, np.uint8), header(LOOKUP, 4, 15, 16) + bytes(15)),
        (np.full(60, 0xFF, np.uint8), header(LOOKUP, 4, 15, 15) + bytes(15)),
        (np.zeros(59, np.uint8), header(LOOKUP, 4, 15, 16) + bytes(16)),
        (np.zeros(60, np.uint8), header(LOOKUP, 0, 15, 16) + bytes(16)),
        (np.zeros(60, np.uint8), header(LOOKUP, 4, 2, 16) + bytes(16)),
        (np.zeros(60, np.uint8), header(LOOKUP, 4, 15, 16, version=2) + bytes(16)),
        (np.zeros(60, np.uint8), header(1, 4, 15, 16) + bytes(16)),
        (np.full(15, 0xFF, np.uint8), header(PRUNING) + bytes(119)),
        (np.zeros(14, np.uint8), header(PRUNING)),
    ],
)
def test_bytes_that_cannot_be_decoded(packed: Array, ancillary: bytes) -> None:
    with pytest.raises(ModelError, match="requires lookup tables or pruned elements of version 1"):
        compile_bytes(model(packed, ancillary, [0.05]))
