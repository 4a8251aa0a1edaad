"""How float32 kernels go through rows of weights: four sums at a time (firmware/kernels/rows_f32.h)."""

from __future__ import annotations

from tflmgen.kernels.header_constants import header_constant

ROWS = header_constant("rows_f32.h", "TFLMGEN_ROWS_F32")
"""Rows that are summed up at a time."""


def last_rows(rows: int) -> int:
    """How many of `rows` sums are written after the last read of the input: fewer than four come one by one."""
    return (rows - 1) % ROWS + 1 if rows >= ROWS else 1
