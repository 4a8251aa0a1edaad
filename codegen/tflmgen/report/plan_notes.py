"""What a plan tells its user beside figures: warnings, and notes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def note_lines(plan: Mapping[str, Any]) -> list[str]:
    """Lines for a terminal: warnings of the proof first, then notes."""
    warnings = [f"warning: {part['warning']}" for part in plan["proof"] if part.get("warning")]
    return [*warnings, *(f"note: {note}" for note in plan["notes"])]
