"""How far the outputs of a matrix product with rows may run ahead of its inputs."""

from __future__ import annotations


def overlap_distance(batches: int, depth: int, units: int, last: int = 1) -> int:
    """Least distance, in elements, by which the output must precede the input that it lies over.

    Of a row's outputs all but the `last` are written while its input is read, and all before the next input row is.
    """
    rows_written = max(0, (batches - 1) * (units - depth))
    return max(0, units - last + rows_written)


def last_block(units: int, block: int) -> int:
    """How many outputs are in the last one of blocks, each of which is written once the row is read."""
    return (units - 1) % block + 1
