"""What is said of shapes that stay open, of operators that can't vary, and of bounds that fit nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from support.dynamic_axes import ints, vary
from support.dynamic_models import growing_loop, one_graph, open_tensor
from support.model_writer import SubgraphWriter
from tflmgen.errors import ModelError, UsageError
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.shape_bounds import find_bounds, parse_shape_limit
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.graph.module import Module


def imported(data: bytes, max_shape: Sequence[str] = (), max_dim: int | None = None) -> Module:
    model = parse_model(data, "m.tflite")
    return import_model(model, find_bounds(model, map(parse_shape_limit, max_shape), max_dim))


def problems(data: bytes, max_shape: Sequence[str] = (), max_dim: int | None = None) -> list[str]:
    with pytest.raises(ModelError) as caught:
        imported(data, max_shape, max_dim)
    return [str(problem) for problem in caught.value.problems]


def _itself(g: SubgraphWriter, counter: int, rows: int) -> int:
    del g, counter
    return rows


GROWING = growing_loop("float32", [3], _itself)


def test_a_loop_that_grows_without_bound() -> None:
    (text,) = problems(GROWING)
    assert text == (
        "m.tflite: subgraph 0 'main', tensor 4 'grown': has no upper bound: each iteration of WHILE (operator 0) "
        "enlarges it. "
        "Bound it with --max-shape 'body:rows=N,3', or --max-dim N"
    )


MIXES: dict[str, tuple[Sequence[int], dict[int, Any], dict[str, Any]]] = {
    "DYNAMIC_UPDATE_SLICE": ((-1, 2), {1: np.ones((1, 2), np.float32), 2: ints(0, 0)}, {}),
}
"""Operator -> shape of its data, its other operands by position, and its options."""


@pytest.mark.parametrize("name", MIXES)
def test_operators_that_mix_rows(name: str) -> None:
    shape, operands, options = MIXES[name]
    (text,) = problems(_operator(name, shape, operands, options), max_dim=4)
    axis = shape.index(-1)
    assert text == (
        f"m.tflite: subgraph 0 'main', operator 0 ({name}): {name} cannot be computed on 'x', whose dimension {axis} "
        f"of {len(shape)} (at most 4) is known at run time only: it combines elements along that dimension. Without "
        "--max-shape and --max-dim, inputs have the shapes that the file stores; or convert the model with static "
        "shapes"
    )


def _operator(name: str, shape: Sequence[int], operands: Mapping[int, Any], options: Mapping[str, Any]) -> bytes:
    """The operator on x; `operands` are the others by position, among them names of inputs of one more dimension."""

    def build(g: SubgraphWriter) -> None:
        x, y = (vary(g, name, "float32", shape) for name in "xy")
        others = {
            at: vary(g, f"i{at}", "int32", array) if isinstance(array, tuple) else g.constant(f"c{at}", array)
            for at, array in operands.items()
        }
        inputs = [others.get(at, x) for at in range(len(operands) + 1)]
        g.operator(name, inputs, [y], options)
        g.inputs, g.outputs = [x, *(others[at] for at in operands if isinstance(operands[at], tuple))], [y]

    return one_graph(build)


UPSAMPLE: dict[str, Any] = {"padding": 0, "stride_h": 2, "stride_w": 2}
WHOLE: dict[str, Any] = {"padding": 0, "stride_d": 1, "stride_h": 1, "stride_w": 1}
REFUSED: dict[str, tuple[str, Sequence[int], dict[int, Any], dict[str, Any], str]] = {
    "channels that are enlarged": (
        "TRANSPOSE_CONV",
        (1, 4, 4, -1),
        {0: ints(1, 8, 8, 2), 1: np.ones((2, 2, 2, 2), np.float32)},
        UPSAMPLE,
        "TRANSPOSE_CONV requires channels and weights whose dimensions do not depend on the run time",
    ),
    "an image too small for the size": (
        "TRANSPOSE_CONV",
        (1, -1, 4, 2),
        {0: ints(1, 80, 8, 2), 1: np.ones((2, 2, 2, 2), np.float32)},
        UPSAMPLE,
        "TRANSPOSE_CONV makes 1 to 8 of 80 elements along axis 1",
    ),
    "a size of another image": (
        "TRANSPOSE_CONV",
        (1, -1, 4, 2),
        {0: ints(1, 8, 5, 2), 1: np.ones((2, 2, 2, 2), np.float32)},
        UPSAMPLE,
        "requires an input of the size that a convolution of the output would give; this one has 4 elements along axis "
        "2, the output 5",
    ),
    "steps of an enlargement": (
        "TRANSPOSE_CONV",
        (1, -1, 4, 2),
        {0: ints(1, 8, 8, 2), 1: np.ones((2, 2, 2, 2), np.float32)},
        UPSAMPLE | {"stride_h": 0},
        "stride_h is 0",
    ),
    "channels of volumes": (
        "CONV_3D",
        (1, 4, -1, 4, -1),
        {1: np.ones((1, 1, 1, 2, 2), np.float32)},
        WHOLE,
        "CONV_3D requires channels and weights whose dimensions do not depend on the run time",
    ),
    "indices of a point": (
        "GATHER_ND",
        (-1, 2),
        {1: (3, -1)},
        {},
        "GATHER_ND requires points whose number of indices does not depend on the run time",
    ),
    "a block from the run time": (
        "SPACE_TO_BATCH_ND",
        (1, -1, 2),
        {1: (1,), 2: np.zeros((1, 2), np.int32)},
        {},
        "SPACE_TO_BATCH_ND requires the block shape to be constant",
    ),
    "paddings without a bound": (
        "SPACE_TO_BATCH_ND",
        (1, -1, 2),
        {1: ints(2), 2: (1, 2)},
        {},
        "axis 1 of 'y' has no upper bound: set one with --max-shape or --max-dim",
    ),
    "crops of other dimensions": (
        "BATCH_TO_SPACE_ND",
        (2, -1, 2),
        {1: ints(2), 2: np.zeros((2, 2), np.int32)},
        {},
        "BATCH_TO_SPACE_ND requires a table of two numbers per block dimension",
    ),
}
"""What -> operator, shape of its data, other operands by position (a tuple: the shape of an input), options, error."""


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_to_be_known(name: str) -> None:
    operator, shape, operands, options, sentence = REFUSED[name]
    bound: dict[str, Any] = {"max_shape": ["x=1,4,2"]} if "without a bound" in name else {"max_dim": 4}
    (text,) = problems(_operator(operator, shape, operands, options), **bound)
    assert text.startswith(f"m.tflite: subgraph 0 'main', operator 0 ({operator}): ")
    assert sentence in text


def _layer(shape: Sequence[int], batches: int = 1, channels: int = 3) -> bytes:
    """An UNIDIRECTIONAL_SEQUENCE_RNN of two units on x."""

    def build(g: SubgraphWriter) -> None:
        x, y = vary(g, "x", "float32", shape), vary(g, "y", "float32", (*shape[:-1], 2))
        sizes = ((2, channels), (2, 2), (2,))
        numbers = [g.constant(f"c{i}", np.ones(size, np.float32)) for i, size in enumerate(sizes)]
        state = g.tensor("h", "float32", [batches, 2], variable=True)
        g.operator("UNIDIRECTIONAL_SEQUENCE_RNN", [x, *numbers, state], [y], {"fused_activation_function": 4})
        g.inputs, g.outputs = [x], [y]

    return one_graph(build)


def test_channels_of_a_recurrent_layer() -> None:
    (text,) = problems(_layer((1, 5, -1)), max_dim=3)
    assert "(UNIDIRECTIONAL_SEQUENCE_RNN): UNIDIRECTIONAL_SEQUENCE_RNN cannot be computed on 'x', whose " in text
    assert "dimension 2 of 3 (at most 3) is known at run time only" in text


def test_batches_of_a_recurrent_layer() -> None:
    (text,) = problems(_layer((-1, 5, 3), batches=4), max_dim=3)
    assert "(UNIDIRECTIONAL_SEQUENCE_RNN): " in text
    assert "UNIDIRECTIONAL_SEQUENCE_RNN keeps states of 4 batches, of which 'x' has 3" in text


def test_rules_of_a_recurrent_layer() -> None:
    (text,) = problems(_layer((1, -1, 3), channels=4), max_dim=3)
    assert "operator 0 (UNIDIRECTIONAL_SEQUENCE_RNN): UNIDIRECTIONAL_SEQUENCE_RNN requires weights, a bias" in text


def test_the_state_of_a_recurrent_layer() -> None:
    def build(g: SubgraphWriter) -> None:
        x, y = (vary(g, name, "float32", (1, -1, 2)) for name in "xy")
        state = g.tensor("h", "float32", [1, 2])
        numbers = [g.constant(f"c{i}", np.ones(size, np.float32)) for i, size in enumerate(((2, 2), (2, 2), (2,)))]
        g.operator("UNIDIRECTIONAL_SEQUENCE_RNN", [x, *numbers, state], [y], {"fused_activation_function": 4})
        g.inputs, g.outputs = [x, state], [y]

    (text,) = problems(one_graph(build), max_dim=3)
    assert text.endswith("UNIDIRECTIONAL_SEQUENCE_RNN requires variables as the tensors that it updates")


def test_a_signal_of_varying_length() -> None:
    def build(g: SubgraphWriter) -> None:
        x, y = vary(g, "x", "int16", (1, -1)), vary(g, "y", "uint32", (1, -1))
        options = bytes(flexbuffers.Dumps({"start_index": 0, "end_index": 2}))
        g.operator("CUSTOM:SignalEnergy", [x], [y], custom_options=options)
        g.inputs, g.outputs = [x], [y]

    (text,) = problems(one_graph(build), max_dim=4)
    assert "operator 0 (CUSTOM:SignalEnergy): CUSTOM:SignalEnergy " in text


def _range(dtype: str, step: int | None = 1) -> bytes:
    def build(g: SubgraphWriter) -> None:
        limit, y = g.tensor("limit", dtype, []), vary(g, "y", dtype, (-1,))
        start = g.constant("start", np.zeros((), dtype))
        by = g.tensor("step", dtype, []) if step is None else g.constant("step", np.array(step, dtype))
        g.operator("RANGE", [start, limit, by], [y])
        g.inputs, g.outputs = [limit, by] if step is None else [limit], [y]

    return one_graph(build)


def test_a_range_whose_limit_nothing_bounds() -> None:
    (text,) = problems(_range("int32"))
    assert "say how many numbers there may be with --max-rows '0:y=N'" in text
    assert imported(_range("int32"), max_dim=4)


@pytest.mark.parametrize(("dtype", "step"), [("float32", 1), ("int32", None)])
def test_a_range_that_is_not_counted(dtype: str, step: int | None) -> None:
    (text,) = problems(_range(dtype, step), max_dim=4)
    assert "operator 0 (RANGE): counts integers by a constant step" in text


def test_what_keeps_a_state_of_its_own() -> None:
    def build(g: SubgraphWriter) -> None:
        x, y = vary(g, "x", "int8", (1, -1, 1, 2)), vary(g, "y", "int8", (1, -1, 1, 2))
        g.operator("CUSTOM:CIRCULAR_BUFFER", [x], [y], custom_options=bytes(flexbuffers.Dumps({"cycles_max": 1})))
        g.inputs, g.outputs = [x], [y]

    (text,) = problems(one_graph(build), max_dim=3)
    assert "CUSTOM:CIRCULAR_BUFFER requires an input that is one slot of the window" in text


def test_dimensions_beyond_the_loops_of_dense_tensors() -> None:
    def build(g: SubgraphWriter) -> None:
        x, y = (vary(g, name, "float32", (1, 1, 1, 1, 1, 1, -1)) for name in "xy")
        g.operator("NEG", [x], [y])
        g.inputs, g.outputs = [x], [y]

    assert problems(one_graph(build), max_dim=4) == [
        f"m.tflite: subgraph 0 'main': dimension 6 of '{name}', an input or output, is known at run time only, which "
        "is possible of the first 6 dimensions. Reshape it in the model, or convert it with static shapes"
        for name in "xy"
    ]


def test_paddings_whose_sum_is_not_bounded() -> None:
    def build(g: SubgraphWriter) -> None:
        x, table = g.tensor("x", "float32", [2]), g.tensor("table", "int32", [1, 2])
        y = vary(g, "y", "float32", (-1,))
        g.operator("PAD", [x, table], [y])
        g.inputs, g.outputs = [x, table], [y]

    (text,) = problems(one_graph(build))
    assert "axis 0 of 'y' has no upper bound: set one with --max-shape or --max-dim" in text


def _identity(g: SubgraphWriter) -> None:
    x, y = (open_tensor(g, name, "float32", [2]) for name in "xy")
    fixed = g.tensor("fixed", "float32", [2])
    g.operator("NEG", [x], [y])
    g.inputs, g.outputs = [x, fixed], [y]


@pytest.mark.parametrize(
    ("option", "text"),
    [
        (
            "z=4,2",
            "m.tflite: --max-shape z=4,2: nothing in the model is called that. Its tensors of dynamic shape ",
        ),
        ("x=4", "m.tflite: subgraph 0 'main', tensor 0 'x': --max-shape x=4: the tensor has 2 dimensions: [1, 2]"),
        ("x=4,3", "tensor 0 'x': --max-shape x=4,3: its shape is [-1, 2], and fixed in the file where it is not -1"),
        (
            "fixed=3",
            "tensor 2 'fixed': --max-shape fixed=3: its shape is [2], and fixed in the file where it is not -1",
        ),
    ],
)
def test_bounds_that_do_not_fit(option: str, text: str) -> None:
    (problem,) = problems(one_graph(_identity), [option])
    assert text in problem


def test_every_bad_bound_is_told() -> None:
    assert len(problems(one_graph(_identity), ["z=4,2", "x=4", "0:0=4,2"])) == 2


@pytest.mark.parametrize("option", ["x", "=4,2", "x=", "x=4,a", "x=0,2", "x=-1,2", "x=65536,65536"])
def test_a_malformed_bound_is_a_usage_error(option: str) -> None:
    with pytest.raises(UsageError, match=f"--max-shape {option}: requires NAME=4,3"):
        parse_shape_limit(option)


@pytest.mark.parametrize("name", ["x", "main:x", "0:x", "main:0", "0:0"])
def test_names_of_tensors(name: str) -> None:
    module = imported(one_graph(_identity), [f"{name}=4,2"])
    assert [str(p.type) for p in module.signatures[0].inputs] == ["float32[<=4,2]", "float32[2]"]


def test_a_bound_where_nothing_varies_does_no_harm() -> None:
    def build(g: SubgraphWriter) -> None:
        x, y = (g.tensor(name, "float32", [2]) for name in "xy")
        g.operator("NEG", [x], [y])
        g.inputs, g.outputs = [x], [y]

    module = imported(one_graph(build), max_dim=16)
    assert all(p.type.is_static for p in (*module.signatures[0].inputs, *module.signatures[0].outputs))


def test_without_bounds_the_stored_shape_counts() -> None:
    module = imported(one_graph(_identity))
    assert module.notes == ("input 'x' has a dynamic dimension; compiled for its stored shape, 1x2",)
    assert str(module.signatures[0].inputs[0].type) == "float32[1,2]"


def test_a_window_that_the_stored_shape_is_too_small_for() -> None:
    """Two windows make the height negative and the width 0; the mean behind them has no problem of its own."""

    def build(g: SubgraphWriter) -> None:
        x, pooled, again, mean = (vary(g, name, "float32", [1, -1, -1, 3]) for name in ("x", "a", "b", "y"))
        options = {"padding": 1, "stride_h": 1, "stride_w": 1}
        g.operator("MAX_POOL_2D", [x], [pooled], {**options, "filter_height": 3, "filter_width": 1})
        g.operator("MAX_POOL_2D", [pooled], [again], {**options, "filter_height": 1, "filter_width": 2})
        axes = g.constant("axes", np.array([1], np.int32))
        g.operator("MEAN", [again, axes], [mean], {"keep_dims": True})
        g.inputs, g.outputs = [x], [mean]

    (text,) = problems(one_graph(build))
    assert "operator 0 (MAX_POOL_2D): MAX_POOL_2D requires a window that fits into the input" in text
