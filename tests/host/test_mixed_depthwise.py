"""Depthwise convolutions of several sizes over one SPLIT become one: against TFLite Micro, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.model_writer import ModelWriter
from support.native import Invocation, build_native, run_native
from support.pipeline import Stages, compile_bytes
from tflmgen.ir.graph import Op, walk

Array = NDArray[Any]
COLUMNS = 3
INPUT: dict[str, Any] = {"scale": [0.25], "zero_point": [-3]}
RESULT: dict[str, Any] = {"scale": [0.5], "zero_point": [4]}


def mixed(
    rng: np.random.Generator,
    taps: Sequence[int],
    channels: Sequence[int],
    positions: int = 1,
    activations: Sequence[int] = (0, 0, 0),
    returned: bool = False,
    biases: bool = True,
) -> bytes:
    """Channels split into groups, each cut to the last rows that its filter needs, convolved and joined."""
    w = ModelWriter()
    g = w.subgraph("main")
    rows, total = max(taps) + positions - 1, sum(channels)
    x = g.tensor("x", "int8", [1, rows, COLUMNS, total], **INPUT)
    sizes, axis = g.constant("sizes", list(channels), "int32"), g.constant("axis", 3, "int32")
    parts = [g.tensor(f"part{i}", "int8", [1, rows, COLUMNS, c], **INPUT) for i, c in enumerate(channels)]
    g.operator("SPLIT_V", [x, sizes, axis], parts, {"num_splits": len(parts)})
    results = []
    for i, (part, k, c, activation) in enumerate(zip(parts, taps, channels, activations, strict=False)):
        data = part
        if k < max(taps):
            begin = g.constant(f"begin{i}", [0, max(taps) - k, 0, 0], "int32")
            size = g.constant(f"size{i}", [1, rows - max(taps) + k, COLUMNS, c], "int32")
            data = g.tensor(f"rows{i}", "int8", [1, rows - max(taps) + k, COLUMNS, c], **INPUT)
            g.operator("SLICE", [part, begin, size], [data])
        scales = rng.uniform(0.001, 0.02, c).astype(np.float32)
        weights = g.constant(
            f"w{i}", rng.integers(-127, 128, (1, k, 2, c)), "int8", scale=scales, zero_point=[0] * c, axis=3
        )
        operands = [data, weights]
        if biases or i:
            operands.append(g.constant(f"b{i}", rng.integers(-500, 500, c), "int32", scale=scales * 0.25))
        result = g.tensor(f"y{i}", "int8", [1, positions, COLUMNS - 1, c], **RESULT)
        options = {
            "padding": 1,
            "stride_h": 1,
            "stride_w": 1,
            "depth_multiplier": 1,
            "fused_activation_function": activation,
        }
        g.operator("DEPTHWISE_CONV_2D", operands, [result], options)
        results.append(result)
    y = g.tensor("y", "int8", [1, positions, COLUMNS - 1, total], **RESULT)
    g.operator("CONCATENATION", results, [y], {"axis": -1})
    g.inputs, g.outputs = [x], [y, results[1]] if returned else [y]
    return w.finish()


def convolutions(stages: Stages) -> list[Op]:
    nodes = [n for n in walk(stages.module.functions[0].body) if isinstance(n, Op)]
    return [n for n in nodes if n.operator == "DEPTHWISE_CONV_2D"]


def check(rng: np.random.Generator, data: bytes, stages: Stages) -> None:
    interpreter = pytest.importorskip("tflite_micro.python.tflite_micro.runtime").Interpreter.from_bytes(data)
    ports = stages.module.signatures[0].inputs
    inputs = [rng.integers(-128, 128, ports[0].type.max_shape).astype(np.int8) for _ in range(4)]
    program = build_native({"m": stages.sources("m")})
    got = run_native(program, [Invocation(0, 0, (x,)) for x in inputs], [stages.module.signatures])
    for x, outputs in zip(inputs, got, strict=True):
        interpreter.set_input(x, 0)
        interpreter.invoke()
        for index, output in enumerate(outputs):
            np.testing.assert_array_equal(output, interpreter.get_output(index))


@pytest.mark.parametrize("case", range(6))
def test_groups_become_one_convolution(case: int) -> None:
    rng = np.random.default_rng(case)
    taps = [int(t) for t in rng.integers(2, 7, 2 + case % 2)]
    channels = [int(c) for c in rng.integers(4, 9, len(taps))]
    data = mixed(rng, taps, channels, positions=1, returned=case % 3 == 1, biases=case % 2 == 0)
    stages = compile_bytes(data)
    assert len(convolutions(stages)) == 1
    check(rng, data, stages)


@pytest.mark.parametrize(
    "case",
    [
        {"taps": (2, 3), "channels": (4, 4), "activations": (0, 1)},
        {"taps": (1, 9), "channels": (20, 2), "positions": 30},
    ],
    ids=["activations differ", "zeros cost more than copies"],
)
def test_groups_stay_apart(case: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    data = mixed(rng, **case)
    stages = compile_bytes(data)
    assert len(convolutions(stages)) == 2
    check(rng, data, stages)
