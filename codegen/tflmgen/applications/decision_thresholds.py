"""Decisions of a smoothing stage at other thresholds, out of the smoothed scores of one run, and how many are wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.applications.app_file import Application, AppStage
from tflmgen.applications.application_graph import RAN
from tflmgen.applications.decision_builtins import NOTHING, hold_calls
from tflmgen.applications.decision_timeline import DETECTED, Event, decisions_of, may_be_skipped
from tflmgen.applications.expected_decisions import Expectation, compared

SCORES = "scores"
"""Output of a smoothing stage: means of its window, from which it decides."""
_STEPS = 10
"""Thresholds between the smallest and the largest that change a decision."""


@dataclass(frozen=True, slots=True)
class SmoothedScores:
    """Smoothed scores of a stage on one file.

    scores  float32[calls, classes]
    ran     in which calls the stage ran: only there it decides
    """

    file: str
    scores: NDArray[np.float32]
    ran: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ThresholdErrors:
    """Wrong decisions at a threshold.

    is_own   the application's file has this threshold
    missed   of `expected` decisions, those not made in time
    hours    of samples in which decisions are expected or excluded
    """

    threshold: float
    is_own: bool
    expected: int
    missed: int
    unexpected: int
    hours: float


@dataclass(frozen=True)
class SmoothingStage:
    """Settings of a stage with `builtin = "smooth"`, without the threshold."""

    stage: AppStage
    hold: int

    @property
    def own(self) -> float:
        """The threshold in the application's file."""
        return float(self.stage.settings["threshold"])

    def events(self, smoothed: SmoothedScores, threshold: float) -> list[Event]:
        """Decisions at a threshold: the built-in's rule, call by call."""
        places, values = self._largest(smoothed)
        reaches = smoothed.ran & (values >= np.float32(threshold))
        detected = np.full(len(places), NOTHING, np.int64)
        ready = 0
        for call in np.flatnonzero(reaches).tolist():
            if call >= ready:
                detected[call] = places[call]
                ready = call + self.hold
        # A call in which the stage is skipped leaves its output as it was.
        last_run = np.maximum.accumulate(np.where(smoothed.ran, np.arange(len(places)), -1))
        shown = np.where(last_run < 0, NOTHING, detected[np.maximum(last_run, 0)])
        return list(decisions_of(self.stage, DETECTED, shown.tolist()))

    def thresholds(self, recordings: Sequence[SmoothedScores]) -> list[float]:
        """Even steps from the smallest to the largest threshold that tells runs apart, and the file's own; ascending.

        They have four digits, rounded down: the largest score reaches the last of them.
        """
        values = np.concatenate([self._largest(r)[1][r.ran] for r in recordings]).astype(np.float64)
        values = values[np.isfinite(values) & (values > -1e9)]
        if not values.size:
            return [self.own]
        least, greatest = float(values.min()), float(values.max())
        unit = 10.0 ** (math.floor(math.log10(max(abs(least), abs(greatest), 1e-30))) - 3)
        steps = {round(math.floor(value / unit) * unit, 40) for value in np.linspace(least, greatest, _STEPS)}
        return sorted({*(float(f"{value:.4g}") for value in steps), self.own})

    def errors(
        self, recordings: Sequence[SmoothedScores], expectations: Sequence[Expectation], period: float
    ) -> list[ThresholdErrors]:
        """Wrong decisions at each of some thresholds. period: seconds between calls."""
        own = [e for e in expectations if e.stage == self.stage.name and e.output in ("", DETECTED)]
        judged = [r for r in recordings if any(e.file in ("", r.file) for e in own)]
        hours = sum(len(r.ran) for r in judged) * period / 3600
        rows = []
        for threshold in self.thresholds(recordings):
            verdicts = [v for r in judged for v in compared(own, self.events(r, threshold), period, r.file)]
            expected = [v for v in verdicts if v.expectation is not None]
            missed = sum(not v.is_met for v in expected)
            unexpected = len(verdicts) - len(expected)
            rows.append(ThresholdErrors(threshold, threshold == self.own, len(expected), missed, unexpected, hours))
        return rows

    def _largest(self, smoothed: SmoothedScores) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The class with the largest score in each call, and the score; ignored classes are out of reach."""
        scores = smoothed.scores.copy()
        scores[:, list(self.stage.settings.get("ignore", ()))] = -3e38
        places = scores.argmax(axis=1)
        return places, scores[np.arange(len(places)), places]


def smoothing_stages(app: Application, outputs: Sequence[str]) -> list[SmoothingStage]:
    """Stages whose smoothed scores, and the calls in which they ran, are among the application's outputs."""
    return [
        SmoothingStage(stage, hold_calls(app.file, stage, app.period))
        for stage in app.stages
        if stage.builtin == "smooth"
        and f"{stage.name}.{SCORES}" in outputs
        and (f"{stage.name}.{RAN}" in outputs or not may_be_skipped(app, stage))
    ]


def smoothed_scores(stage: AppStage, file: str, steps: Sequence[Mapping[str, NDArray[Any]]]) -> SmoothedScores:
    """Scores of a stage on a file. steps: outputs of each call by name."""
    scores = np.stack([step[f"{stage.name}.{SCORES}"].reshape(-1) for step in steps]).astype(np.float32)
    ran = np.array(
        [bool(step[f"{stage.name}.{RAN}"].any()) if f"{stage.name}.{RAN}" in step else True for step in steps]
    )
    return SmoothedScores(file, scores, ran)
