"""Rows that a loop picks and stores, with operators that TFLite Micro has kernels of; others stay in float."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.lstm_models import LstmStyle, lstm_loop
from support.quantize_models import FEATURES, STEPS, recurrent_loop
from support.quantized_run import QuantizedRun, quantized_run
from tflmgen.frontend import row_stores
from tflmgen.frontend.model_graph import bindings
from tflmgen.frontend.tflite import Model, ModelBuilder, SubGraph
from tflmgen.ir import DType
from tflmgen.kernels import reference_runtimes
from tflmgen.quantize.list_rows import with_row_operators


def run_in(dtype: DType, model: Model, shape: tuple[int, ...]) -> QuantizedRun:
    rng = np.random.default_rng(4)
    inputs = [(rng.normal(size=shape).astype(np.float32),) for _ in range(12)]
    return quantized_run(model, inputs, activations=dtype)


def gathered(index: np.ndarray, axis: int, shape: tuple[int, ...]) -> Model:
    """tanh of the rows of x[3, 4, 2] at `index` along an axis."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, rows, y = (graph.tensor(n, DType.FLOAT32, s) for n, s in (("x", (3, 4, 2)), ("rows", shape), ("y", shape)))
    graph.operator("GATHER", [x, graph.constant("index", index)], [rows], {"axis": axis})
    graph.operator("TANH", [rows], [y])
    graph.inputs, graph.outputs = [x], [y]
    return builder.model()


def assert_as_in_tflm(run: QuantizedRun, folder: Path) -> None:
    for own, other in zip(run.after, run.of_tflm(folder), strict=True):
        np.testing.assert_array_equal(own[0], other[0])


def test_a_loop_picks_rows_without_float(tmp_path: Path) -> None:
    run = run_in(DType.INT16, recurrent_loop("GATHER"), (STEPS, FEATURES))
    assert not run.quantized.assignment.notes
    assert not run.quantized.conversions
    assert not any("GATHER" in operators for operators in run.operators)
    assert_as_in_tflm(run, tmp_path)


@pytest.mark.parametrize(
    ("index", "axis", "shape"),
    [
        (np.array(2, np.int32), 0, (4, 2)),
        (np.array([1], np.int32), 0, (1, 4, 2)),
        (np.array(3, np.int32), 1, (3, 2)),
        (np.array([1], np.int32), 2, (3, 4, 1)),
    ],
)
def test_every_axis_and_shape_of_one_index(
    index: np.ndarray,
    axis: int,
    shape: tuple[int, ...],
    tmp_path: Path,
) -> None:
    run = run_in(DType.INT16, gathered(index, axis, shape), (3, 4, 2))
    assert not run.quantized.assignment.notes
    assert_as_in_tflm(run, tmp_path)


def test_several_rows_stay_a_gather_in_integers() -> None:
    """tflmgen has a kernel; `quantize` warns that TFLite Micro has none."""
    run = run_in(DType.INT16, gathered(np.array([2, 0], np.int32), 0, (2, 4, 2)), (3, 4, 2))
    assert not run.quantized.assignment.notes
    (graph,) = run.quantized.model.subgraphs
    (gather,) = (op for op in graph.operators if op.name == "GATHER")
    assert graph.tensors[gather.outputs[0]].dtype is DType.INT16
    assert reference_runtimes("GATHER", DType.INT16.label) != "TFLM"
    for own, exact in zip(run.after, run.before, strict=True):
        np.testing.assert_allclose(own[0], exact[0], atol=0.002)


@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT16])
@pytest.mark.parametrize("batch", [1, 2])
def test_a_loop_stores_rows_as_tflm_can(dtype: DType, batch: int, tmp_path: Path) -> None:
    style = LstmStyle(result="all", batch=batch)
    run = run_in(dtype, lstm_loop(style), (style.length, batch, style.features))
    assert sum(operators["DYNAMIC_UPDATE_SLICE"] for operators in run.operators) == 1
    assert all(-1 not in (t.shape_signature or ()) for graph in run.quantized.model.subgraphs for t in graph.tensors)
    assert not run.quantized.conversions
    assert_as_in_tflm(run, tmp_path)


def with_open_list(model: Model) -> Model:
    """The model with lists of unknown length in its loop, as `tf.map_fn` has them."""
    (loop,) = (op for op in model.subgraphs[0].operators if op.name == "WHILE")
    bound = [(0, loop.outputs), *((b.subgraph, model.subgraphs[b.subgraph].inputs) for b in bindings(loop))]
    body = model.subgraphs[bindings(loop)[1].subgraph]
    stored = [place for place in range(len(loop.inputs)) if body.outputs[place] in stores_of(body)]
    bound.append((body.index, body.outputs))
    graphs = [list(graph.tensors) for graph in model.subgraphs]
    for graph, tensors in bound:
        for place in stored:
            tensor = graphs[graph][tensors[place]]
            graphs[graph][tensor.index] = replace(
                tensor, shape=(1, *tensor.shape[1:]), shape_signature=(-1, *tensor.shape[1:])
            )
    subgraphs = tuple(replace(g, tensors=tuple(t)) for g, t in zip(model.subgraphs, graphs, strict=True))
    return replace(model, subgraphs=subgraphs)


