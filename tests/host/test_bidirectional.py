"""BIDIRECTIONAL_SEQUENCE_RNN and _LSTM, which become two layers of one direction, against LiteRT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support.conv_cases import pick
from support.model_writer import ModelWriter
from support.native import Array, Invocation, build_native, run_native
from support.pipeline import compile_bytes
from tflmgen.errors import ModelError
from tflmgen.ir.graph import Op, walk

STEPS = 3
Rng = np.random.Generator


@dataclass(frozen=True)
class Layer:
    """A model of one bidirectional layer, and its input for each of STEPS invocations."""

    data: bytes
    inputs: list[Array]


class Writer:
    """Tensors of one layer, in the order of its inputs."""

    def __init__(self, rng: Rng, hybrid: bool) -> None:
        self.writer = ModelWriter()
        self.graph = self.writer.subgraph("main")
        self.rng, self.hybrid = rng, hybrid

    def source(self, *shape: int) -> int:
        self.graph.inputs = [self.graph.tensor("in", "float32", shape)]
        return self.graph.inputs[0]

    def weights(self, *shape: int) -> int:
        if not self.hybrid:
            return self.array(*shape)
        values = self.rng.integers(-127, 128, shape)
        return self.graph.constant("w", values, "int8", [float(self.rng.uniform(0.005, 0.02))], [0])

    def array(self, *shape: int) -> int:
        return self.graph.constant("a", self.rng.normal(size=shape).astype(np.float32), "float32")

    def state(self, *shape: int) -> int:
        index = self.graph.tensor("state", "float32", shape)
        self.graph.tensors[index]["is_variable"] = True
        return index

    def finish(
        self, operator: str, inputs: list[int], units: tuple[int, int], lead: tuple[int, int], options: dict[str, Any]
    ) -> bytes:
        shapes = [(*lead, sum(units))] if options["merge_outputs"] else [(*lead, n) for n in units]
        outputs = [self.graph.tensor(f"out{i}", "float32", shape) for i, shape in enumerate(shapes)]
        self.graph.operator(operator, inputs, outputs, options)
        self.graph.outputs = outputs
        return bytes(self.writer.finish())


def layer(rng: Rng, operator: str, hybrid: bool) -> Layer:
    batches, steps, channels = (int(n) for n in rng.integers(1, 6, 3))
    options: dict[str, Any] = {"time_major": bool(rng.integers(2)), "merge_outputs": bool(rng.integers(2))}
    if hybrid and operator == "BIDIRECTIONAL_SEQUENCE_RNN":
        options["time_major"] = False  # LiteRT runs one that is time-major once for each of its steps.
    if operator == "BIDIRECTIONAL_SEQUENCE_LSTM" and options["merge_outputs"] and not options["time_major"]:
        batches = 1  # LiteRT writes the state of the second batch where it is not.
    if hybrid:
        options["asymmetric_quantize_inputs"] = bool(rng.integers(2))
    lead = (steps, batches) if options["time_major"] else (batches, steps)
    writer = Writer(rng, hybrid)
    source = writer.source(*lead, channels)
    if operator == "BIDIRECTIONAL_SEQUENCE_RNN":
        options["fused_activation_function"] = int(pick(rng, 1, 3, 4))
        inputs, units = [source], (int(rng.integers(1, 6)), int(rng.integers(1, 6)))
        for n in units:
            inputs += [writer.weights(n, channels), writer.weights(n, n), writer.array(n), writer.state(batches, n)]
        inputs += [-1, -1, -1]
    else:
        options |= {"fused_activation_function": 4, "cell_clip": float(pick(rng, 0.0, 0.7)), "proj_clip": 0.0}
        # LiteRT demands sides of one size.
        cells, projected = int(rng.integers(1, 6)), bool(rng.integers(2))
        outputs = int(rng.integers(1, 6)) if projected else cells
        shape = Shape(channels, cells, outputs, projected)
        sides = [i for _ in range(2) for i in lstm_side(rng, writer, shape)]
        states = [writer.state(batches, n) for _ in range(2) for n in (outputs, cells)]
        inputs, units = [source, *sides, *states, *[-1] * 9], (outputs, outputs)
    data = writer.finish(operator, inputs, units, lead, options)
    return Layer(data, [rng.normal(size=(*lead, channels)).astype(np.float32) for _ in range(STEPS)])


@dataclass(frozen=True)
class Shape:
    """One side of an LSTM."""

    channels: int
    cells: int
    outputs: int
    projected: bool


def lstm_side(rng: Rng, writer: Writer, shape: Shape) -> list[int]:
    """17 inputs of an LSTM, those of the input gate missing where it is coupled."""
    peepholes, first = bool(rng.integers(2)), int(rng.integers(2))
    inputs = [-1] * first + [writer.weights(shape.cells, shape.channels) for _ in range(4 - first)]
    inputs += [-1] * first + [writer.weights(shape.cells, shape.outputs) for _ in range(4 - first)]
    inputs += [writer.weights(shape.cells) if peepholes and i >= first else -1 for i in range(3)]
    inputs += [-1] * first + [writer.array(shape.cells) for _ in range(4 - first)]
    return inputs + ([writer.weights(shape.outputs, shape.cells), -1] if shape.projected else [-1, -1])


def by_litert(model: Layer) -> list[list[Array]]:
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    interpreter = litert.Interpreter(
        model_content=model.data, experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF, num_threads=1
    )
    interpreter.allocate_tensors()
    found = []
    for value in model.inputs:
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], value)
        interpreter.invoke()
        found.append([np.array(interpreter.get_tensor(d["index"])) for d in interpreter.get_output_details()])
    return found


def check(layers: list[Layer], hybrid: bool) -> None:
    # The last bit of an activation may decide how it is quantised for the next step.
    tolerance = 1e-3 if hybrid else 1e-5
    stages = [compile_bytes(one.data) for one in layers]
    program = build_native({f"m{i}": s.sources(f"m{i}") for i, s in enumerate(stages)})
    runs = [Invocation(i, 0, (value,)) for i, one in enumerate(layers) for value in one.inputs]
    results = iter(run_native(program, runs, [s.program.signatures for s in stages]))
    for one in layers:
        for wanted in by_litert(one):
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
