"""Blocking of float32 kernels over rows of weights: four sums at a time (firmware/kernels/rows_f32.h)."""

from __future__ import annotations

from tflmgen.kernels.numeric.header_constants import header_constant

ROWS = header_constant("rows_f32.h", "TFLMGEN_ROWS_F32")
"""Rows summed at a time."""


def last_rows(rows: int) -> int:
    """Number of the `rows` sums written after the last read of the input; fewer than four are computed one by one."""
    return (rows - 1) % ROWS + 1 if rows >= ROWS else 1
