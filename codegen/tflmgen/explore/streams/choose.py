"""Selects the operators to row-stream: shortest paths over the segmentations of each block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tflmgen.explore.streams.chain import stream_op
from tflmgen.explore.streams.row_kernels import RowKernels
from tflmgen.explore.streams.stream_memory import BlockLiveness, Segment, single, streams
from tflmgen.ir import Rewriter
from tflmgen.ir.graph import Block, Module, Node, Op
from tflmgen.ir.kernel import Target
from tflmgen.kernels import Selection


@dataclass(frozen=True, slots=True)
class Cuts:
    """All segments of a block from which a segmentation may be built, including those of one node."""

    nodes: tuple[Node, ...]
    segments: tuple[Segment, ...]


class Streams:
    """Possible row streaming of a module on one processor.

    selection  kernels of operators outside streams
    measured   kernels whose cycles costs are relative to; None: `selection`
    """

    def __init__(self, module: Module, selection: Selection, target: Target, measured: Selection | None = None) -> None:
        self._module = module
        kernels = RowKernels(module.constants, target)
        self._cuts: dict[tuple[int, ...], Cuts] = {}
        finder = _Blocks()
        finder.run(module)
        for block in finder.blocks:
            live = BlockLiveness(block)
            segments = [single(live, index, selection) for index in range(len(block.nodes))]
            limit = max((segment.bytes for segment in segments), default=0)
            candidates = tuple(streams(live, kernels, limit, measured or selection))
            if candidates:
                self._cuts[_key(block.nodes)] = Cuts(block.nodes, (*segments, *candidates))

    @property
    def limits(self) -> tuple[int, ...]:
        """Values of `limit` for which `streamed` may return different modules, ascending from the lowest possible."""
        if not self._cuts:
            return ()
        smallest_limit = max(_least_peak(cuts) for cuts in self._cuts.values())
        peaks = {s.bytes for cuts in self._cuts.values() for s in cuts.segments}
        return tuple(sorted(p for p in peaks if p >= smallest_limit))

    def streamed(self, limit: int) -> tuple[Module, int]:
        """The module with the cheapest streams whose segments need at most `limit` bytes, and their cost in cycles.

        A block that cannot meet the limit gets its lowest possible peak.
        """
        segments_by_block = {key: _cheapest(cuts, max(limit, _least_peak(cuts))) for key, cuts in self._cuts.items()}
        cost = sum(segment.cost for segments in segments_by_block.values() for segment in segments)
        return _Fuse(segments_by_block).run(self._module), cost


def _key(nodes: Sequence[Node]) -> tuple[int, ...]:
    return tuple(node.id for node in nodes)


def _least_peak(cuts: Cuts) -> int:
    """Lowest possible peak of a block, over its segmentations."""
    best = [0] + [-1] * len(cuts.nodes)
    for segment in sorted(cuts.segments, key=lambda s: s.end):
        peak = max(best[segment.first], segment.bytes)
        if best[segment.end] < 0 or peak < best[segment.end]:
            best[segment.end] = peak
    return best[-1]


def _cheapest(cuts: Cuts, limit: int) -> tuple[Segment, ...]:
    """Segmentation of lowest cost whose segments all need at most `limit` bytes."""
    best: list[tuple[int, tuple[Segment, ...]] | None] = [(0, ())] + [None] * len(cuts.nodes)
    for segment in sorted(cuts.segments, key=lambda s: (s.end, s.cost)):
        before = best[segment.first]
        if before is None or segment.bytes > limit:
            continue
        cost = before[0] + segment.cost
        current = best[segment.end]
        if current is None or cost < current[0]:
            best[segment.end] = (cost, (*before[1], segment))
    last = best[-1]
    assert last is not None
    return last[1]


class _Blocks(Rewriter):
    """Collector of all blocks of a module."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[Block] = []

    def block(self, block: Block) -> Block:
        self.blocks.append(block)
        return super().block(block)


class _Fuse(Rewriter):
    def __init__(self, segments_by_block: dict[tuple[int, ...], tuple[Segment, ...]]) -> None:
        super().__init__()
        self._segments_by_block = segments_by_block

    def block(self, block: Block) -> Block:
        segments = self._segments_by_block.get(_key(block.nodes), ())
        nodes = [node for segment in segments for node in _fused(block.nodes, segment)]
        return super().block(replace(block, nodes=tuple(nodes)) if segments else block)


def _fused(block: Sequence[Node], segment: Segment) -> Sequence[Node]:
    nodes = block[segment.first : segment.end]
    ops = [node for node in nodes if isinstance(node, Op)]
    return (stream_op(ops, segment.ranks),) if segment.ranks else nodes