def stores_of(graph: SubGraph) -> set[int]:
    return {tensor for op in graph.operators if op.index in row_stores(graph) for tensor in op.outputs}


def test_a_list_of_open_length_has_that_of_the_loop_s_operand(tmp_path: Path) -> None:
    style = LstmStyle(result="all")
    model = with_open_list(lstm_loop(style))
    assert any(-1 in (t.shape_signature or ()) for graph in model.subgraphs for t in graph.tensors)
    run = run_in(DType.INT8, model, (style.length, 1, style.features))
    assert sum(operators["DYNAMIC_UPDATE_SLICE"] for operators in run.operators) == 1
    assert all(-1 not in (t.shape_signature or ()) for graph in run.quantized.model.subgraphs for t in graph.tensors)
    assert_as_in_tflm(run, tmp_path)


ONE_STEP = {"shrink_axis_mask": 2}
"""One place along dimension 1, which the result lacks."""


@pytest.mark.parametrize(
    ("dtype", "begin", "end", "masks", "shape"),
    [
        (DType.INT8, [0, 1, 0, 0, 0], [0, 2, 0, 0, 0], ONE_STEP | {"begin_mask": 29, "end_mask": 29}, (2, 4, 2, 3)),
        (DType.INT16, [1, -2, 0, 0, 0], [2, 9, 4, 2, -1], {}, (1, 2, 4, 2, 2)),
        (DType.INT16, [0, -1], [1, 0], ONE_STEP | {"end_mask": 1}, (2, 4, 2, 3)),
        (DType.INT8, [0, 2], [1, 3], ONE_STEP | {"begin_mask": 2, "end_mask": 1}, (2, 4, 2, 3)),
    ],
)
def test_slices_of_five_dimensions_are_tflms(
    dtype: DType,
    begin: list[int],
    end: list[int],
    masks: dict[str, int],
    shape: tuple[int, ...],
    tmp_path: Path,
) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    images, part, y = (
        graph.tensor(n, DType.FLOAT32, s) for n, s in (("x", (2, 3, 4, 2, 3)), ("part", shape), ("y", shape))
    )
    bounds = [graph.constant(f"b{n}", np.array(b, np.int32)) for n, b in enumerate((begin, end, [1] * len(begin)))]
    graph.operator("STRIDED_SLICE", [images, *bounds], [part], masks)
    graph.operator("TANH", [part], [y])
    graph.inputs, graph.outputs = [images], [y]
    run = run_in(dtype, builder.model(), (2, 3, 4, 2, 3))
    assert not run.quantized.conversions
    assert [operators["STRIDED_SLICE"] for operators in run.operators] == [0]
    for whole, exact in zip(run.after, run.before, strict=True):
        np.testing.assert_allclose(whole[0], exact[0], atol=0.05)
    assert_as_in_tflm(run, tmp_path)


