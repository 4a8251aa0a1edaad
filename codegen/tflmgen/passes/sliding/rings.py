"""Caches in which rows stay where they are: the rows of a hop are written over the oldest ones.

A ring holds chunks of as many rows as a hop has, and the state has the position of the oldest chunk. Readers that take
few of the rows take them out of it by their positions; where readers need most rows in order, moving all of them down
by a hop is less work.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tflmgen.ir import DType, TensorType
from tflmgen.ir.graph import Origin, Value
from tflmgen.passes.sliding.graph_builder import GraphBuilder
from tflmgen.passes.sliding.track import Span, Track, union

LEAST_BYTES_SAVED = 16
"""Fewest bytes by which the rows of a cache exceed those that a hop takes out of a ring and writes into it.

Positions take about 40 instructions in a hop on a Cortex-M4, as many as moving 50 bytes. Of networks with caches of 16
to 72 bytes, counted on Cortex-M4 and M0, those with 16 bytes saved or more were never slower for their rings."""

POSITION = TensorType(DType.INT32, (1,))


@dataclass(frozen=True, slots=True)
class HeldRows:
    """Rows of a tensor that exist in a value, from its row `at` on."""

    span: Span
    value: Value
    at: int = 0


@dataclass(frozen=True, slots=True)
class Ring:
    """A cache of chunks of `track.hop` rows. Chunks are numbered from the oldest, which begins at row `first`.

    reads   numbers of the chunks that readers take rows from, in ascending order
    """

    value: Value
    track: Track
    first: int
    chunks: int
    reads: tuple[int, ...]

    @property
    def type(self) -> TensorType:
        """Type of the cached rows in the state, [chunks, elements of a chunk]."""
        rows = self.chunks * self.track.hop
        elements = self._rows(rows).elements
        return self.value.type.with_shape((self.chunks, elements // self.chunks))

    @property
    def bytes(self) -> int:
        """Bytes of the state: the cached rows and the position of the oldest chunk."""
        return self.type.bytes + POSITION.bytes

    def _rows(self, count: int) -> TensorType:
        return self.value.type.with_dim(self.track.axis, count)

    def loaded(self, stored: Value, oldest: Value, builder: GraphBuilder, origin: Origin) -> list[HeldRows]:
        """The chunks that are read. stored, oldest: the rows, and the position of the oldest chunk, before the hop."""
        hop, (_, size) = self.track.hop, self.type.shape
        indices = oldest if self.reads == (0,) else self._position(oldest, self.reads, builder, origin)
        type_ = self.value.type.with_shape((len(self.reads), size))
        chunks = builder.rows_at(stored, indices, self.value.name, type_, origin)
        rows = builder.reshape(chunks, self._rows(len(self.reads) * hop), origin)
        parts = []
        for place, number in enumerate(self.reads):
            begin = self.first + number * hop
            reused = max(begin, self.track.first)
            parts.append(HeldRows((reused, begin + hop), rows, place * hop + reused - begin))
        return parts

    def updated(
        self, stored: Value, oldest: Value, newest: Value, builder: GraphBuilder, origin: Origin
    ) -> tuple[Value, Value]:
        """The rows and the position of the oldest chunk after the hop, which has written `newest` over the oldest."""
        rows = builder.with_row(stored, oldest, newest, origin)
        return rows, self._position(oldest, (1,), builder, origin)

    def _position(self, oldest: Value, numbers: Sequence[int], builder: GraphBuilder, origin: Origin) -> Value:
        """Positions of chunks with these numbers."""
        type_ = TensorType(DType.INT32, (len(numbers),))
        sums = builder.sum(oldest, builder.integers(numbers), "positions", type_, origin)
        return builder.remainder(sums, self.chunks, "positions", origin)


def ring_of(value: Value, track: Track, reused: Sequence[Span]) -> Ring | None:
    """A ring for the rows that readers take out of the cache of a tensor; None if moving them down is less work."""
    hop, end = track.hop, track.kept[1]
    chunks = -(-(end - min(begin for begin, _ in reused)) // hop)
    first = end - chunks * hop
    spans = union([((a - first) // hop, -(-(b - first) // hop)) for a, b in reused])
    reads = tuple(number for span in spans for number in range(*span))
    saved = (chunks - len(reads) - 1) * hop * value.type.bytes // track.rows
    is_contiguous = math.prod(value.type.max_shape[: track.axis]) == 1
    if track.period > 1 or not is_contiguous or saved < LEAST_BYTES_SAVED:
        return None
    return Ring(value, track, first, chunks, reads)
