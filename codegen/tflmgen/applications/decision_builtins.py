"""Built-ins that make decisions of scores: smooth, debounce, argmax."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tflmgen.applications.app_file import AppFile, AppStage, seconds
from tflmgen.applications.glue_graph import FLOAT, INT, GlueGraph
from tflmgen.applications.stage_body import StageBody, StageContext
from tflmgen.ir import DType, TensorType
from tflmgen.kernels import Comparison

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
    place = graph.place_of_largest(scores, axis, type_=INT, output_type=2)
    return place, graph.largest(scores, graph.integers([1]), type_=FLOAT, keep_dims=False)


def argmax(context: StageContext) -> StageBody:
    """The place of the largest of scores, and its value."""
    context.check_settings(("labels",))
    count = _scores(context)
    _labels(context, count)

    def build(graph: GlueGraph, inputs: Sequence[int]) -> list[int]:
        return [*_largest(graph, inputs[0])]

    return StageBody((_floats((1, count)),), ("index", "value"), build)


def smooth(context: StageContext) -> StageBody:
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
        mean = graph.mean(moved, graph.integers([0]), type_=_floats((1, count)), keep_dims=True)
        candidates = graph.add(mean, graph.floats(lowest), type_=_floats((1, count))) if ignored else mean
        place, value = _largest(graph, candidates)
        detects = graph.both(
            graph.compared(Comparison.GREATER_EQUAL, value, threshold),
            graph.compared(Comparison.GREATER_EQUAL, since, hold),
        )
        # place where it detects, else NOTHING: (place + 1) * detects - 1
        number = graph.cast(detects, type_=INT)
        above = graph.mul(graph.add(place, graph.integers([1]), type_=INT), number, type_=INT)
        waits = graph.sub(graph.integers([1]), number, type_=INT)
        return [mean, graph.sub(above, graph.integers([1]), type_=INT), graph.mul(since, waits, type_=INT)]

    return StageBody((_floats((1, count)),), ("scores", "detected"), build, hold, {"detected": NOTHING})


def debounce(context: StageContext) -> StageBody:
    """A value that changes once it has been another for `count` calls in a row."""
    context.check_settings(("count", "labels"))
    count = context.whole("count", None, 1, 1 << 20)
    if _scores(context) != 1:
        context.file.fail(context.key("input"), "debounce reads one value")
    names = [context.variable(name, INT, start) for name, start in (("value", NOTHING), ("next", NOTHING), ("seen", 0))]

    def build(graph: GlueGraph, inputs: Sequence[int]) -> list[int]:
        value, candidate, seen = (graph.read(name, INT) for name in names)
        same = graph.cast(graph.equal(inputs[0], candidate, type_=_BOOL), type_=INT)
        unit = graph.integers([1])
        counted = graph.add(graph.mul(seen, same, type_=INT), unit, type_=INT)
        counted = graph.minimum(counted, graph.integers([count]), type_=INT)
        holds = graph.cast(graph.compared(Comparison.GREATER_EQUAL, counted, count), type_=INT)
        change = graph.mul(graph.sub(inputs[0], value, type_=INT), holds, type_=INT)
        result = graph.add(value, change, type_=INT)
        for name, new in zip(names, (result, inputs[0], counted), strict=True):
            graph.assign(name, new)
        return [result]

    return StageBody((INT,), ("value",), build, initial={"value": NOTHING})


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
