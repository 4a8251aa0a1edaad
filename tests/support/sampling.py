"""Which of a test's many cases run always."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def sampled(cases: Sequence[Any], every: int, first: int = 0) -> list[Any]:
    """Parameters of a test: one case of `every`, from the `first` on, runs always, the others with -m sweep.

    A tuple is several parameters.
    """
    marks = [[] if i % every == first else [pytest.mark.sweep] for i in range(len(cases))]
    values = (case if isinstance(case, tuple) else (case,) for case in cases)
    return [pytest.param(*value, marks=mark) for value, mark in zip(values, marks, strict=True)]