def slicing_loop(
    place: str, axis: int = 1, length: int = 4, shape: tuple[int, ...] = (4, 4, 3), keeps: str = ""
) -> Model:
    """Sum over t of tanh(x[.., place, ..]), the place along an axis of x[4, ..], t from 0 to `length`.

    keeps  of x[.., place:place + 1, ..], whose length along the axis the file calls unknown: what is added to the place

    Subgraphs: 0 main, 1 condition, 2 body.
    """
    builder = ModelBuilder("slices", name="slices.tflite")
    main, condition, body = (builder.subgraph(name) for name in ("main", "cond", "body"))
    part = (*shape[:axis], *((1,) if keeps else ()), *shape[axis + 1 :])
    types = (DType.INT32, ()), (DType.FLOAT32, part), (DType.FLOAT32, shape)
    x = main.tensor("x", DType.FLOAT32, shape)
    start = [main.constant("start", np.array(0, np.int32)), main.constant("zero", np.zeros(part, np.float32)), x]
    results = [main.tensor(f"r{n}", *kind) for n, kind in enumerate(types)]
    main.operator("WHILE", start, results, {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    main.inputs, main.outputs = [x], [results[1]]
    for graph in (condition, body):
        graph.inputs = [graph.tensor(f"v{n}", *kind) for n, kind in enumerate(types)]
    condition.outputs = [condition.tensor("again", DType.BOOL, ())]
    limit = condition.constant("limit", np.array(length, np.int32))
    condition.operator("LESS", [condition.inputs[0], limit], condition.outputs)

    numbers = {str(n): body.constant(f"n{n}", np.array(n, np.int32)) for n in range(5)}
    t, total, rows = body.inputs
    index = t
    if place != "t":
        first, name, second = place.split()
        index = body.tensor("index", DType.INT32, ())
        operands = [t if word == "t" else numbers[word] for word in (first, second)]
        body.operator({"+": "ADD", "-": "SUB", "*": "MUL"}[name], operands, [index])
    end = body.tensor("end", DType.INT32, ())
    body.operator("ADD", [index, numbers[keeps or "1"]], [end])
    bounds = [body.tensor(name, DType.INT32, (axis + 1,)) for name in ("begins", "ends")]
    for bound, last in zip(bounds, (index, end), strict=True):
        body.operator("PACK", [*[numbers["0"]] * axis, last], [bound], {"axis": 0, "values_count": axis + 1})
    row, squashed, after = (body.tensor(name, DType.FLOAT32, part) for name in ("row", "squashed", "after"))
    later, ones = body.tensor("later", DType.INT32, ()), body.constant("ones", np.ones(axis + 1, np.int32))
    shrinks = 0 if keeps else 1 << axis
    masks = {"begin_mask": (1 << axis) - 1, "end_mask": (1 << axis) - 1, "shrink_axis_mask": shrinks}
    if keeps:
        unknown = tuple(-1 if place == axis else dim for place, dim in enumerate(part))
        row = body.tensor("part", DType.FLOAT32, part, shape_signature=unknown)
    body.operator("STRIDED_SLICE", [rows, *bounds, ones], [row], masks)
    body.operator("TANH", [row], [squashed])
    body.operator("ADD", [total, squashed], [after])
    body.operator("ADD", [t, numbers["1"]], [later])
    body.outputs = [later, after, rows]
    return builder.model()


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (slicing_loop("t"), (4, 4, 3)),
        (slicing_loop("3 - t"), (4, 4, 3)),
        (slicing_loop("t + 1", 0, 3), (4, 4, 3)),
        (slicing_loop("t", 0, shape=(4,)), (4,)),
        (recurrent_loop("STRIDED_SLICE"), (STEPS, FEATURES)),
        (slicing_loop("t", keeps="1"), (4, 4, 3)),
        (slicing_loop("t + 1", 0, 3, keeps="1"), (4, 4, 3)),
    ],
    ids=["counted", "backwards", "ahead", "scalars", "rows of a sequence", "of length 1", "of length 1 ahead"],
)
def test_a_place_that_a_loop_counts_is_picked_as_tflm_can(model: Model, shape: tuple[int, ...], tmp_path: Path) -> None:
    run = run_in(DType.INT8, model, shape)
    assert sum(operators["SLICE"] for operators in run.operators) == 1
    assert not any(operators["STRIDED_SLICE"] + operators["PACK"] for operators in run.operators)
    for whole, exact in zip(run.after, run.before, strict=True):
        np.testing.assert_allclose(whole[0], exact[0], atol=0.1)
    assert_as_in_tflm(run, tmp_path)


@pytest.mark.parametrize(("place", "length"), [("t - 1", 4), ("2 - t", 4), ("t + 1", 4), ("t * 2", 3), ("t + t", 3)])
def test_a_place_that_may_leave_the_list_stays_a_strided_slice(place: str, length: int) -> None:
    """Below 0 it counts from the end, and TFLite Micro's SLICE reads what lies before the list."""
    model = slicing_loop(place, 1, length)
    assert with_row_operators(model) is model


def test_a_part_of_another_length_than_its_tensor_stays_a_strided_slice() -> None:
    model = slicing_loop("t", length=2, keeps="2")
    assert with_row_operators(model) is model


@pytest.mark.parametrize(
    "options",
    [
        {"ellipsis_mask": 1},
        {"new_axis_mask": 1},
        {"offset": True},
        {"begin_mask": 3},
        {"shrink_axis_mask": 3},
        {"shrink_axis_mask": 0},
    ],
    ids=str,
)
def test_a_slice_of_another_kind_stays_as_it_is(options: dict[str, int]) -> None:
    model = slicing_loop("t")
    changed = with_slice(model, options=options)
    assert with_row_operators(changed) is changed


@pytest.mark.parametrize("steps", [(1, 2), (1, -1)])
def test_a_slice_with_steps_stays_as_it_is(steps: tuple[int, int]) -> None:
    changed = with_slice(slicing_loop("t"), steps=steps)
    assert with_row_operators(changed) is changed


def with_slice(model: Model, options: dict[str, int] | None = None, steps: tuple[int, ...] | None = None) -> Model:
    """The model with other options or other steps of its STRIDED_SLICE."""
    body = model.subgraphs[2]
    op = next(op for op in body.operators if op.name == "STRIDED_SLICE")
    operators = [replace(o, options={**(o.options or {}), **(options or {})}) if o is op else o for o in body.operators]
    tensors = list(body.tensors)
    if steps is not None:
        tensors[op.inputs[3]] = replace(tensors[op.inputs[3]], data=np.array(steps, np.int32).tobytes())
    changed = replace(body, operators=tuple(operators), tensors=tuple(tensors))
    return replace(model, subgraphs=(*model.subgraphs[:2], changed))
