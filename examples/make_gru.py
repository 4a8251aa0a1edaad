"""Makes a GRU as Keras 3 and TensorFlow's converter lower it: a WHILE over time, its gates as operators of the body.

    python examples/make_gru.py gru.tflite

x float32[1, 12, 6] -> the last state, float32[1, 8]. The weights are seeded random numbers.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from support.model_writer import ModelWriter, SubgraphWriter  # noqa: E402

STEPS, FEATURES, UNITS = 12, 6, 8
GATES = 3 * UNITS
SEED = 5

Array = NDArray[Any]


def weights() -> dict[str, Array]:
    """Kernel [3 * UNITS, FEATURES], recurrent kernel [3 * UNITS, UNITS]; gates: update, reset, candidate."""
    rng = np.random.RandomState(SEED)
    shapes = {"kernel": (GATES, FEATURES), "recurrent": (GATES, UNITS)}
    return {name: rng.uniform(-0.5, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}


def reference(x: Array) -> Array:
    """The state after all of x, [1, UNITS], computed in float64."""
    w = weights()
    state = np.zeros((1, UNITS))
    for step in x[0].astype(float):
        inner, outer = state @ w["recurrent"].T.astype(float), step @ w["kernel"].T.astype(float)
        update, reset = (1 / (1 + np.exp(-(outer + inner)[:, k * UNITS : (k + 1) * UNITS])) for k in range(2))
        candidate = np.tanh(outer[2 * UNITS :] + reset * inner[:, 2 * UNITS :])
        state = update * state + (1 - update) * candidate
    return state


def make_model() -> bytes:
    w = ModelWriter(description="tflmgen's example: a GRU")
    g, condition, body = w.subgraph("main"), w.subgraph("gru_cond"), w.subgraph("gru_body")
    x = g.tensor("x", "float32", [1, STEPS, FEATURES])
    series = g.tensor("series", "float32", [STEPS, 1, FEATURES])
    g.operator("TRANSPOSE", [x, g.constant("time_major", np.array([1, 0, 2], np.int32))], [series])
    zero, nothing = g.constant("zero", np.array(0, np.int32)), g.constant("zeros", np.zeros((1, UNITS), np.float32))
    results = _carried(g, "final")
    options = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    g.operator("WHILE", [zero, zero, nothing, series], results, options)
    g.inputs, g.outputs = [x], [results[2]]
    _condition(condition)
    _body(body)
    return w.finish()


def _carried(s: SubgraphWriter, suffix: str) -> list[int]:
    """Two counters, the state, the input."""
    counters = [s.tensor(f"{name}_{suffix}", "int32", []) for name in ("counter", "time")]
    state = s.tensor(f"state_{suffix}", "float32", [1, UNITS])
    return [*counters, state, s.tensor(f"series_{suffix}", "float32", [STEPS, 1, FEATURES])]


def _condition(s: SubgraphWriter) -> None:
    s.inputs = _carried(s, "in")
    limit = s.constant("steps", np.array(STEPS, np.int32))
    tests = [s.tensor(name, "bool", []) for name in ("counter_left", "time_left", "again")]
    s.operator("LESS", [s.inputs[0], limit], tests[:1])
    s.operator("LESS", [s.inputs[1], limit], tests[1:2])
    s.operator("LOGICAL_AND", tests[:2], tests[2:])
    s.outputs = tests[2:]


def _body(s: SubgraphWriter) -> None:
    s.inputs = counter, time, state, series = _carried(s, "in")

    def op(operator: str, inputs: list[int], name: str, shape: tuple[int, ...] = (1, UNITS), **options: Any) -> int:
        output = s.tensor(name, "int32" if shape == () else "float32", shape)
        s.operator(operator, inputs, [output], options)
        return output

    def split(value: int, name: str) -> list[int]:
        parts = [s.tensor(f"{name}_{gate}", "float32", [1, UNITS]) for gate in ("update", "reset", "candidate")]
        s.operator("SPLIT", [s.constant(f"{name}_axis", np.array(1, np.int32)), value], parts, {"num_splits": 3})
        return parts

    constants = {name: s.constant(name, array) for name, array in weights().items()}
    step = s.constant("one", np.array(1, np.int32))
    inner = split(op("FULLY_CONNECTED", [state, constants["recurrent"], -1], "inner", (1, GATES)), "inner")
    row = op("GATHER", [series, time], "row", (1, FEATURES))
    outer = split(op("FULLY_CONNECTED", [row, constants["kernel"], -1], "outer", (1, GATES)), "outer")
    update = op("LOGISTIC", [op("ADD", [outer[0], inner[0]], "update_sum")], "update")
    reset = op("LOGISTIC", [op("ADD", [outer[1], inner[1]], "reset_sum")], "reset")
    gated = op("ADD", [outer[2], op("MUL", [reset, inner[2]], "reset_state")], "candidate_sum")
    candidate = op("TANH", [gated], "candidate")
    rest = op("SUB", [s.constant("ones", np.array(1, np.float32)), update], "rest")
    new = op("MUL", [rest, candidate], "new")
    following = op("ADD", [op("MUL", [update, state], "kept"), new], "state_out")
    counters = [op("ADD", [v, step], f"{n}_out", ()) for v, n in ((counter, "counter"), (time, "time"))]
    s.outputs = [*counters, following, series]


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "gru.tflite")
    path.write_bytes(make_model())
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
