"""Functions shared by the readers of packed constants.

Each declaration of a kernel that packs weights has a reader beside its packer. It is written from the layout that the
kernel's header documents: a record of the stream is a numpy structured type, and nothing that decides positions is
shared with the packer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tflmgen.ir.kernel import PackedCall
from tflmgen.kernels.numeric.int8_layer import Integers


def records(data: bytes, fields: Sequence[tuple[str, DTypeLike, tuple[int, ...]]], count: int = -1) -> NDArray[np.void]:
    """`data` as records of numpy fields. Raises ValueError unless it is `count` (-1: any number of) whole records."""
    layout = np.dtype(list(fields))
    if len(data) % layout.itemsize or (count >= 0 and len(data) != count * layout.itemsize):
        raise ValueError(f"{len(data)} bytes are not {count if count >= 0 else 'whole'} records of {layout.itemsize}")
    return np.frombuffer(data, dtype=layout)


def without_padding(weights: NDArray[np.generic], terms: int) -> Integers:
    """Weights [channels, terms] without the columns that pad them. Raises ValueError where one of these is not 0."""
    wide = weights.astype(np.int64)
    if wide[:, terms:].any():
        raise ValueError("weights behind the last term are not zero")
    return wide[:, :terms]


def pairs_of(channels: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First channel of each pair, and its distance in channels to the next pair (0 for the last).

    With an odd number of channels the last pair overlaps the one before it; a single channel is paired with itself.
    """
    firsts = np.arange(0, channels, 2)
    if channels % 2:
        firsts[-1] = max(channels - 2, 0)
    return firsts, np.append(np.diff(firsts), 0)


def agreeing(rows: NDArray[np.int64], *columns: NDArray[np.generic]) -> list[Integers]:
    """Columns [records] reordered by channel: [channels]. rows: the channel of each record.

    Raises ValueError where two records of one channel differ.
    """
    chosen = np.zeros(int(rows.max()) + 1, dtype=np.int64)
    chosen[rows] = np.arange(len(rows))
    if not all((column == column[chosen[rows]]).all() for column in columns):
        raise ValueError("a channel that is packed twice has different constants")
    return [column[chosen].astype(np.int64) for column in columns]


def reading_phases(call: PackedCall) -> list[tuple[list[int], list[int]]]:
    """Filter rows and columns of each phase of a TRANSPOSE_CONV, last tap first; phases in row-major order.

    The output at row y gets tap k from input row (y + padding - k) / stride where that is an integer; columns likewise.
    """

    def along(side: str, taps: int) -> list[list[int]]:
        length = {"top": "height", "left": "width"}[side]
        stride, padding = call.number(f"stride_{length}"), call.number(f"padding_{side}")
        return [[k for k in reversed(range(taps)) if (y + padding - k) % stride == 0] for y in range(stride)]

    return [(down, across) for down in along("top", call.taps[0]) for across in along("left", call.taps[1])]
