"""tflmgen run APP.toml: what an application decides when, and which of its stages ran."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tflmgen.applications import Event, StageRuns
from tflmgen.commands.application_run import ApplicationRun, InputStream, run_application, score_series
from tflmgen.commands.prepared_model import PreparedModel
from tflmgen.input_sets import Vectors, write_outputs
from tflmgen.report import report_html
from tflmgen.terminal import Column, Console, Table, count
from tflmgen.user_files import write_whole

EVENTS = (
    Column("time", numeric=True),
    Column("call", numeric=True, priority=2),
    Column("stage", min_width=8),
    Column("what", min_width=16, wraps=True),
)
STAGES = (Column("stage", min_width=8), Column("ran", numeric=True), Column("%", numeric=True))


def run_application_command(prepared: PreparedModel, inputs: Path, outputs: Path | None, report: Path | None) -> None:
    """Runs the application on a file of samples, or each file of a folder, and prints a timeline of each.

    report: an HTML page of the plan, with scores over time.
    """
    console, board, model = prepared.console, prepared.board, prepared.path
    planned = prepared.planned_to_run(inputs)
    ran = run_application(planned, inputs, prepared.session, console)
    signatures = planned.compilation.module.signatures
    if report is not None:
        page = report_html(planned.plan, board, scores=score_series(ran, signatures[0].outputs))
        write_whole(report, page.encode())
    if outputs is not None:
        sets = Vectors(tuple(vector_set for stream in ran.streams for vector_set in stream.vectors.sets), True)
        write_outputs(outputs, sets, signatures, [result.outputs for result in ran.invokes.results])
    about = {"model": model.name, "board": board.id, "emulator": ran.invokes.emulator, "notes": [*ran.invokes.notes]}
    written = None if outputs is None else str(outputs)
    streams = [_stream_json(stream, ran.period) for stream in ran.streams]
    console.json({**about, "period_s": ran.period, "outputs": written, "files": streams})
    place = ran.invokes.emulator if board.is_host else f"{board.id} {ran.invokes.place}"
    _print_run(console, ran, place, [str(path) for path in (outputs, report) if path is not None])


def _print_run(console: Console, ran: ApplicationRun, place: str, written: Sequence[str]) -> None:
    for stream in ran.streams:
        _print(console, ran, stream)
    for note in ran.invokes.notes:
        console.line(f"note: {note}")
    calls = sum(stream.timeline.calls for stream in ran.streams)
    wrote = f" Wrote {' and '.join(written)}" if written else ""
    console.line(f"Ran {count(calls)} call{'s' * (calls != 1)}{_span(calls, ran.period)} on {place}.{wrote}")


def seconds_of(call: int, period: float | None) -> float | None:
    """Seconds until a call's decisions are known, which is at the end of its samples; None without a period."""
    return None if period is None else round((call + 1) * period, 6)


def event_json(event: Event, period: float | None) -> dict[str, Any]:
    """An event as `--json` shows it; `period` is seconds between calls, `time_s` is None without it."""
    return {
        "time_s": seconds_of(event.call, period),
        "call": event.call,
        "stage": event.stage,
        "output": event.output,
        "value": event.value,
        "label": event.label or None,
    }


def _stream_json(stream: InputStream, period: float | None) -> dict[str, Any]:
    timeline = stream.timeline
    return {
        "file": stream.file,
        "calls": timeline.calls,
        "seconds": None if period is None else round(timeline.calls * period, 6),
        "events": [event_json(event, period) for event in timeline.events],
        "stages": [{"name": stage.stage, "runs": stage.runs} for stage in timeline.stages],
    }


def time_text(call: int, period: float | None) -> str:
    """Time of a call in seconds; empty if the application has no period."""
    seconds = seconds_of(call, period)
    return "" if seconds is None else f"{seconds:.3f} s"


def _print(console: Console, ran: ApplicationRun, stream: InputStream) -> None:
    timeline = stream.timeline
    rows = [(time_text(e.call, ran.period), count(e.call), e.stage, e.text) for e in timeline.events]
    if rows:
        console.table(Table(stream.file, EVENTS, rows))
    else:
        console.line(f"{stream.file}: nothing was decided")
    stages = [(s.stage, "" if s.runs is None else count(s.runs), _share(s, timeline.calls)) for s in timeline.stages]
    console.table(Table(f"Stages in {count(timeline.calls)} calls", STAGES, stages))


def _share(stage: StageRuns, calls: int) -> str:
    return "" if stage.runs is None else f"{100 * stage.runs / calls:.1f}"


def _span(calls: int, period: float | None) -> str:
    return "" if period is None else f", {calls * period:g} s of samples,"
