"""Runs an application on files of samples: all calls of a file in order, from the initial state at its beginning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tflmgen.api.invokes import Invokes
from tflmgen.api.planned_model import PlannedModel
from tflmgen.applications import Application, Timeline, timeline_of
from tflmgen.emulators import (
    Result,
    Session,
    Vectors,
    VectorsError,
    files_of_inputs,
    has_inputs_only,
    read_input_sets,
    read_sound,
    run_sets,
    running,
)
from tflmgen.errors import UsageError
from tflmgen.options import SessionOptions
from tflmgen.terminal import Console, Progress


@dataclass(frozen=True, slots=True)
class Stream:
    """One file: its inputs call by call, and what the application answered. steps: outputs of each call by name."""

    file: str
    vectors: Vectors
    results: tuple[Result, ...]
    steps: tuple[Mapping[str, NDArray[Any]], ...]
    timeline: Timeline


@dataclass(frozen=True, slots=True)
class ApplicationRun:
    """The files in order. period: seconds between calls; None: the application does not say."""

    application: Application
    streams: tuple[Stream, ...]
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
) -> Stream:
    signatures = planned.compilation.module.signatures
    results = tuple(run_sets(session, signatures, vectors.sets, True, progress))
    ports = signatures[0].outputs
    steps = tuple({p.name: array for p, array in zip(ports, result.outputs, strict=True)} for result in results)
    return Stream(name, vectors, results, steps, timeline_of(app, steps))
