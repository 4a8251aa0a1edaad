"""The dependency cone of a hop: which rows of each tensor must be computed, and which are kept from earlier invokes.

Forwards, each tensor gets its Track: which rows an earlier window had, too. Backwards, each reader says which rows it
needs. Of these, rows that the earlier window had come out of a cache, which thus spans from the first of them to the
newest row; all others are computed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tflmgen.ir.graph import Block, Function, Node, Op, Value, blocks_of, definitions_in, operands_of, uses_in
from tflmgen.passes.sliding.moving_sums import MovingSum
from tflmgen.passes.sliding.recognition import Recognition
from tflmgen.passes.sliding.rings import Ring, ring_of
from tflmgen.passes.sliding.row_maps import CutRows, RowMap
from tflmgen.passes.sliding.track import Span, Track, hull, meet, size, union


@dataclass(frozen=True, slots=True)
class Cone:
    """Dependency cone of a hop: the rows of a function's tensors that are computed for one hop of the window.

    tracks    of each sliding tensor
    maps      Op.id -> how its rows follow from those of its inputs; other operators run on whole tensors
    computed  Op.id -> the rows that it computes, of operators in `maps`
    exact     Op.id -> how many of these a hop must compute
    caches    tensor -> the rows of this window that the invoke of `Track.period` windows earlier left
    rings     those caches in which rows stay where they are; in all others they move down
    sums      Op.id -> the sums that it is computed from, which that invoke left, too
    """

    tracks: Mapping[Value, Track]
    maps: Mapping[int, RowMap]
    computed: Mapping[int, tuple[Span, ...]]
    exact: Mapping[int, int]
    caches: Mapping[Value, Span]
    rings: Mapping[Value, Ring]
    sums: Mapping[int, MovingSum]


def cone_of(
    function: Function,
    inputs: Mapping[Value, Track],
    recognition: Recognition,
    uncached: frozenset[Value] = frozenset(),
    rings: bool = True,
) -> Cone:
    """The cone of a function whose `inputs` slide. Raises ModelError where a hop is no whole number of rows.

    uncached: tensors, none of `inputs`, of which all rows that are read are computed in each hop. rings: whether
    caches may be rings
    """
    tracks, maps = _forwards(function.body, inputs, recognition)
    demand = _Demand(tracks, uncached, rings)
    demand.whole(function.body.results)
    computed: dict[int, tuple[Span, ...]] = {}
    exact: dict[int, int] = {}
    sums: dict[int, MovingSum] = {}
    for node in reversed(function.body.nodes):
        row_map = maps.get(node.id)
        if row_map is None:
            moving = recognition.moving_sum(node, tracks) if isinstance(node, Op) else None
            if moving is not None and moving.value not in uncached:
                sums[node.id] = moving
            demand.of_whole_tensors(node, sums.get(node.id))
            continue
        if row_map.tracks:
            needed = [span for value in node.outputs for span in demand.settled(value)]
            is_kept = uncached.isdisjoint(node.outputs)
            spans = _runs(row_map.tracks[0], needed) if is_kept else hull(needed)
            exact[node.id] = size(needed)
        else:
            spans = [_cut(row_map)]
        computed[node.id] = tuple(spans)
        for span in spans:
            for index, rows in row_map.reads(span):
                demand.add(row_map.op.inputs[index], rows)
    for value in inputs:
        demand.settled(value)
    return Cone(tracks, maps, computed, exact, demand.caches, demand.rings, sums)


def cache_bytes(cone: Cone) -> int:
    """Bytes of the rows and sums that are kept from one hop to the next, over all phases."""

    def row_bytes(value: Value) -> int:
        return value.type.bytes // cone.tracks[value].rows

    rows = sum(
        cone.rings[value].bytes if value in cone.rings else cone.tracks[value].period * (end - first) * row_bytes(value)
        for value, (first, end) in cone.caches.items()
    )
    return rows + sum(moving.track.period * moving.type.bytes for moving in cone.sums.values())


class _Demand:
    """Rows that readers need of sliding tensors, collected from the last reader to the first."""

    def __init__(self, tracks: Mapping[Value, Track], uncached: frozenset[Value], rings: bool) -> None:
        self._tracks, self._uncached, self._makes_rings = tracks, uncached, rings
        self._spans: dict[Value, list[Span]] = defaultdict(list)
        self.caches: dict[Value, Span] = {}
        self.rings: dict[Value, Ring] = {}

    def add(self, value: Value | None, *spans: Span) -> None:
        assert value is not None
        self._spans[value].extend(spans)

    def of_whole_tensors(self, node: Node, moving: MovingSum | None) -> None:
        """Adds what a node reads that combines rows; of a sum that is kept, what changes it."""
        if moving is None:
            self.whole(values_read(node))
        else:
            self.add(moving.value, *moving.reads)

    def whole(self, values: Iterable[Value]) -> None:
        for value in values:
            if value in self._tracks:
                self.add(value, (0, self._tracks[value].rows))

    def settled(self, value: Value) -> list[Span]:
        """Rows that must be computed, once all readers are known; notes the cache for the others."""
        track, wanted = self._tracks[value], self._spans[value]
        if value in self._uncached:
            return wanted
        reused = meet(wanted, track.kept)
        if reused:
            first = min(begin for begin, _ in reused)
            self.caches[value] = first, track.kept[1]
            ring = ring_of(value, track, reused) if self._makes_rings else None
            if ring is not None:
                self.rings[value] = ring
            wanted.append((max(first + track.hop, track.new[0]), track.end))
        outside = (0, track.kept[0]), (track.kept[1], track.rows)
        return [span for edge in outside for span in meet(wanted, edge)]


def values_read(node: Node) -> set[Value]:
    """Values from outside that a node or its regions read."""
    inner = {value for block in blocks_of(node) for value in uses_in(block)}
    own = {value for block in blocks_of(node) for value in definitions_in(block)}
    return {*operands_of(node), *inner} - own


def _forwards(
    body: Block, inputs: Mapping[Value, Track], recognition: Recognition
) -> tuple[dict[Value, Track], dict[int, RowMap]]:
    tracks, maps = dict(inputs), dict[int, RowMap]()
    for node in body.nodes:
        if not isinstance(node, Op) or not any(value in tracks for value in operands_of(node)):
            continue
        row_map = recognition.row_map(node, tracks)
        if row_map is not None:
            maps[node.id] = row_map
            tracks.update(zip(node.outputs, row_map.tracks, strict=False))
    return tracks, maps


def _cut(row_map: RowMap) -> Span:
    assert isinstance(row_map, CutRows)
    return 0, row_map.cuts[row_map.axis][1]


def _runs(track: Track, needed: Sequence[Span]) -> list[Span]:
    """The rows to compute, in spans on both sides of those that are kept."""
    if not track.keeps:
        return hull(needed)
    return [span for side in ((0, track.kept[0]), (track.kept[1], track.rows)) for span in union(meet(needed, side))]
