"""Depthwise convolutions of several sizes over one SPLIT become one: against TFLite Micro, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.mixed_depthwise import mixed
from support.native import Invocation, build_native, run_native
from support.pipeline import Stages, compile_bytes
from tflmgen.ir.graph.module import Op, walk

Array = NDArray[Any]


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
