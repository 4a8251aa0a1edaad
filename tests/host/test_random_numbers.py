"""Random numbers through every stage: one invoke after another, from the start again, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.kernel_harness import Array
from support.model_writer import ModelWriter
from support.native import RESET, Invocation, build_native, run_native
from support.pipeline import compile_bytes
from tflmgen.errors import ModelError

BEYOND_32_BITS = (8589934599, -5000000000)


def model(
    operator: str, shape: Any, dtype: str = "float32", logits: bool = False, size: Any = None, **seeds: int
) -> bytes:
    writer = ModelWriter()
    graph = writer.subgraph("main")
    inputs = [graph.constant("shape", np.array(shape, np.int32))]
    size = size or (list(shape) if isinstance(shape, list) else [2, int(shape)])
    if logits:
        inputs.insert(0, graph.tensor("logits", "float32", [2, 3]))
    result = graph.tensor("result", dtype, size)
    graph.operator(operator, inputs, [result], seeds)
    graph.inputs, graph.outputs = inputs[:1] if logits else [], [result]
    return bytes(writer.finish())


def invoked(data: bytes, inputs: tuple[Array, ...], calls: int, resets: int = 0) -> list[Array]:
    """Output 0 of each call; with a reset behind the first `resets`."""
    stage = compile_bytes(data)
    program = build_native({"m0": stage.sources("m0")})
    invocations = [Invocation(0, 0, inputs) for _ in range(calls)]
    if resets:
        invocations.insert(resets, Invocation(0, RESET, ()))
    results = run_native(program, invocations, [stage.program.signatures])
    return [outputs[0] for outputs in results if outputs]


def litert(data: bytes, inputs: tuple[Array, ...], calls: int) -> list[Array]:
    package = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is the reference")
    interpreter = package.Interpreter(
        model_content=data, experimental_op_resolver_type=package.OpResolverType.BUILTIN_REF, num_threads=1
    )
    interpreter.allocate_tensors()
    outputs = []
    for _ in range(calls):
        for detail, value in zip(interpreter.get_input_details(), inputs, strict=True):
            interpreter.set_tensor(detail["index"], value)
        interpreter.invoke()
        outputs.append(np.array(interpreter.get_tensor(interpreter.get_output_details()[0]["index"])))
    return outputs


@pytest.mark.parametrize("operator", ["RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL"])
def test_each_invoke_has_the_next_numbers(operator: str) -> None:
    data = model(operator, [3, 2], seed=3, seed2=-9)
    expected = litert(data, (), 4)
    assert not np.array_equal(expected[0], expected[1])
    got = invoked(data, (), 6, resets=4)
    np.testing.assert_allclose(got, [*expected, *expected[:2]], rtol=0 if operator == "RANDOM_UNIFORM" else 5e-7)


def test_samples_of_classes() -> None:
    data = model("MULTINOMIAL", 5, "int64", logits=True, seed=1)
    logits = (np.array([[0.5, 1, -2], [3, np.nan, 3]], np.float32),)
    np.testing.assert_array_equal(invoked(data, logits, 3), litert(data, logits, 3))


def test_without_a_finite_logit_the_class_is_none() -> None:
    data = model("MULTINOMIAL", 2, "int32", logits=True, seed=1)
    (got,) = invoked(data, (np.full((2, 3), np.nan, np.float32),), 1)
    assert got.tolist() == [[3, 3], [3, 3]]


def test_seeds_of_64_bits() -> None:
    """The numbers are TensorFlow's for these seeds; LiteRT keeps 32 bits of them."""
    (uniform,) = invoked(model("RANDOM_UNIFORM", [4], seed=BEYOND_32_BITS[0], seed2=BEYOND_32_BITS[1]), (), 1)
    (normal,) = invoked(model("RANDOM_STANDARD_NORMAL", [4], seed=BEYOND_32_BITS[0], seed2=BEYOND_32_BITS[1]), (), 1)
    expected = [0.5096811056137085, 0.46670663356781006, 0.18055450916290283, 0.21348285675048828]
    np.testing.assert_array_equal(uniform, np.array(expected, np.float32))
    expected = [0.24110198020935059, -1.1356979608535767, 1.8017659187316895, 0.4208149015903473]
    np.testing.assert_allclose(normal, expected, rtol=5e-7)


def test_seeds_of_zero_are_seeds() -> None:
    """From LiteRT's own generator with key 0: the words of Philox4x32-10 for counter 0 and key 0."""
    words = np.array([0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8], np.uint32)
    (got,) = invoked(model("RANDOM_UNIFORM", [4]), (), 1)
    np.testing.assert_array_equal(got, (words & 0x7FFFFF | 0x3F800000).view(np.float32) - 1)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (model("RANDOM_UNIFORM", [4], "int32"), "the output to be float32"),
        (model("RANDOM_UNIFORM", [-4], size=[4]), "without negative numbers"),
        (model("MULTINOMIAL", 1 << 24, "int32", logits=True), "single number of samples"),
        (model("MULTINOMIAL", -1, "int32", logits=True, size=[2, 1]), "single number of samples"),
        (model("MULTINOMIAL", 2, "float32", logits=True), "the output to be int32 or int64"),
    ],
)
def test_refused(data: bytes, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        compile_bytes(data)
