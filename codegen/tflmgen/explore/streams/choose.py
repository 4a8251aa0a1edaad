"""Which operators of a module run as streams: shortest paths over the ways to cut each block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tflmgen.explore.streams.chain import stream_op
from tflmgen.explore.streams.row_kernels import RowKernels
from tflmgen.explore.streams.stream_memory import BlockLiveness, Segment, single, streams
from tflmgen.ir import Block, Module, Node, Op, Rewriter, Target
from tflmgen.kernels import Selection


@dataclass(frozen=True, slots=True)
class Cuts:
    """Every way to cut one block: its segments, those of one node among them, and how many nodes it has."""

    nodes: tuple[Node, ...]
    segments: tuple[Segment, ...]


class Streams:
    """The streams that a module may have on one processor.

    selection: the kernels of operators that are in none. measured: those that costs are measured against.
    """

    def __init__(self, module: Module, selection: Selection, target: Target, measured: Selection | None = None) -> None:
        self._module = module
        kernels = RowKernels(module.constants, target)
        self._cuts: dict[tuple[int, ...], Cuts] = {}
        finder = _Blocks()
        finder.run(module)
        for block in finder.found:
            live = BlockLiveness(block)
            segments = [single(live, index, selection) for index in range(len(block.nodes))]
            limit = max((segment.bytes for segment in segments), default=0)
            found = tuple(streams(live, kernels, limit, measured or selection))
            if found:
                self._cuts[_key(block.nodes)] = Cuts(block.nodes, (*segments, *found))

    @property
    def limits(self) -> tuple[int, ...]:
        """The values of `limit` for which `streamed` may give different modules, from the least that is possible."""
        if not self._cuts:
            return ()
        least = max(_least_peak(cuts) for cuts in self._cuts.values())
        peaks = {s.bytes for cuts in self._cuts.values() for s in cuts.segments}
        return tuple(sorted(p for p in peaks if p >= least))

    def streamed(self, limit: int) -> tuple[Module, int]:
        """The module with the cheapest streams such that no segment needs more than `limit` bytes, and what they cost.

        A block that cannot keep to it gets the least that it can.
        """
        chosen = {key: _cheapest(cuts, max(limit, _least_peak(cuts))) for key, cuts in self._cuts.items()}
        cost = sum(segment.cost for segments in chosen.values() for segment in segments)
        return _Fuse(chosen).run(self._module), cost


def _key(nodes: Sequence[Node]) -> tuple[int, ...]:
    return tuple(node.id for node in nodes)


def _least_peak(cuts: Cuts) -> int:
    """The smallest possible largest segment."""
    best = [0] + [-1] * len(cuts.nodes)
    for segment in sorted(cuts.segments, key=lambda s: s.end):
        peak = max(best[segment.first], segment.bytes)
        if best[segment.end] < 0 or peak < best[segment.end]:
            best[segment.end] = peak
    return best[-1]


def _cheapest(cuts: Cuts, limit: int) -> tuple[Segment, ...]:
    """The cut of least cost among those whose segments all keep to `limit`."""
    best: list[tuple[int, tuple[Segment, ...]] | None] = [(0, ())] + [None] * len(cuts.nodes)
    for segment in sorted(cuts.segments, key=lambda s: (s.end, s.cost)):
        before = best[segment.first]
        if before is None or segment.bytes > limit:
            continue
        cost = before[0] + segment.cost
        known = best[segment.end]
        if known is None or cost < known[0]:
            best[segment.end] = (cost, (*before[1], segment))
    last = best[-1]
    assert last is not None
    return last[1]


class _Blocks(Rewriter):
    """Collects all blocks of a module."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Block] = []

    def block(self, block: Block) -> Block:
        self.found.append(block)
        return super().block(block)


class _Fuse(Rewriter):
    def __init__(self, chosen: dict[tuple[int, ...], tuple[Segment, ...]]) -> None:
        super().__init__()
        self._chosen = chosen

    def block(self, block: Block) -> Block:
        segments = self._chosen.get(_key(block.nodes), ())
        nodes = [node for segment in segments for node in _fused(block.nodes, segment)]
        return super().block(replace(block, nodes=tuple(nodes)) if segments else block)


def _fused(block: Sequence[Node], segment: Segment) -> Sequence[Node]:
    nodes = block[segment.first : segment.end]
    ops = [node for node in nodes if isinstance(node, Op)]
    return (stream_op(ops, segment.choice),) if segment.choice else nodes
