"""Expected decisions of an application and their times, from CSV or TOML, compared with a timeline."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from tflmgen.applications.app_file import SUFFIX, UNITS, Application
from tflmgen.applications.application_graph import RAN
from tflmgen.applications.decision_timeline import Event
from tflmgen.errors import Location, ModelError, Problem
from tflmgen.user_files import read_text_limited

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TOLERANCE = 0.1
"""Seconds that a decision may be early or late, where the file does not say."""
COLUMNS = ("time", "stage", "value", "tolerance", "file")
_NUMBER = re.compile(r"-?\d{1,9}")


@dataclass(frozen=True, slots=True)
class Expectation:
    """A decision at a time.

    place      PATH:LINE, for messages
    time       seconds; None: nothing is expected, but other decisions of the stage are wrong
    value      a label or a number
    file       name of the input file; empty: any
    """

    place: str
    time: float | None
    stage: str
    output: str
    value: str
    tolerance: float
    file: str

    def is_met_by(self, event: Event, time: float) -> bool:
        """Whether an event at a time is this decision. Times of calls are exact to a rounding of the numbers."""
        is_value = self.value in (event.label, str(event.value)) and self.is_of(event)
        return self.time is not None and is_value and abs(time - self.time) <= self.tolerance + 1e-9

    def is_of(self, event: Event) -> bool:
        """Whether an event is of the expected stage and output."""
        return event.stage == self.stage and event.output != RAN and self.output in ("", event.output)


@dataclass(frozen=True, slots=True)
class Verdict:
    """An expectation with the event that meets it, or one of both alone: missing, or unexpected."""

    expectation: Expectation | None
    event: Event | None

    @property
    def is_met(self) -> bool:
        """Whether the expected decision was made, in its time."""
        return self.expectation is not None and self.event is not None


def read_expectations(path: Path, app: Application) -> tuple[Expectation, ...]:
    """The file's decisions. Raises ModelError with the line of what is wrong."""
    try:
        text = read_text_limited(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        _fail(str(path), f"cannot be read: {reason}")
    rows = _toml_rows(path, text) if path.suffix.lower() == SUFFIX else _csv_rows(path, text)
    expectations = tuple(_expectation(place, row, app) for place, row in rows)
    if not expectations:
        _fail(str(path), "expects nothing", "Name a stage without a time to say that it decides nothing")
    return expectations


def compared(
    expectations: Sequence[Expectation], events: Sequence[Event], period: float, file: str = ""
) -> list[Verdict]:
    """Each expectation with the first event that meets it and no other; then events that nothing expects, of stages
    that are named. period: seconds between calls, at whose end their decisions are known."""
    left = [event for event in events if any(e.is_of(event) and e.file in ("", file) for e in expectations)]
    verdicts = []
    for expectation in sorted(
        (e for e in expectations if e.time is not None and e.file in ("", file)), key=lambda e: e.time or 0.0
    ):
        met = next((event for event in left if expectation.is_met_by(event, (event.call + 1) * period)), None)
        if met is not None:
            left.remove(met)
        verdicts.append(Verdict(expectation, met))
    return [*verdicts, *(Verdict(None, event) for event in left)]


def _fail(place: str, rule: str, advice: str = "") -> NoReturn:
    raise ModelError([Problem(Location(place), rule, advice)])


def _csv_rows(path: Path, text: str) -> list[tuple[str, Mapping[str, Any]]]:
    reader = csv.reader(text.splitlines(), skipinitialspace=True)
    rows = [(f"{path}:{reader.line_num}", [c.strip() for c in cells]) for cells in reader if any(map(str.strip, cells))]
    if not rows or not {"time", "stage", "value"} <= set(rows[0][1]) <= set(COLUMNS):
        _fail(
            f"{path}:1", f"the first row names columns: time, stage, value and, if you like, {', '.join(COLUMNS[3:])}"
        )
    header = rows[0][1]
    for place, cells in rows[1:]:
        if len(cells) > len(header):
            _fail(place, f"has {len(cells)} columns, and the first row {len(header)}")
    return [(place, {n: c for n, c in zip(header, cells, strict=False) if c}) for place, cells in rows[1:]]


def _toml_rows(path: Path, text: str) -> list[tuple[str, Mapping[str, Any]]]:
    try:
        contents = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        _fail(str(path), f"is not TOML: {error}")
    tables = contents.get("expect")
    if set(contents) - {"expect"} or not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        _fail(str(path), "has tables [[expect]] with time, stage, value, tolerance and file")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if re.match(r"\s*\[\[\s*expect\s*\]\]", line)]
    places = [f"{path}:{line}" for line in lines] if len(lines) == len(tables) else [str(path)] * len(tables)
    return list(zip(places, tables, strict=True))


def _expectation(place: str, row: Mapping[str, Any], app: Application) -> Expectation:
    unknown = [key for key in row if key not in COLUMNS]
    if unknown:
        _fail(place, f"{unknown[0]} is not a key here; there are {', '.join(COLUMNS)}")
    name, _, output = str(row.get("stage", "")).partition(".")
    stage = next((s for s in app.stages if s.name == name), None)
    if stage is None:
        _fail(place, f"there is no stage '{name}'; there are {', '.join(s.name for s in app.stages)}")
    time = None if "time" not in row else _seconds(place, "time", row["time"])
    value = str(row.get("value", ""))
    if (time is None) != (value == ""):
        _fail(place, "a decision has a time and a value; leave out both to say that the stage decides nothing more")
    labels = stage.settings.get("labels") or []
    if value and value not in labels and not _NUMBER.fullmatch(value):
        _fail(place, f"'{value}' is not a label of '{name}'" + (f"; there are {', '.join(labels)}" if labels else ""))
    tolerance = _seconds(place, "tolerance", row.get("tolerance", TOLERANCE))
    return Expectation(place, time, name, output, value, tolerance, str(row.get("file", "")))


def _seconds(place: str, key: str, value: object) -> float:
    """A number of seconds, or a text with a unit."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*(s|ms|us)?", str(value).strip())
    if match is None or isinstance(value, bool):
        _fail(place, f"{key}: {value!r} is not a time", 'Write seconds, or "120 ms"')
    return float(match[1]) * UNITS[match[2] or "s"]
