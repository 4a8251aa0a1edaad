"""Built-ins that make decisions of scores: smooth, debounce, argmax."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tflmgen.applications.app_file import AppFile, AppStage, seconds
from tflmgen.applications.glue_graph import FLOAT, INT, GlueGraph
from tflmgen.applications.stage_body import Body, StageContext
from tflmgen.ir import DType, TensorType

NOTHING = -1
"""The class of a decision that says nothing."""


def _floats(shape: Sequence[int]) -> TensorType:
    return TensorType(DType.FLOAT32, tuple(shape))


def _scores(context: StageContext) -> int:
    """Number of scores. Raises ModelError where the stage reads something else than one tensor of them."""
    if len(context.types) != 1:
        context.file.fail(context.key("input"), f"{context.stage.builtin} reads one tensor")
    return context.types[0].elements


def _largest(graph: GlueGraph, scores: int) -> tuple[int, int]:
    """Place and value of the largest of scores, float[1,n]."""
    axis = graph.integers(1)
    place = graph.op("ARG_MAX", (scores, axis), INT, output_type=2)
    return place, graph.op("REDUCE_MAX", (scores, graph.integers([1])), FLOAT, keep_dims=False)


def argmax(context: StageContext) -> Body:
    """The place of the largest of scores, and its value."""
    context.check_settings(("labels",))
    count = _scores(context)
    _labels(context, count)

    def build(graph: GlueGraph, inputs: Sequence[int]) -> list[int]:
        return [*_largest(graph, inputs[0])]

    return Body((_floats((1, count)),), ("index", "value"), build)


def smooth(context: StageContext) -> Body:
    """The mean of the last scores, and a class where the largest mean reaches a threshold.

    After a detection there is none for the time `hold`. Classes in `ignore` are never detected.
    """
    context.check_settings(("window", "threshold", "hold", "ignore", "labels"))
    count, window = _scores(context), context.whole("window", None, 1, 4096)
    threshold = context.number("threshold", None, -1e9, 1e9)
    hold, ignored = hold_calls(context.file, context.stage, context.period), context.stage.settings.get("ignore", [])
    if not isinstance(ignored, list) or any(type(i) is not int or not 0 <= i < count for i in ignored):
        context.file.fail(context.key("ignore"), f"is a list of classes from 0 to {count - 1}")
    _labels(context, count)
    history = context.variable("history", _floats((window, count)))
    lowest = np.array([[-3e38 if i in ignored else 0 for i in range(count)]], np.float32)

    def build(graph: GlueGraph, inputs: Sequence[int]) -> list[int]:
        scores, since = inputs
        moved = graph.shifted(graph.read(history, _floats((window, count))), scores, 0)
        graph.assign(history, moved)
        mean = graph.op("MEAN", (moved, graph.integers([0])), _floats((1, count)), keep_dims=True)
        candidates = graph.op("ADD", (mean, graph.floats(lowest)), _floats((1, count))) if ignored else mean
        place, value = _largest(graph, candidates)
        detects = graph.both(
            graph.compared("GREATER_EQUAL", value, threshold), graph.compared("GREATER_EQUAL", since, hold)
        )
        # place where it detects, else NOTHING: (place + 1) * detects - 1
        number = graph.op("CAST", (detects,), INT)
        above = graph.op("MUL", (graph.op("ADD", (place, graph.integers([1])), INT), number), INT)
        waits = graph.op("SUB", (graph.integers([1]), number), INT)
        return [mean, graph.op("SUB", (above, graph.integers([1])), INT), graph.op("MUL", (since, waits), INT)]

    return Body((_floats((1, count)),), ("scores", "detected"), build, hold, {"detected": NOTHING})


def debounce(context: StageContext) -> Body:
    """A value that changes once it has been another for `count` calls in a row."""
    context.check_settings(("count", "labels"))
    count = context.whole("count", None, 1, 1 << 20)
    if _scores(context) != 1:
        context.file.fail(context.key("input"), "debounce reads one value")
    names = [context.variable(name, INT, start) for name, start in (("value", NOTHING), ("next", NOTHING), ("seen", 0))]

    def build(graph: GlueGraph, inputs: Sequence[int]) -> list[int]:
        value, candidate, seen = (graph.read(name, INT) for name in names)
        same = graph.op("CAST", (graph.op("EQUAL", (inputs[0], candidate), _BOOL),), INT)
        unit = graph.integers([1])
        counted = graph.op("ADD", (graph.op("MUL", (seen, same), INT), unit), INT)
        counted = graph.op("MINIMUM", (counted, graph.integers([count])), INT)
        holds = graph.op("CAST", (graph.compared("GREATER_EQUAL", counted, count),), INT)
        change = graph.op("MUL", (graph.op("SUB", (inputs[0], value), INT), holds), INT)
        result = graph.op("ADD", (value, change), INT)
        for name, new in zip(names, (result, inputs[0], counted), strict=True):
            graph.assign(name, new)
        return [result]

    return Body((INT,), ("value",), build, initial={"value": NOTHING})


_BOOL = TensorType(DType.BOOL, (1,))


def hold_calls(file: AppFile, stage: AppStage, period: float | None) -> int:
    """Calls of the time `hold` of a stage, rounded up, at least 1. period: seconds between calls."""
    key, text = f"stage.{stage.name}.hold", stage.settings.get("hold")
    if text is None:
        return 1
    if period is None:
        file.fail(key, 'needs the time between calls: period = "10 ms" of an input')
    calls = math.ceil(seconds(file, key, text) / period - 1e-9)
    if calls >= 1 << 30:
        file.fail(key, "is more than 2**30 calls")
    return max(1, calls)


def _labels(context: StageContext, count: int) -> None:
    labels = context.stage.settings.get("labels")
    if labels is not None and (
        not isinstance(labels, list) or len(labels) != count or not all(isinstance(label, str) for label in labels)
    ):
        context.file.fail(context.key("labels"), f"is a list of {count} texts, one for each score")
