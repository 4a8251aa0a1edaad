"""The one exception that becomes an answer: a sentence about the source, and advice."""

from __future__ import annotations


class SourceError(Exception):
    """Something about the source that its owner can mend."""

    def __init__(self, rule: str, advice: str = "") -> None:
        super().__init__(rule)
        self.rule, self.advice = rule, advice
