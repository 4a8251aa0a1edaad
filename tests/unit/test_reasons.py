"""Reasons of other programs' exceptions on one line."""

from __future__ import annotations

import pytest
from tflmgen.errors import LONGEST_REASON, reason_of


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("one\ntwo", "one"),
        (
            "Got error:\n\nAttempted to wrap RNN\n  Hint: none\n\nDeveloper context",
            "Got error: Attempted to wrap RNN Hint: none",
        ),
        ("Got error:\nAttempted", "Got error: Attempted"),
        ("ends here:", "ends here:"),
        ("", "ValueError"),
        ("a" * 2000, "a" * (LONGEST_REASON - 1) + "…"),
    ],
)
def test_the_paragraph_after_a_colon_belongs_to_the_reason(text: str, reason: str) -> None:
    assert reason_of(ValueError(text)) == reason
