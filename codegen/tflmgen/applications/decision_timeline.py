"""Timeline of an application, call by call: decisions that changed, gated stages that began and ended, runs of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.applications.app_file import Application, AppStage
from tflmgen.applications.application_graph import RAN
from tflmgen.applications.decision_builtins import NOTHING

DETECTED = "detected"
"""Output of a decision of one call: that it ends is no event."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that changed in a call.

    call    from 0
    output  of the stage; "ran" where the stage begins or ends to run
    value   the decision; 1 and 0 for a stage that begins and ends
    label   the decision's name; empty: it has none
    """

    call: int
    stage: str
    output: str
    value: int
    label: str

    @property
    def text(self) -> str:
        """The event as text for people: "detected yes (1)", "runs"."""
        if self.output == RAN:
            return "runs" if self.value else "stops"
        named = f"{self.label} ({self.value})" if self.label else str(self.value)
        return f"{self.output} {named}"


@dataclass(frozen=True, slots=True)
class StageRuns:
    """In how many of the calls a stage ran; None: the application's outputs do not say it."""

    stage: str
    runs: int | None


@dataclass(frozen=True, slots=True)
class DecisionTimeline:
    """Events in the order of the calls, and how often each stage ran."""

    calls: int
    events: tuple[Event, ...]
    stages: tuple[StageRuns, ...]


def timeline_of(app: Application, steps: Sequence[Mapping[str, NDArray[Any]]]) -> DecisionTimeline:
    """The timeline of a series of calls. steps: the outputs of each by name."""
    events: list[Event] = []
    counts = []
    for stage in app.stages:
        names = {name: name.partition(".")[2] for name in steps[0] if name.partition(".")[0] == stage.name}
        for name, output in names.items():
            if output != RAN and _is_decision(steps[0][name]):
                events += decisions_of(stage, output, [int(step[name].reshape(-1)[0]) for step in steps])
        ran = [bool(step[f"{stage.name}.{RAN}"].any()) for step in steps] if f"{stage.name}.{RAN}" in steps[0] else None
        if stage.when and ran is not None:
            events += _activity(stage, ran, _pace(app, stage))
        always = None if may_be_skipped(app, stage) else len(steps)
        counts.append(StageRuns(stage.name, always if ran is None else sum(ran)))
    order = {stage.name: place for place, stage in enumerate(app.stages)}
    events.sort(key=lambda event: (event.call, order[event.stage]))
    return DecisionTimeline(len(steps), tuple(events), tuple(counts))


def _is_decision(array: NDArray[Any]) -> bool:
    return array.size == 1 and array.dtype == np.int32


def decisions_of(stage: AppStage, output: str, values: Sequence[int]) -> Iterator[Event]:
    """Events of an output of decisions. values: the output in each call."""
    labels, before = stage.settings.get("labels") or [], NOTHING
    for call, value in enumerate(values):
        if value != before and not (output == DETECTED and value == NOTHING):
            label = labels[value] if 0 <= value < len(labels) else ""
            yield Event(call, stage.name, output, value, label)
        before = value


def may_be_skipped(app: Application, stage: AppStage) -> bool:
    """Whether there may be calls in which a stage does not run."""
    stages = {other.name: other for other in app.stages}
    sources = [text.partition(".")[0] for text in stage.inputs]
    waits = stage.when != "" or stage.every > 1 or stage.slide is not None
    return waits or all(name in stages and may_be_skipped(app, stages[name]) for name in sources)


def _pace(app: Application, stage: AppStage) -> int:
    """Calls from one run to the next while the stage is not held up."""
    stages = {other.name: other for other in app.stages}
    sources = [text.partition(".")[0] for text in stage.inputs]
    return stage.every * min((_pace(app, stages[name]) if name in stages else 1 for name in sources), default=1)


def _activity(stage: AppStage, ran: Sequence[bool], pace: int) -> Iterator[Event]:
    """Events of a stage: when it begins to run, and when it has stopped, not having run for longer than its pace."""
    last = None
    for call, runs in enumerate(ran):
        if last is not None and call - last > pace:
            yield Event(last + 1, stage.name, RAN, 0, "")
            last = None
        if runs:
            if last is None:
                yield Event(call, stage.name, RAN, 1, "")
            last = call
