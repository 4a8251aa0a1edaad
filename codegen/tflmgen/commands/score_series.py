"""Scores and decisions of an application's files, for pictures of the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tflmgen.api import ApplicationRun, Stream
from tflmgen.applications import Event
from tflmgen.ir import DType, Port
from tflmgen.report import ScoreSeries


def score_series(ran: ApplicationRun, outputs: Sequence[Port]) -> list[ScoreSeries]:
    """Of each file: outputs with scores, and decisions of stages that have none, as lines. outputs: of the step."""
    return [series for stream in ran.streams if stream.steps for series in _of_stream(ran, stream, outputs)]


def _of_stream(ran: ApplicationRun, stream: Stream, outputs: Sequence[Port]) -> Iterator[ScoreSeries]:
    scored = [port for port in outputs if _has_scores(port)]
    for port in scored:
        yield _scores(ran, stream, port)
    stages = {port.name.partition(".")[0] for port in scored}
    decided = dict.fromkeys((e.stage, e.output) for e in stream.timeline.events if e.output != "ran")
    for stage, output in decided:
        if stage not in stages:
            yield _decided(ran, stream, stage, output)


def _has_scores(port: Port) -> bool:
    """Whether an output is of real numbers: floats, or quantised ones."""
    is_real = port.type.dtype is DType.FLOAT32 or port.type.quantization is not None
    return is_real and not any(dim == 0 for dim in port.type.max_shape)


def _scores(ran: ApplicationRun, stream: Stream, port: Port) -> ScoreSeries:
    name = port.name.partition(".")[0]
    settings = next((s.settings for s in ran.application.stages if s.name == name), {})
    values = np.stack([step[port.name].reshape(-1) for step in stream.steps]).astype(np.float64)
    quantization = port.type.quantization
    if quantization is not None:
        values = (values - quantization.zero_points[0]) * quantization.scales[0]
    threshold = settings.get("threshold")
    events = [e for e in stream.timeline.events if e.stage == name and e.output != "ran"]
    labels = settings.get("labels") or ()
    marks = [(e.call, e.value, _text(e)) for e in events]
    return ScoreSeries(f"{port.name}, {stream.file}", labels, values, ran.period, threshold, marks)


def _decided(ran: ApplicationRun, stream: Stream, stage: str, output: str) -> ScoreSeries:
    labels = next((s.settings.get("labels") for s in ran.application.stages if s.name == stage), None) or ()
    name = f"{stage}.{output}" if output else stage
    values = np.stack([step[name].reshape(-1)[:1] for step in stream.steps]).astype(np.float64)
    events = [e for e in stream.timeline.events if (e.stage, e.output) == (stage, output)]
    marks = [(e.call, 0, _text(e)) for e in events]
    return ScoreSeries(f"{name}, {stream.file}", (name,), values, ran.period, None, marks, labels)


def _text(event: Event) -> str:
    return event.label or str(event.value)
