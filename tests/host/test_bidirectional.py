"""BIDIRECTIONAL_SEQUENCE_RNN and _LSTM, which become two layers of one direction, against LiteRT."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.bidirectional import Layer, Writer, layer
from support.native import Array, Invocation, build_native, run_native
from support.pipeline import compile_bytes
from tflmgen.errors import ModelError
from tflmgen.ir.graph.module import Op, walk


def by_litert(model: Layer) -> list[list[Array]]:
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    interpreter = litert.Interpreter(
        model_content=model.data, experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF, num_threads=1
    )
    interpreter.allocate_tensors()
    outputs = []
    for value in model.inputs:
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], value)
        interpreter.invoke()
        outputs.append([np.array(interpreter.get_tensor(d["index"])) for d in interpreter.get_output_details()])
    return outputs


def check(layers: list[Layer], hybrid: bool) -> None:
    # The last bit of an activation may decide how it is quantised for the next step.
    tolerance = 1e-3 if hybrid else 1e-5
    stages = [compile_bytes(model.data) for model in layers]
    program = build_native({f"m{i}": s.sources(f"m{i}") for i, s in enumerate(stages)})
    runs = [Invocation(i, 0, (value,)) for i, model in enumerate(layers) for value in model.inputs]
    results = iter(run_native(program, runs, [s.program.signatures for s in stages]))
    for model in layers:
        for wanted in by_litert(model):
            for array, want in zip(next(results), wanted, strict=True):
                np.testing.assert_allclose(array, want, rtol=1e-5, atol=tolerance)


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("operator", ["BIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_LSTM"])
def test_as_litert(operator: str, hybrid: bool) -> None:
    rng = np.random.default_rng(1)
    check([layer(rng, operator, hybrid) for _ in range(8)], hybrid)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 105))
@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("operator", ["BIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_LSTM"])
def test_many_as_litert(operator: str, hybrid: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check([layer(rng, operator, hybrid) for _ in range(40)], hybrid)


def rnn_with(**changes: Any) -> bytes:
    """A layer of 2 units over 3 steps of 4 channels, with any of inputs, outputs, options replaced."""
    writer = Writer(np.random.default_rng(1), False)
    inputs = [writer.source(1, 3, 4)]
    for _ in range(2):
        inputs += [writer.weights(2, 4), writer.weights(2, 2), writer.array(2), writer.state(1, 2)]
    inputs += [-1, -1, -1]
    outputs = [writer.graph.tensor(f"out{i}", "float32", (1, 3, 2)) for i in range(2)]
    parts: dict[str, Any] = {"inputs": inputs, "outputs": outputs, "options": {"fused_activation_function": 1}}
    parts |= {name: change(parts[name]) for name, change in changes.items()}
    writer.graph.operator("BIDIRECTIONAL_SEQUENCE_RNN", parts["inputs"], parts["outputs"], parts["options"])
    writer.graph.outputs = parts["outputs"]
    return bytes(writer.writer.finish())


def test_the_good_one_is_two_layers() -> None:
    nodes = walk(compile_bytes(rnn_with()).module.functions[0].body)
    assert [node.operator for node in nodes if isinstance(node, Op)] == ["UNIDIRECTIONAL_SEQUENCE_RNN"] * 2


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"inputs": lambda i: i[:9]}, "requires 12 inputs; this one has 9"),
        ({"outputs": lambda o: o[:1]}, "requires 1 output with merge_outputs, else 2; this one has 1"),
        (
            {"options": lambda o: o | {"merge_outputs": True}},
            "requires 1 output with merge_outputs, else 2; this one has 2",
        ),
        ({"inputs": lambda i: [*i[:9], i[0], -1, -1]}, "RNN with an auxiliary input is not supported"),
        ({"inputs": lambda i: [i[0], -1, *i[2:]]}, "requires weights of 2 dimensions"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        compile_bytes(rnn_with(**changes))
