"""Estimated time of an invoke in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tflmgen.terminal import count, three_digits


def time_words(plan: Mapping[str, Any]) -> str:
    """`~39.5 ms at 120 MHz, 5 wait states`, from plan.json's `time`; empty where nothing is known of it."""
    time = plan.get("time")
    if not time or not time["milliseconds_estimated"]:
        return ""
    waits = time["wait_states"]
    parts = [
        f"~{three_digits(time['milliseconds_estimated'])} ms at {time['clock'] / 1_000_000:g} MHz",
        "no wait states" if waits is None else f"{waits} wait states",
    ]
    if unknown := time["operators_without_estimate"]:
        parts.append(f"{count(unknown)} operator{'' if unknown == 1 else 's'} not counted")
    return ", ".join(parts)
