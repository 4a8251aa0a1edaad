"""Ranges of real values, [least, greatest], of which scales are made."""

from __future__ import annotations

import math

Range = tuple[float, float]

EVERYTHING: Range = (-math.inf, math.inf)
NOTHING: Range = (math.inf, -math.inf)


def hull(*ranges: Range) -> Range:
    """The least range with all values of these ranges; NOTHING for none."""
    return min((low for low, _ in ranges), default=math.inf), max((high for _, high in ranges), default=-math.inf)


def clipped(values: Range, bounds: Range) -> Range:
    """The range of values that end at bounds."""
    low, high = (min(max(end, bounds[0]), bounds[1]) for end in values)
    return low, high
