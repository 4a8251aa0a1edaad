"""CIRCULAR_BUFFER against TFLite Micro, once its window has filled: before that it holds what the arena held."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from numpy.typing import NDArray
from support.model_writer import ModelWriter
from support.native import RESET, Invocation, build_native, run_native
from support.pipeline import compile_bytes
from tflmgen.errors import ModelError

Array = NDArray[Any]
Size = tuple[int, int, int]


def model(size: Size, cycles: int | None, outputs: int, scale: float = 0.1) -> bytes:
    slots, width, depth = size
    writer = ModelWriter()
    graph = writer.subgraph("main")
    graph.inputs = [graph.tensor("x", "int8", [1, 1, width, depth], [0.1], [3])]
    graph.outputs = [graph.tensor("window", "int8", [1, slots, width, depth], [scale], [3])]
    if outputs == 2:
        graph.outputs.append(graph.tensor("valid", "bool", [1]))
    custom = bytes(flexbuffers.Dumps({} if cycles is None else {"cycles_max": cycles}))
    graph.operator("CUSTOM:CIRCULAR_BUFFER", graph.inputs, graph.outputs, custom_options=custom)
    return bytes(writer.finish())


def tflm(data: bytes, frames: list[Array], outputs: int) -> list[list[Array]]:
    runtime = pytest.importorskip("tflite_micro.python.tflite_micro.runtime", reason="needs tflite-micro")
    interpreter = runtime.Interpreter.from_bytes(data, arena_size=100_000)
    results = []
    for frame in frames:
        interpreter.set_input(frame, 0)
        interpreter.invoke()
        results.append([np.array(interpreter.get_output(i)) for i in range(outputs)])
    return results


CASES: list[tuple[Size, int, int]] = [
    ((4, 1, 3), 1, 1),
    ((4, 2, 3), 1, 2),
    ((3, 1, 5), 2, 2),
    ((5, 3, 1), 3, 2),
    ((1, 2, 2), 2, 2),
    ((1, 2, 2), 1, 1),
]


def test_equals_tflite_micro() -> None:
    rng = np.random.default_rng(0)
    models = [model(*case) for case in CASES]
    stages = [compile_bytes(data) for data in models]
    program = build_native({f"m{i}": s.sources(f"m{i}") for i, s in enumerate(stages)})
    calls: list[Invocation] = []
    wanted: list[tuple[int, list[Array]]] = []
    for i, ((size, _, outputs), data) in enumerate(zip(CASES, models, strict=True)):
        frames = [rng.integers(-128, 128, (1, 1, *size[1:])).astype(np.int8) for _ in range(9)]
        expected = list(enumerate(tflm(data, frames, outputs)))
        calls += [Invocation(i, 0, (frame,)) for frame in frames]
        calls += [Invocation(i, RESET, ()), Invocation(i, 0, (frames[0],))]
        wanted += [*((max(0, size[0] - 1 - k), arrays) for k, arrays in expected), (0, [])]
        wanted.append((max(0, size[0] - 1), expected[0][1]))
    results = run_native(program, calls, [s.module.signatures for s in stages])
    for got, (empty, want) in zip(results, wanted, strict=True):
        if want:
            np.testing.assert_array_equal(got[0][:, empty:], want[0][:, empty:])
            assert not got[0][:, :empty].any()
            assert len(got) == 1 or got[1] == want[1]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (model((4, 1, 3), 2, 1), "a second output if"),
        (model((4, 1, 3), 0, 1), "cycles_max is 0, but must be from 1"),
        (model((4, 1, 3), None, 2), "the custom options lack cycles_max"),
        (model((4, 1, 3), 1, 1, scale=0.2), "one scale and zero point for the input and the window"),
    ],
)
def test_what_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        compile_bytes(data)
    assert message in str(caught.value)
