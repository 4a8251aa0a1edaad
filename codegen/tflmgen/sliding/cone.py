"""The dependency cone of a hop: which rows of each tensor must be computed, and which are kept from earlier invokes.

Forwards, each tensor gets its Track: which rows an earlier window had, too. Backwards, each reader says which rows it
needs. Of these, rows that the earlier window had come out of a cache, which thus spans from the first of them to the
newest row; all others are computed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tflmgen.ir import Block, Function, Node, Op, Value, blocks_of, definitions_in, operands_of, uses_in
from tflmgen.sliding.moving_sums import MovingSum
from tflmgen.sliding.recognition import Recognition
from tflmgen.sliding.row_maps import Cut, RowMap
from tflmgen.sliding.track import Span, Track, hull, meet, size


@dataclass(frozen=True, slots=True)
class Cone:
    """What a hop computes of a function.

    tracks    of each sliding tensor
    maps      Op.id -> how its rows follow from those of its inputs; other operators run on whole tensors
    computed  Op.id -> the rows that it computes, of operators in `maps`
    exact     Op.id -> how many of these a hop must compute
    caches    tensor -> the rows of this window that the invoke of `Track.period` windows earlier left
    sums      Op.id -> the sums that it is computed from, which that invoke left, too
    """

    tracks: Mapping[Value, Track]
    maps: Mapping[int, RowMap]
    computed: Mapping[int, tuple[Span, ...]]
    exact: Mapping[int, int]
    caches: Mapping[Value, Span]
    sums: Mapping[int, MovingSum]


def cone_of(
    function: Function,
    inputs: Mapping[Value, Track],
    recognition: Recognition,
    uncached: frozenset[Value] = frozenset(),
) -> Cone:
    """The cone of a function whose `inputs` slide. Raises ModelError where a hop is no whole number of rows.

    uncached: tensors, none of `inputs`, of which all rows that are read are computed in each hop
    """
    tracks, maps = _forwards(function.body, inputs, recognition)
    demand = _Demand(tracks, uncached)
    demand.whole(function.body.results)
    computed: dict[int, tuple[Span, ...]] = {}
    exact: dict[int, int] = {}
    sums: dict[int, MovingSum] = {}
    for node in reversed(function.body.nodes):
        row_map = maps.get(node.id)
        if row_map is None:
            demand.whole(values_read(node))
            moving = recognition.moving_sum(node, tracks) if isinstance(node, Op) else None
            if moving is not None and moving.value not in uncached:
                sums[node.id] = moving
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
    return Cone(tracks, maps, computed, exact, demand.caches, sums)


def cache_bytes(cone: Cone) -> int:
    """Bytes of the rows and sums that are kept from one hop to the next, over all phases."""

    def row_bytes(value: Value) -> int:
        return value.type.bytes // cone.tracks[value].rows

    rows = sum(
        cone.tracks[value].period * (end - first) * row_bytes(value) for value, (first, end) in cone.caches.items()
    )
    return rows + sum(moving.track.period * moving.type.bytes for moving in cone.sums.values())


class _Demand:
    """Rows that readers need of sliding tensors, collected from the last reader to the first."""

    def __init__(self, tracks: Mapping[Value, Track], uncached: frozenset[Value]) -> None:
        self._tracks, self._uncached = tracks, uncached
        self._spans: dict[Value, list[Span]] = defaultdict(list)
        self.caches: dict[Value, Span] = {}

    def add(self, value: Value | None, span: Span) -> None:
        assert value is not None
        self._spans[value].append(span)

    def whole(self, values: Iterable[Value]) -> None:
        for value in values:
            if value in self._tracks:
                self.add(value, (0, self._tracks[value].rows))

    def settled(self, value: Value) -> list[Span]:
        """Rows that must be computed, once all readers are known; notes the cache for the others."""
        track, wanted = self._tracks[value], self._spans[value]
        if value in self._uncached:
            return wanted
        reused = hull(meet(wanted, track.kept))
        if reused:
            self.caches[value] = first, _ = reused[0][0], track.kept[1]
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
    assert isinstance(row_map, Cut)
    return 0, row_map.cuts[row_map.axis][1]


def _runs(track: Track, needed: Sequence[Span]) -> list[Span]:
    """The rows to compute, in one span on each side of those that are kept."""
    if not track.keeps:
        return hull(needed)
    before, after = hull(meet(needed, (0, track.kept[0]))), hull(meet(needed, (track.kept[1], track.rows)))
    return [*before, *after]
