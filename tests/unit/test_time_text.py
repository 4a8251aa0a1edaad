"""Estimated time in words."""

from __future__ import annotations

from typing import Any

import pytest
from tflmgen.report.time_text import time_words


def plan(**changes: Any) -> dict[str, Any]:
    known = {"cycles_estimated": 4_734_784, "milliseconds_estimated": 39.457, "clock": 120_000_000, "wait_states": 5}
    return {"time": {**known, "operators_without_estimate": 0, **changes}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "~39.5 ms at 120 MHz, 5 wait states"),
        ({"wait_states": None, "clock": 25_000_000}, "~39.5 ms at 25 MHz, no wait states"),
        ({"operators_without_estimate": 1}, "~39.5 ms at 120 MHz, 5 wait states, 1 operator not counted"),
        ({"operators_without_estimate": 2}, "~39.5 ms at 120 MHz, 5 wait states, 2 operators not counted"),
        ({"milliseconds_estimated": None}, ""),
    ],
)
def test_words(changes: dict[str, Any], words: str) -> None:
    assert time_words(plan(**changes)) == words


def test_a_plan_without_times_has_no_words() -> None:
    assert time_words({}) == ""
