"""Runs an application on files of samples: all calls of a file in order, from the initial state at its beginning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.actions import Invokes, PlannedModel
from tflmgen.applications import Application, DecisionTimeline, Event, timeline_of
from tflmgen.commands.detections import real_values
from tflmgen.emulators import Result, Session, run_sets, running
from tflmgen.errors import UsageError
from tflmgen.input_sets import Vectors, VectorsError, files_of_inputs, has_inputs_only, read_input_sets, read_sound
from tflmgen.ir import DType
from tflmgen.ir.graph import Port
from tflmgen.options import SessionOptions
from tflmgen.report import ScoreSeries
from tflmgen.terminal import Console, Progress


@dataclass(frozen=True, slots=True)
class InputStream:
    """One file: its inputs call by call, and what the application answered. steps: outputs of each call by name."""

    file: str
    vectors: Vectors
    results: tuple[Result, ...]
    steps: tuple[Mapping[str, NDArray[Any]], ...]
    timeline: DecisionTimeline


@dataclass(frozen=True, slots=True)
class ApplicationRun:
    """The files in order. period: seconds between calls; None: the application does not say."""

    application: Application
    streams: tuple[InputStream, ...]
    period: float | None
    invokes: Invokes


def run_application(planned: PlannedModel, inputs: Path, session: SessionOptions, console: Console) -> ApplicationRun:
    """Builds the firmware and runs it on a file, or on each file of a folder from the initial state.

    Raises VectorsError where a file does not fit the application, UsageError where the path is no application.
    """
    app = planned.application
    if app is None:
        raise UsageError(f"{planned.path}: a timeline is of one application (.toml)")
    series = list(_series(planned, app, inputs, session))
    with running(planned.compilation, planned.board, planned.options, session, console) as run:
        with console.progress("Starting") as progress:
            streams = tuple(_stream(planned, app, run.session, name, sets, progress) for name, sets in series)
        own = (note for _, sets in series for note in sets.notes)
        notes = (*planned.frozen.notes, *own, *run.session.notes)
        results = tuple(result for stream in streams for result in stream.results)
        invokes = Invokes(results, run.session.emulator, run.session.place, notes)
    return ApplicationRun(app, streams, app.period, invokes)


def _series(
    planned: PlannedModel, app: Application, path: Path, session: SessionOptions
) -> Iterator[tuple[str, Vectors]]:
    signatures, places = planned.compilation.module.signatures, planned.frozen.places
    files = files_of_inputs(path) if has_inputs_only(path) else [path]
    for file in files:
        vectors = read_input_sets(file, signatures, session.signature, False, places, session.real)
        _check_rate(planned, app, file)
        yield file.name, replace(vectors, stateful=True)


def _check_rate(planned: PlannedModel, app: Application, path: Path) -> None:
    """Raises VectorsError where a WAV file has another rate than the application's calls need."""
    (port, *_) = planned.compilation.module.signatures[0].inputs
    if path.suffix.lower() != ".wav" or app.period is None:
        return
    sound = read_sound(path)
    frames, rate = port.type.elements / sound.channels, sound.rate
    if abs(frames / app.period - rate) > 0.01 * rate:
        rule = f"{frames:g} samples in a period of {app.period:g} s make {frames / app.period:g} Hz"
        raise VectorsError(f"{path}: has {rate} Hz, and {rule}. Resample the file")


def _stream(
    planned: PlannedModel,
    app: Application,
    session: Session,
    name: str,
    vectors: Vectors,
    progress: Progress,
) -> InputStream:
    signatures = planned.compilation.module.signatures
    results = tuple(run_sets(session, signatures, vectors.sets, True, progress))
    return _answered(app, name, vectors, results, signatures[0].outputs)


def _answered(
    app: Application, name: str, vectors: Vectors, results: tuple[Result, ...], ports: Sequence[Port]
) -> InputStream:
    """The file with what the application answered; ports: its outputs."""
    steps = tuple({p.name: array for p, array in zip(ports, result.outputs, strict=True)} for result in results)
    return InputStream(name, vectors, results, steps, timeline_of(app, steps))


def counted_series(planned: PlannedModel, name: str, vectors: Vectors, invokes: Invokes) -> list[ScoreSeries]:
    """Plot lines of counted invokes, as of score_series(); none where the sets are no series of an application."""
    app = planned.application
    if app is None or not vectors.stateful:
        return []
    outputs = planned.compilation.module.signatures[0].outputs
    stream = _answered(app, name, vectors, invokes.results, outputs)
    return score_series(ApplicationRun(app, (stream,), app.period, invokes), outputs)


def score_series(ran: ApplicationRun, outputs: Sequence[Port]) -> list[ScoreSeries]:
    """Plot lines of each file: outputs with scores, and decisions of stages without. outputs: those of the step."""
    return [series for stream in ran.streams if stream.steps for series in _of_stream(ran, stream, outputs)]


def _of_stream(ran: ApplicationRun, stream: InputStream, outputs: Sequence[Port]) -> Iterator[ScoreSeries]:
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


def _scores(ran: ApplicationRun, stream: InputStream, port: Port) -> ScoreSeries:
    name = port.name.partition(".")[0]
    settings = next((s.settings for s in ran.application.stages if s.name == name), {})
    values = real_values(np.stack([step[port.name].reshape(-1) for step in stream.steps]), port)
    threshold = settings.get("threshold")
    events = [e for e in stream.timeline.events if e.stage == name and e.output != "ran"]
    labels = settings.get("labels") or ()
    marks = [(e.call, e.value, _text(e)) for e in events]
    return ScoreSeries(f"{port.name}, {stream.file}", labels, values, ran.period, threshold, marks)


def _decided(ran: ApplicationRun, stream: InputStream, stage: str, output: str) -> ScoreSeries:
    labels = next((s.settings.get("labels") for s in ran.application.stages if s.name == stage), None) or ()
    name = f"{stage}.{output}" if output else stage
    values = np.stack([step[name].reshape(-1)[:1] for step in stream.steps]).astype(np.float64)
    events = [e for e in stream.timeline.events if (e.stage, e.output) == (stage, output)]
    marks = [(e.call, 0, _text(e)) for e in events]
    return ScoreSeries(f"{name}, {stream.file}", (name,), values, ran.period, None, marks, labels)


def _text(event: Event) -> str:
    return event.label or str(event.value)
