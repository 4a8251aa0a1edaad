"""Overlap distances of matrix products computed row by row."""

from __future__ import annotations


def overlap_distance(batches: int, depth: int, units: int, last: int = 1) -> int:
    """Smallest distance, in elements, by which the output must precede the overlapped input.

    All outputs of a row but the `last` are written while its input row is read; all are written before the next row.
    """
    rows_written = max(0, (batches - 1) * (units - depth))
    return max(0, units - last + rows_written)


def last_block(units: int, block: int) -> int:
    """Number of outputs in the last block, if outputs are computed in blocks that are written after reading the row."""
    return (units - 1) % block + 1
