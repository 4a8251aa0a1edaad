"""Numbers and sizes as data sheets write them."""

from __future__ import annotations

KILOBYTE = 1024
"""Bytes per kB: memory sizes of microcontrollers are powers of two."""


def count(value: int) -> str:
    """A whole number with separated thousands: `1,234,567`."""
    return f"{value:,}"


def readable(size: int) -> str:
    """A size in B below 1,000 bytes, else in kB: `608 B`, `9.5 kB`, `64 kB`."""
    if size < 1000:
        return f"{size} B"
    amount = size / KILOBYTE
    return f"{amount:,.0f} kB" if amount >= 1000 or amount.is_integer() else f"{amount:.1f} kB"


def three_digits(value: float) -> str:
    """A measure of which no more than three digits are meant: `0.812`, `22.5`, `1,230`."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:#.3g}"


def share(used: int, of: int) -> str:
    """`used` as a percentage of `of` with one decimal; a dash if `of` is 0."""
    if not of:
        return "-"
    percent = 100 * used / of
    return "<0.1" if 0 < percent < 0.05 else f"{percent:.1f}"
