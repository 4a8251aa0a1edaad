"""Which operators stay in float32 by choice: the cheap ends of a program, and what feeds LOG and its like."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from tflmgen.frontend import TensorKey
from tflmgen.frontend.tflite import Model, ModelBuilder, SubGraphBuilder
from tflmgen.ir import DType
from tflmgen.quantize.exact_ends import ExactEnds, exact_ends
from tflmgen.quantize.statistics import Calibration, statistics_of
from tflmgen.quantize.web_constraints import find_webs

SIZE = 64


def tensor(graph: SubGraphBuilder, name: str) -> int:
    return graph.tensor(name, DType.FLOAT32, (1, SIZE))


def layer(graph: SubGraphBuilder, source: int, name: str) -> int:
    result = tensor(graph, name)
    weights = graph.constant(f"{name}_weights", np.eye(SIZE, dtype=np.float32))
    graph.operator("FULLY_CONNECTED", [source, weights, -1], [result])
    return result


def unary(graph: SubGraphBuilder, name: str, source: int, number: float | None = None) -> int:
    result = tensor(graph, name.lower())
    operands = [source] if number is None else [source, graph.constant("number", np.float32(number))]
    graph.operator(name, operands, [result])
    return result


def ends_of(model: Model, float_io: bool = True, variances: Mapping[TensorKey, float] | None = None) -> ExactEnds:
    keys = [(g.index, t.index) for g in model.subgraphs for t in g.tensors if t.dtype is DType.FLOAT32]
    statistics = statistics_of(np.linspace(-1, 1, SIZE, dtype=np.float32))
    assert statistics is not None
    calibration = Calibration(1, dict.fromkeys(keys, statistics), {0: 1})
    known = variances or {}
    return exact_ends(
        model, find_webs(model), calibration, float_io, lambda asked: {key: known.get(key, 1.0) for key in asked}
    )


def chain() -> Model:
    """y = (layer((x - 3) * 2) * 5) + 7"""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x = tensor(graph, "x")
    middle = layer(graph, unary(graph, "MUL", unary(graph, "SUB", x, 3), 2), "middle")
    y = unary(graph, "ADD", unary(graph, "MUL", middle, 5), 7)
    graph.inputs, graph.outputs = [x], [y]
    return builder.model()


def test_normalisation_and_de_normalisation_stay_exact_where_inputs_and_outputs_are_float() -> None:
    assert sorted(ends_of(chain()).operators) == [(0, 0), (0, 1), (0, 3), (0, 4)]
    assert not ends_of(chain(), float_io=False).operators


def test_a_last_layer_whose_result_varies_little_is_wide() -> None:
    model = chain()
    (middle,) = (t.index for t in model.subgraphs[0].tensors if t.name == "middle")
    assert not ends_of(model).wide
    assert ends_of(model, variances={(0, middle): 1e-4}).wide == {(0, middle)}


def test_what_feeds_a_logarithm_keeps_its_epsilon_back_to_the_layer() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x = tensor(graph, "x")
    powers = unary(graph, "ADD", unary(graph, "RELU", layer(graph, x, "bands")), 1e-7)
    y = layer(graph, unary(graph, "LOG", powers), "y")
    graph.inputs, graph.outputs = [x], [y]
    model = builder.model()
    ends = ends_of(model, float_io=False)
    assert sorted(ends.operators) == [(0, 1), (0, 2), (0, 3)]
    assert [model.subgraphs[0].tensors[index].name for _, index in ends.wide] == ["bands"]


def test_a_score_does_not_end_where_those_of_normal_data_do() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, difference, score = tensor(graph, "x"), tensor(graph, "difference"), graph.tensor("score", DType.FLOAT32, (1, 1))
    graph.operator("SQUARED_DIFFERENCE", [layer(graph, x, "again"), x], [difference])
    graph.operator("MEAN", [difference, graph.constant("axis", np.array([1], np.int32))], [score], {"keep_dims": True})
    graph.inputs, graph.outputs = [x], [score]
    assert sorted(ends_of(builder.model()).operators) == [(0, 1), (0, 2)]


def test_the_layer_in_front_of_a_class_is_wide() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, place = tensor(graph, "x"), graph.tensor("class", DType.INT32, (1,))
    graph.operator("ARG_MAX", [layer(graph, x, "logits"), graph.constant("axis", np.array(1, np.int32))], [place])
    graph.inputs, graph.outputs = [x], [place]
    model = builder.model()
    assert [model.subgraphs[0].tensors[index].name for _, index in ends_of(model).wide] == ["logits"]


def test_heads_are_dequantised_before_they_are_joined() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x = tensor(graph, "x")
    heads = [layer(graph, x, name) for name in ("boxes", "scores")]
    y = graph.tensor("y", DType.FLOAT32, (1, 2 * SIZE))
    graph.operator("CONCATENATION", heads, [y], {"axis": 1})
    graph.inputs, graph.outputs = [x], [y]
    assert sorted(ends_of(builder.model()).operators) == [(0, 2)]


def test_what_a_detector_chooses_from_its_scores_is_not_measured_by_the_mark_of_unused_places() -> None:
    """TOPK_V2 of scores with -3e38 where a place is not in use: one scale for both leaves nothing of the scores."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, scores, in_use = tensor(graph, "x"), tensor(graph, "scores"), graph.tensor("in_use", DType.BOOL, (1, 4))
    chosen, marked, best = (graph.tensor(name, DType.FLOAT32, (1, 4)) for name in ("chosen", "marked", "best"))
    places, order = graph.tensor("places", DType.INT32, (4,)), graph.tensor("order", DType.INT32, (1, 4))
    graph.operator("LOGISTIC", [layer(graph, x, "logits")], [scores])
    graph.operator("GATHER", [scores, places], [chosen], {"axis": 1})
    unused = graph.constant("unused", np.full((1, 4), -3e38, np.float32))
    graph.operator("SELECT_V2", [in_use, chosen, unused], [marked])
    graph.operator("TOPK_V2", [marked, graph.constant("k", np.int32(4))], [best, order])
    is_used = graph.tensor("is_used", DType.BOOL, (1, 4))
    graph.operator("GREATER", [best, graph.constant("least", np.float32(-1e38))], [is_used])
    number = graph.tensor("number", DType.INT32, (1, 4))
    graph.operator("CAST", [is_used], [number])
    graph.inputs, graph.outputs = [x, places, in_use], [best, number]
    model = builder.model()
    kept = {model.subgraphs[0].operators[index].name for _, index in ends_of(model).operators}
    assert {"GATHER", "SELECT_V2", "TOPK_V2", "GREATER"} <= kept
