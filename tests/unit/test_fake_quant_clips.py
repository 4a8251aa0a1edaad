"""FAKE_QUANT clips its own result: what other operators give to the same web, or read before it, keeps its values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.quantized_run import quantized_run
from tflmgen.frontend.tflite import Model, ModelBuilder, SubGraphBuilder
from tflmgen.ir import DType

F32, BOOL, SHAPE, ONE = DType.FLOAT32, DType.BOOL, (1, 8), (1, 1)
Array = NDArray[np.float32]
RANGE = {"min": -1.0, "max": 1.0, "num_bits": 8}


def _computed(
    graph: SubGraphBuilder, name: str, inputs: Sequence[int], options: Mapping[str, float] | None = None
) -> int:
    """The result, of the shape of all values here, of an operator that is added."""
    result = graph.tensor(f"{name}_{inputs[0]}", F32, SHAPE)
    graph.operator(name, list(inputs), [result], options or {})
    return result


def _first_place(graph: SubGraphBuilder) -> tuple[int, int]:
    """Begin and size for SLICE, which TFLite Micro has in int16, too."""
    return graph.constant("begin", np.zeros(2, np.int32)), graph.constant("size", np.ones(2, np.int32))


def clipped_branch() -> Model:
    """x[0] > 0 ? FAKE_QUANT(tanh(x)) : 4 x."""
    builder = ModelBuilder()
    main, then, other = (builder.subgraph(name) for name in ("main", "then", "else"))
    x, first, decision = main.tensor("x", F32, SHAPE), main.tensor("first", F32, ONE), main.tensor("which", BOOL, ONE)
    main.operator("SLICE", [x, *_first_place(main)], [first])
    main.operator("GREATER", [first, main.constant("limit", np.float32(0.0))], [decision])
    y = main.tensor("y", F32, SHAPE)
    main.operator("IF", [decision, x], [y], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    main.inputs, main.outputs = [x], [y]
    for branch in (then, other):
        branch.inputs = [branch.tensor("x", F32, SHAPE)]
    then.outputs = [_computed(then, "FAKE_QUANT", [_computed(then, "TANH", then.inputs)], RANGE)]
    other.outputs = [_computed(other, "MUL", [*other.inputs, other.constant("four", np.float32(4.0))])]
    return builder.model()


def clipped_aside() -> Model:
    """FAKE_QUANT(4 x) + 4 x."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x = graph.tensor("x", F32, SHAPE)
    scaled = _computed(graph, "MUL", [x, graph.constant("four", np.float32(4.0))])
    y = _computed(graph, "ADD", [_computed(graph, "FAKE_QUANT", [scaled], RANGE), scaled])
    graph.inputs, graph.outputs = [x], [y]
    return builder.model()


def first_value_of_a_loop() -> Model:
    """h = 4 x, and FAKE_QUANT(tanh(h)) while h[0] is over 2."""
    builder = ModelBuilder()
    main, condition, body = (builder.subgraph(name) for name in ("main", "cond", "body"))
    x, y = main.tensor("x", F32, SHAPE), main.tensor("y", F32, SHAPE)
    scaled = _computed(main, "MUL", [x, main.constant("four", np.float32(4.0))])
    main.operator("WHILE", [scaled], [y], {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    main.inputs, main.outputs = [x], [y]
    for graph in (condition, body):
        graph.inputs = [graph.tensor("h", F32, SHAPE)]
    first, goes_on = condition.tensor("first", F32, ONE), condition.tensor("goes_on", BOOL, ONE)
    condition.operator("SLICE", [*condition.inputs, *_first_place(condition)], [first])
    condition.operator("GREATER", [first, condition.constant("limit", np.float32(2.0))], [goes_on])
    condition.outputs = [goes_on]
    body.outputs = [_computed(body, "FAKE_QUANT", [_computed(body, "TANH", body.inputs)], RANGE)]
    return builder.model()


def _branch(x: Array) -> Array:
    return np.tanh(x) if x[0, 0] > 0 else 4 * x


def _aside(x: Array) -> Array:
    return np.clip(4 * x, -1, 1) + 4 * x


def _loop(x: Array) -> Array:
    return np.tanh(4 * x) if 4 * x[0, 0] > 2 else 4 * x


@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT16], ids=lambda dtype: dtype.label)
@pytest.mark.parametrize(
    ("make", "compute"),
    [(clipped_branch, _branch), (clipped_aside, _aside), (first_value_of_a_loop, _loop)],
    ids=lambda function: function.__name__,
)
def test_only_what_is_rounded_is_clipped(
    make: Callable[[], Model], compute: Callable[[Array], Array], dtype: DType, tmp_path: Path
) -> None:
    rng = np.random.default_rng(4)
    inputs = [(rng.uniform(-1, 1, SHAPE).astype(np.float32),) for _ in range(12)]
    # Sets with a negative first value take the other branch, and do not run the loop.
    for k, (x,) in enumerate(inputs):
        x[0, 0] = 0.7 if k % 2 else -0.7
    result = quantized_run(make(), inputs, activations=dtype)
    for (x,), (y,), (theirs,) in zip(inputs, result.after, result.of_tflm(tmp_path), strict=True):
        np.testing.assert_allclose(y, compute(x), atol=0.08)
        np.testing.assert_array_equal(y, theirs.reshape(y.shape))


def test_a_clip_where_the_integers_end_goes() -> None:
    """tanh(FAKE_QUANT(x)) and relu(x), with values within the range."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x = graph.tensor("x", F32, SHAPE)
    rounded = _computed(graph, "FAKE_QUANT", [x], RANGE)
    graph.inputs, graph.outputs = [x], [_computed(graph, "TANH", [rounded]), _computed(graph, "RELU", [x])]
    rng = np.random.default_rng(4)
    result = quantized_run(builder.model(), [(rng.uniform(-0.9, 0.9, SHAPE).astype(np.float32),) for _ in range(8)])
    (operators,) = result.operators
    assert operators["TANH"] == operators["RELU"] == 1
    assert not operators["MAXIMUM"] + operators["MINIMUM"]
