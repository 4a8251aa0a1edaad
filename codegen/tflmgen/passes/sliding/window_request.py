"""The option --slide: INPUT=AXIS,HOP."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tflmgen.errors import UsageError


@dataclass(frozen=True, slots=True)
class WindowRequest:
    """An input whose window slides along `axis` by `hop` rows in each invoke."""

    input: str
    axis: int
    hop: int


def parse_slides(texts: Sequence[str]) -> tuple[WindowRequest, ...]:
    """The options' values. Raises UsageError for a malformed one, and for an input that slides twice."""
    requests = []
    for text in texts:
        match = re.fullmatch(r"(.+)=(-?\d{1,9}),(\d{1,9})", text, re.DOTALL)
        if match is None or int(match[3]) == 0:
            raise UsageError(f"--slide {text}: not INPUT=AXIS,HOP, such as features=1,1 with a HOP of 1 row or more")
        requests.append(WindowRequest(match[1], int(match[2]), int(match[3])))
    names = [request.input for request in requests]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"--slide: input '{name}' is given twice")
    return tuple(requests)
