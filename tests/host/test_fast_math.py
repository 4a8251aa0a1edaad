"""Float operators built with -Ofast: NaN, infinities, zeros of both signs and sums in order, bit for bit as at -O1."""

from __future__ import annotations

import numpy as np
import pytest
from support.model_writer import ModelWriter
from support.native import Invocation, build_native, run_native
from support.pipeline import compile_bytes
from support.tools import requires

UNARY = ("EXP", "LOGISTIC", "TANH", "ELU", "ABS", "NEG", "SQRT", "RSQRT", "FLOOR", "RELU", "RELU6", "LOG", "SIN")
BINARY = ("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE")
ROWS = ("SOFTMAX", "LOG_SOFTMAX")
SPECIAL = (0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1.0e30, -1.0e30, 1.0e-4, 7.0, -80.0)


def float_model() -> bytes:
    writer = ModelWriter()
    graph = writer.subgraph("main")
    x, y = (graph.tensor(name, "float32", [1, len(SPECIAL)]) for name in "xy")
    outputs = []
    for operator in (*UNARY, *BINARY, *ROWS):
        output = graph.tensor(operator.lower(), "float32", [1, len(SPECIAL)])
        options = {"beta": 1.0} if operator == "SOFTMAX" else {}
        graph.operator(operator, [x, y] if operator in BINARY else [x], [output], options)
        outputs.append(output)
    graph.inputs, graph.outputs = [x, y], outputs
    return writer.finish()


@requires("gcc")
@pytest.mark.parametrize("flag", ["-Ofast", "-O2 -ffast-math"])
def test_special_values_stay_what_they_are(flag: str) -> None:
    stages = compile_bytes(float_model())
    sources = {"m": stages.sources("m")}
    rows = [np.roll(np.array([SPECIAL], np.float32), shift) for shift in range(len(SPECIAL))]
    calls = [Invocation(0, 0, (rows[0], row)) for row in rows]
    reordered, exact = (
        run_native(build_native(sources, flags=flags), calls, [stages.module.signatures])
        for flags in (flag.split(), ("-O1",))
    )
    for got, wanted in zip(reordered, exact, strict=True):
        for array, other in zip(got, wanted, strict=True):
            assert np.isnan(array).tolist() == np.isnan(other).tolist()
            np.testing.assert_array_equal(array, other)
            assert np.signbit(array[~np.isnan(array)]).tolist() == np.signbit(other[~np.isnan(other)]).tolist()
    assert np.isnan(reordered[0][0]).any()
    assert np.isinf(reordered[0][0]).any()
