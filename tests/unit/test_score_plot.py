"""Pictures of scores over time: places of lines, threshold and decisions, and what is left out of long series."""

from __future__ import annotations

import numpy as np
import pytest
from support.repository import ROOT
from tflmgen.hardware.board import HOST
from tflmgen.options import BuildOptions
from tflmgen.project.firmware_build import plan_for
from tflmgen.report import ScoreSeries, report_html
from tflmgen.report.score_plot import HEIGHT, LEFT, TOP, score_plot


def series(values: np.ndarray, threshold: float | None = 0.5, period: float | None = 0.01) -> ScoreSeries:
    return ScoreSeries("decide.scores, a.wav", ("no", "yes"), values, period, threshold, ((49, 1, "yes"),))


def points(text: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in text.split())]


def test_lines_threshold_and_decisions_share_their_axes() -> None:
    values = np.stack([np.linspace(0, 1, 100), np.linspace(1, 0, 100)], axis=1)
    plot = score_plot(series(values))
    assert [(name, style) for name, style, _ in plot.lines] == [("no", "c0"), ("yes", "c1")]
    rising = points(plot.lines[0][2])
    assert rising[0] == pytest.approx((LEFT + plot.width / 100, TOP + HEIGHT), abs=0.1)
    assert rising[-1] == pytest.approx((LEFT + plot.width, TOP), abs=0.1)
    assert plot.threshold is not None
    assert plot.threshold.place == pytest.approx(TOP + HEIGHT / 2)
    (mark,) = plot.decisions
    assert (mark.label, mark.style, mark.tip) == ("yes", "c1", "yes\n0.500 s")
    assert mark.place == pytest.approx(LEFT + plot.width / 2)
    assert plot.times[-1].label == "1"
    assert plot.times[-1].place == pytest.approx(LEFT + plot.width)
    assert plot.unit == "seconds"


def test_a_long_series_keeps_its_peaks_in_few_points() -> None:
    values = np.zeros((1_000_000, 1))
    values[654_321] = 0.9
    values[123_456] = -0.4
    plot = score_plot(series(values))
    drawn = points(plot.lines[0][2])
    assert len(drawn) <= 3 * (plot.width + 1)
    assert min(y for _, y in drawn) == pytest.approx(TOP, abs=0.1)
    assert max(y for _, y in drawn) == pytest.approx(TOP + HEIGHT, abs=0.1)
    assert 5 <= len(plot.times) <= plot.width / 40


def test_the_largest_of_many_classes_have_lines() -> None:
    values = np.zeros((60, 129))
    values[3, 100] = 0.8
    plot = score_plot(series(values, None))
    assert len(plot.lines) == 8
    assert "100" in [name for name, _, _ in plot.lines]
    assert plot.hidden == 121
    assert plot.threshold is None


@pytest.mark.parametrize("values", [[[0.0]], [[np.nan], [np.inf]], [[-1e30], [1e30]], [[1e-30], [0.0]]])
def test_odd_scores_have_a_picture(values: list[list[float]]) -> None:
    plot = score_plot(ScoreSeries("x", (), np.array(values), None, None, ()))
    assert all(0 <= y <= TOP + HEIGHT for _, y in points(plot.lines[0][2]))
    assert 1 <= len(plot.ticks) <= 12
    assert plot.unit == "calls"


def test_the_page_has_the_picture_and_no_markup_of_labels() -> None:
    plan = plan_for(ROOT / "examples" / "gate.tflite", HOST, BuildOptions()).plan
    scores = ScoreSeries("<b>", ("<i>a",), np.ones((4, 1)), 1.0, 0.5, ((2, 0, "<s>"),))
    page = report_html(plan, HOST, scores=[scores])
    assert page.count("<polyline") == 1
    assert "threshold 0.5" in page
    assert not any(text in page for text in ("<b>&lt;", "<h3><b>", "<i>a", "<s>"))
    assert "<polyline" not in report_html(plan, HOST)
