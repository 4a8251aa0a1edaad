"""A sample of the mutation campaign: the proof rejects what is wrong; the page has the figures of the whole."""

from __future__ import annotations

import re

import pytest
from mutation_page import PAGE, SCALE, page
from support import mutation_campaign
from support.mutation_campaign import Score, kinds, score
from tflmgen.reference.validation_result import Effort

SAMPLE = {"plan": (10, 6), "lowering": (20, 6), "packing": (7, 1), "emission": (30, 2), "passes": (5, 1)}


@pytest.mark.parametrize("kind", SAMPLE)
def test_a_sample_is_rejected_or_equivalent(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutation_campaign, "LONG", Effort(100, 1.0))
    result = score(kind, *SAMPLE[kind])
    assert result.rejected > 10
    assert len(result.survivors) <= 0.05 * result.differing, result.survivors


def test_a_survivor_is_told() -> None:
    """A mutant that is neither rejected nor equivalent lowers the score and is listed."""
    result = Score(mutants=2, rejected=1, survivors=["change_constant in model 1"])
    text = page({"passes": result})
    assert "| passes | 2 | 1 | 0 | 1 | 50.0 % |" in text
    assert "- passes: `change_constant in model 1`" in text


def test_the_page_has_every_kind_and_enough_mutants() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\w+) \| ([\d,]+) \|.*%", text, re.MULTILINE))
    assert list(rows) == [*kinds(), "all"] == [*SCALE, "all"]
    (share,) = re.findall(r"^\| all \|.* ([\d.]+) % \|$", text, re.MULTILINE)
    differing = re.findall(r"^\| all \| [\d,]+ \| ([\d,]+) \|", text, re.MULTILINE)[0]
    assert int(differing.replace(",", "")) >= 5000
    assert float(share) >= 99.0


@pytest.mark.sweep
@pytest.mark.parametrize("kind", SAMPLE)
def test_the_page_is_what_the_campaign_gives(kind: str) -> None:
    result = score(kind, *SCALE[kind])
    text = PAGE.read_text(encoding="utf-8")
    assert f"| {kind} | {result.mutants:,} | {result.rejected:,} |" in text
