"""tflmgen test APP.toml --expect: decisions of an application and their times, against those of a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tflmgen.actions import MismatchError
from tflmgen.applications import (
    SCORES,
    Application,
    Expectation,
    SmoothingStage,
    ThresholdErrors,
    Verdict,
    compared,
    is_timeline,
    read_application,
    read_expectations,
    smoothed_scores,
    smoothing_stages,
)
from tflmgen.commands.application_run import ApplicationRun, run_application
from tflmgen.commands.prepared_model import PreparedModel
from tflmgen.commands.run_application import event_json, seconds_of, time_text
from tflmgen.compare import Case, junit_xml
from tflmgen.errors import UsageError
from tflmgen.terminal import Column, Console, Table, count
from tflmgen.user_files import write_whole

DECISIONS = (
    Column("file", priority=2),
    Column("stage", min_width=8),
    Column("expected", min_width=8),
    Column("at", numeric=True),
    Column("decided", min_width=8),
    Column("at", numeric=True),
    Column("result", min_width=10),
)
THRESHOLDS = (
    Column("threshold", numeric=True),
    Column("", min_width=8),
    Column("missed", numeric=True),
    Column("%", numeric=True),
    Column("unexpected", numeric=True),
    Column("per hour", numeric=True),
)

Checked = list[tuple[str, Verdict]]
"""(file, verdict) of all files."""
Swept = dict[str, list[ThresholdErrors]]
"""Wrong decisions at some thresholds, by stage."""


def decisions_command(
    prepared: PreparedModel, inputs: Path, expected: Path, thresholds: bool, junit: Path | None
) -> None:
    """Compares decisions on the files of `inputs` with those expected. Raises MismatchError if one differs.

    thresholds: also counts wrong decisions of smoothing stages at other thresholds than the file's.
    """
    console, board, model = prepared.console, prepared.board, prepared.path
    if not is_timeline(model) or prepared.options.also:
        raise UsageError("--expect is for an application (.toml)")
    app = read_application(model)
    expectations = read_expectations(expected, app)
    if app.period is None:
        raise UsageError(f'{model}: --expect needs the time between calls: period = "10 ms" of an input')
    planned = prepared.planned_to_run(inputs)
    outputs = [port.name for port in planned.compilation.module.signatures[0].outputs]
    stages = _smoothing(app, expectations, outputs) if thresholds else []
    ran = run_application(planned, inputs, prepared.session, console)
    checked = _checked(expectations, ran, app.period)
    _report(console, model, board.id, ran, checked, _swept(stages, expectations, ran, app.period))
    if junit is not None:
        write_whole(junit, _junit(model, board.id, ran, checked))
    wrong = sum(not verdict.is_met for _, verdict in checked)
    if wrong:
        raise MismatchError(f"{model}: FAILED: {wrong} of {len(checked)} decisions are not as expected")
    console.line(f"passed: {_decisions(len(checked))} as expected" if checked else "passed: nothing was decided")


def _checked(expectations: Sequence[Expectation], ran: ApplicationRun, period: float) -> Checked:
    """Verdicts of all files. Raises UsageError for an expectation of a file that was not run."""
    names = [stream.file for stream in ran.streams]
    for expectation in expectations:
        if expectation.file not in ("", *names):
            raise UsageError(f"{expectation.place}: no file '{expectation.file}' was run; there are {', '.join(names)}")
    return [
        (stream.file, verdict)
        for stream in ran.streams
        for verdict in compared(expectations, stream.timeline.events, period, stream.file)
    ]


def _smoothing(app: Application, expectations: Sequence[Expectation], outputs: Sequence[str]) -> list[SmoothingStage]:
    """Stages whose thresholds can be tried. Raises UsageError where there is none."""
    expected = {e.stage for e in expectations}
    stages = [s for s in smoothing_stages(app, outputs) if s.stage.name in expected]
    if not stages:
        smooth = [s.name for s in app.stages if s.builtin == "smooth" and s.name in expected]
        rule = 'expected decisions are of no stage with builtin = "smooth"'
        if smooth:
            needed = ", ".join(f'"{smooth[0]}.{output}"' for output in (SCORES, "detected", "ran"))
            rule = f"the application's outputs lack what the stage decides from: outputs = [{needed}]"
        raise UsageError(f"{app.file.path}: --thresholds: {rule}")
    return stages


def _swept(
    stages: Sequence[SmoothingStage], expectations: Sequence[Expectation], ran: ApplicationRun, period: float
) -> Swept:
    return {
        s.stage.name: s.errors(
            [smoothed_scores(s.stage, stream.file, stream.steps) for stream in ran.streams], expectations, period
        )
        for s in stages
    }


def _decisions(number: int) -> str:
    return f"{count(number)} decision{'s are' if number != 1 else ' is'}"


def _report(console: Console, model: Path, board: str, ran: ApplicationRun, checked: Checked, swept: Swept) -> None:
    console.json(
        {
            "model": model.name,
            "board": board,
            "emulator": ran.invokes.emulator,
            "notes": list(ran.invokes.notes),
            "checks": [
                {
                    "file": file,
                    "expected": verdict.expectation
                    and {
                        "time_s": verdict.expectation.time,
                        "stage": verdict.expectation.stage,
                        "value": verdict.expectation.value,
                        "tolerance_s": verdict.expectation.tolerance,
                    },
                    "decided": verdict.event and event_json(verdict.event, ran.period),
                    "result": _result(verdict),
                }
                for file, verdict in checked
            ],
            "thresholds": [{"stage": name, **_errors_json(row)} for name, rows in swept.items() for row in rows],
            "passed": all(verdict.is_met for _, verdict in checked),
        }
    )
    rows = [_row(file, verdict, ran.period) for file, verdict in checked]
    if rows:
        console.table(Table(f"{model.name} on {ran.invokes.emulator}", DECISIONS, rows))
    for name, errors in swept.items():
        title = f"Thresholds of {name}, {_expected_count(errors)} in {errors[0].hours * 3600:g} s of samples"
        console.table(Table(title, THRESHOLDS, [_threshold_row(row) for row in errors]))
    for note in ran.invokes.notes:
        console.line(f"note: {note}")


def _expected_count(errors: Sequence[ThresholdErrors]) -> str:
    expected = errors[0].expected
    return f"{count(expected)} expected decision{'s' * (expected != 1)}"


def _errors_json(errors: ThresholdErrors) -> dict[str, Any]:
    return {
        "threshold": errors.threshold,
        "is_own": errors.is_own,
        "expected": errors.expected,
        "missed": errors.missed,
        "unexpected": errors.unexpected,
        "hours": errors.hours,
    }


def _threshold_row(errors: ThresholdErrors) -> tuple[str, ...]:
    percent = f"{100 * errors.missed / errors.expected:.1f}" if errors.expected else ""
    rate = errors.unexpected / errors.hours if errors.hours else 0.0
    per_hour = count(round(rate)) if rate >= 10 else f"{rate:.2g}"
    own = "in file" if errors.is_own else ""
    return (f"{errors.threshold:g}", own, count(errors.missed), percent, count(errors.unexpected), per_hour)


def _row(file: str, verdict: Verdict, period: float | None) -> tuple[str, ...]:
    wanted, event = verdict.expectation, verdict.event
    stage = wanted.stage if wanted is not None else event.stage if event is not None else ""
    expected = ("", "") if wanted is None else (wanted.value, f"{wanted.time:.3f} s ± {wanted.tolerance:g}")
    decided = ("", "") if event is None else (event.label or str(event.value), time_text(event.call, period))
    return (file, stage, *expected, *decided, _result(verdict))


def _result(verdict: Verdict) -> str:
    return "ok" if verdict.is_met else "UNEXPECTED" if verdict.expectation is None else "MISSING"


def _junit(model: Path, board: str, ran: ApplicationRun, checked: Checked) -> bytes:
    cases = []
    for file, verdict in checked:
        wanted, event = verdict.expectation, verdict.event
        words = f"{file}: "
        if wanted is not None:
            words += f"{wanted.stage} decides {wanted.value} at {wanted.time:.3f} s"
        elif event is not None:
            words += f"{event.stage} decides {event.label or event.value} at {seconds_of(event.call, ran.period)} s"
        cases.append(Case(words, "" if verdict.is_met else _result(verdict)))
    properties = [("board", board), ("emulator", ran.invokes.emulator)]
    return junit_xml(f"{model.name} on {board}", cases, properties)
