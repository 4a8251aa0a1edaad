"""Sizes in the words that data sheets use."""

from __future__ import annotations

KILOBYTE = 1024
"""Bytes: memories of microcontrollers come in powers of two."""


def count(value: int) -> str:
    """A whole number, with its thousands apart."""
    return f"{value:,}"


def readable(size: int) -> str:
    """Bytes in the unit that suits them: `608 B`, `9.5 kB`, `64 kB`."""
    if size < 1000:
        return f"{size} B"
    amount = size / KILOBYTE
    return f"{amount:,.0f} kB" if amount >= 1000 or amount.is_integer() else f"{amount:.1f} kB"


def share(used: int, of: int) -> str:
    """A percentage with one decimal; a dash where there is nothing to compare with."""
    if not of:
        return "-"
    percent = 100 * used / of
    return "<0.1" if 0 < percent < 0.05 else f"{percent:.1f}"
