"""Scores of an application over time as a picture: a line for each class, the threshold, and decisions as marks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.report.palette import COLOURS, NEUTRAL
from tflmgen.terminal import count

HEIGHT, LEFT, TOP = 190, 72, 18
"""Pixels of the axis of scores, of the numbers beside it, and of the decisions' labels above."""
_LEAST_WIDTH, _MOST_WIDTH, _SECOND = 620, 6000, 12
"""Least and greatest width of the axis of time, and the width of a second or, without a period, of a call."""
PLOTS = 24
"""Pictures on a page."""
_LABEL = 7
"""Pixels of a letter of a decision's label."""


@dataclass(frozen=True, slots=True)
class ScoreSeries:
    """An output of an application call by call.

    names      of the classes; fewer than values has: numbers
    values     float[calls, classes]
    period     seconds between calls; None: unknown
    threshold  that a score reaches for a decision; None: the stage has none
    decisions  (call, class or -1, text) of each
    levels     names of the values 0, 1, ... of a single line that shows decisions themselves; empty: numbers
    """

    title: str
    names: Sequence[str]
    values: NDArray[np.float64]
    period: float | None
    threshold: float | None
    decisions: Sequence[tuple[int, int, str]]
    levels: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """A tick with its place in pixels, or a decision with its place; an empty label: there is no room for one."""

    place: float
    label: str
    style: str = ""
    tip: str = ""


@dataclass(frozen=True, slots=True)
class ScorePlot:
    """Contents of the picture, in pixels from its upper left corner.

    lines   (class name, colour, points of a polyline)
    hidden  number of classes that have no line
    """

    title: str
    width: int
    lines: tuple[tuple[str, str, str], ...]
    hidden: int
    times: tuple[Mark, ...]
    ticks: tuple[Mark, ...]
    threshold: Mark | None
    decisions: tuple[Mark, ...]
    unit: str


def score_plots(scores: Sequence[ScoreSeries]) -> dict[str, object]:
    """Contents of the page's section of scores."""
    plots = [score_plot(series) for series in scores[:PLOTS]]
    return {"plots": plots, "unplotted": len(scores) - len(plots), "left": LEFT, "top": TOP, "plot_height": HEIGHT}


def score_plot(series: ScoreSeries) -> ScorePlot:
    """The picture of a series of at least one call. Classes with the largest scores have lines, up to COLOURS."""
    calls, classes = series.values.shape
    values = np.nan_to_num(series.values, nan=0.0, posinf=1e30, neginf=-1e30)
    span = calls * (series.period or 1.0)
    width = int(min(max(span * _SECOND, _LEAST_WIDTH), _MOST_WIDTH))
    drawn = sorted(np.argsort(-values.max(axis=0), kind="stable")[:COLOURS].tolist())
    styles = {number: f"c{place}" for place, number in enumerate(drawn)}
    axis = _Axis.of(values, series)
    at = LEFT + width * np.arange(1, calls + 1) / calls
    lines = tuple((_name(series, k), styles[k], _points(at, axis.places(values[:, k]))) for k in drawn)
    threshold = None
    if series.threshold is not None:
        threshold = Mark(float(axis.places(np.array([series.threshold]))[0]), f"{series.threshold:g}")
    times = tuple(Mark(LEFT + width * time / span, f"{time:g}") for time in _steps(0.0, span, width / 80))
    unit = "calls" if series.period is None else "seconds"
    decisions = tuple(_decisions(series, at, styles))
    return ScorePlot(series.title, width, lines, classes - len(drawn), times, axis.ticks, threshold, decisions, unit)


@dataclass(frozen=True, slots=True)
class _Axis:
    """The axis of scores from `least` to `greatest`."""

    least: float
    greatest: float
    levels: Sequence[str]

    @classmethod
    def of(cls, values: NDArray[np.float64], series: ScoreSeries) -> _Axis:
        extremes = [0.0, float(values.min()), float(values.max())]
        extremes += [] if series.threshold is None else [series.threshold]
        least, greatest = min(extremes), max(extremes)
        return cls(least, greatest if greatest > least else least + 1, series.levels)

    def places(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Pixels from the top."""
        share = (values - self.least) / (self.greatest - self.least)
        return np.asarray(TOP + HEIGHT * (1 - np.clip(share, 0.0, 1.0)), np.float64)

    @property
    def ticks(self) -> tuple[Mark, ...]:
        """Numbers, or names of levels."""
        steps = [s for s in _steps(self.least, self.greatest, 5) if not self.levels or s == int(s)]
        names = [self.levels[int(s)] if 0 <= s < len(self.levels) else f"{s:g}" for s in steps]
        return tuple(Mark(float(self.places(np.array([s]))[0]), n[:9]) for s, n in zip(steps, names, strict=True))


def _steps(least: float, greatest: float, steps: float) -> Iterator[float]:
    """Round numbers from the least to the greatest, about `steps` of them."""
    rough = (greatest - least) / max(steps, 1)
    power = 10.0 ** np.floor(np.log10(rough))
    step = float(next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9)))
    number = int(np.ceil(least / step - 1e-9))
    while number * step <= greatest + step * 1e-6:
        yield float(f"{number * step:.6g}")
        number += 1


def _name(series: ScoreSeries, number: int) -> str:
    return series.names[number] if number < len(series.names) else str(number)


def _points(at: NDArray[np.float64], places: NDArray[np.float64]) -> str:
    """Points of a polyline: of each pixel's width the first, the lowest and the highest score, in the order of time."""
    starts = np.flatnonzero(np.diff(np.floor(at), prepend=-1))
    kept = set()
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(at)], strict=True):
        part = places[start:end]
        kept |= {start, start + int(part.argmin()), start + int(part.argmax())}
    return " ".join(f"{at[k]:.1f},{places[k]:.1f}" for k in sorted(kept))


def _decisions(series: ScoreSeries, at: NDArray[np.float64], styles: dict[int, str]) -> Iterator[Mark]:
    free = 0.0
    for call, number, text in series.decisions:
        place = float(at[call])
        when = f"call {count(call)}" if series.period is None else f"{(call + 1) * series.period:.3f} s"
        label = text if place >= free else ""
        free = place + _LABEL * len(label) + 8 if label else free
        yield Mark(place, label, styles.get(number, NEUTRAL), f"{text}\n{when}")
