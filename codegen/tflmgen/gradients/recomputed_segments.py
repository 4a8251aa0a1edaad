"""Segments of a graph whose values are computed again for the backward pass, instead of kept from the forward one.

Nodes are cut into segments in their order. What is read across a cut is kept; all else of a segment is computed again
from that once the backward pass arrives there, as far as its rules ask for it. The last segment's values are kept.

Source: T. Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate

from tflmgen.gradients.flow_graph import ABSENT, FlowGraph, FlowNode

AFTER = "CUSTOM:TflmgenAfter"
"""Operator that gives its first operand once the second is computed, so that nothing behind it runs earlier."""

FIRST_CUTS = 24
"""Places of the first cut that are tried: each costs a walk over the graph; of a long one, the least work again is
missed by a 24th of the graph."""

AddNode = Callable[[FlowNode, Sequence[int]], FlowNode]
"""Adds a copy of a node of the source with these operands and new results."""


@dataclass(frozen=True, slots=True)
class SegmentPlan:
    """Places of nodes at which segments begin, but for the first; and the tensors that are read across a cut."""

    cuts: tuple[int, ...]
    checkpoints: frozenset[int]

    def segment(self, place: int) -> int:
        """Number of the segment that a node is in."""
        return sum(cut <= place for cut in self.cuts)


def kept_bytes(graph: FlowGraph, tensors: Set[int]) -> int:
    """Bytes of those tensors that nodes compute."""
    return sum(_bytes(graph, t) for node in graph.nodes for t in node.outputs if t in tensors)


def plan_segments(graph: FlowGraph, kept: Set[int], limit: int) -> SegmentPlan | None:
    """Segments that keep at most `limit` bytes at a time, or as few more as they can; None where one segment does.

    While the backward pass is in a segment, the checkpoints before it are kept, too. Of the plans that differ in their
    first cut, and whose other segments are as long as there is room, the one that computes least again is taken.

    kept  tensors that rules ask for
    """
    chain = _Chain(graph, kept)
    if sum(chain.costs) <= limit or len(chain.costs) < 2:
        return None
    last = len(chain.costs) - 1
    firsts = sorted({1 + last * k // FIRST_CUTS for k in range(FIRST_CUTS)} - {last + 1})
    plans = [plan for plan in (chain.cuts(first, limit) for first in firsts) if plan[1]]
    if not plans:
        return None
    _, cuts = min(plans, key=lambda plan: (max(plan[0], limit), plan[1][-1]))
    return SegmentPlan(cuts, frozenset(t for cut in cuts for t in chain.crossing(cut)))


class _Chain:
    """Nodes of a graph in their order, with the bytes that each adds to what is kept."""

    def __init__(self, graph: FlowGraph, kept: Set[int]) -> None:
        self._graph = graph
        self.costs = [sum(_bytes(graph, t) for t in node.outputs if t in kept) for node in graph.nodes]
        self._producers = {t: place for place, node in enumerate(graph.nodes) for t in node.outputs}
        self._last_reads = _last_reads(graph)
        changes = [0] * (len(graph.nodes) + 2)
        for tensor, place in self._producers.items():
            changes[place + 1] += _bytes(graph, tensor)
            changes[self._last_reads.get(tensor, place) + 1] -= _bytes(graph, tensor)
        self._crossing_bytes = list(accumulate(changes))

    def crossing(self, cut: int) -> set[int]:
        """Tensors that are read across a cut."""
        return {t for t, place in self._producers.items() if place < cut <= self._last_reads.get(t, -1)}

    def cuts(self, first: int, limit: int) -> tuple[int, tuple[int, ...]]:
        """(bytes that are kept at a time, cuts) with the first one near a place."""
        cuts: list[int] = []
        checkpoints: set[int] = set()
        begin, before, peak = 0, 0, 0
        while before + sum(self.costs[begin:]) > limit or not cuts:
            end = first if not cuts else self._end(begin, limit - before)
            cut = self._least_crossing(begin, end)
            peak = max(peak, before + sum(self.costs[begin:cut]))
            if cut >= len(self.costs):
                break
            cuts.append(cut)
            checkpoints |= self.crossing(cut)
            begin, before = cut, sum(_bytes(self._graph, t) for t in checkpoints)
        return max(peak, before + sum(self.costs[begin:])), tuple(cuts)

    def _end(self, begin: int, room: int) -> int:
        """The end of the longest segment for which there is room; of one node at least."""
        sums = accumulate(self.costs[begin:])
        return begin + max(1, sum(total <= room for total in sums))

    def _least_crossing(self, begin: int, end: int) -> int:
        """The cut in the second half of a segment across which least is read; of several the last one."""
        total = sum(self.costs[begin:end])
        half = next(k for k in range(begin + 1, end + 1) if 2 * sum(self.costs[begin:k]) >= total)
        return min(range(half, end + 1), key=lambda cut: (self._crossing_bytes[cut], -cut))


def _bytes(graph: FlowGraph, tensor: int) -> int:
    dtype = graph.tensors[tensor].dtype
    return 0 if dtype is None else math.prod(graph.shape(tensor)) * dtype.numpy.itemsize


def _last_reads(graph: FlowGraph) -> dict[int, int]:
    """Place of the last node that reads each tensor; of outputs one behind all."""
    places = {t: place for place, node in enumerate(graph.nodes) for t in node.inputs}
    return places | dict.fromkeys(graph.outputs, len(graph.nodes))


class RecomputedValues:
    """Values of the source in the backward pass, segment by segment from the last one.

    source    its tensors are what is asked for
    values    tensor of the source -> its value in the forward pass
    add_node  adds a node to the graph, which has both passes
    after     (value, value that is to be computed before) -> the former, behind the latter
    weights   inputs of the source that train
    """

    def __init__(
        self,
        plan: SegmentPlan,
        source: FlowGraph,
        values: Callable[[int], int],
        add_node: AddNode,
        after: Callable[[int, int], int],
        weights: Set[int],
    ) -> None:
        self._plan, self._source, self._values, self._add_node, self._after = plan, source, values, add_node, after
        # Weights are there anyway, and what is computed of them alone need not be computed again.
        self._lasting = {*weights, *(k for k, tensor in enumerate(source.tensors) if tensor.data is not None)}
        self._producers = {t: place for place, node in enumerate(source.nodes) for t in node.outputs}
        self._segment = len(plan.cuts)
        self._token = ABSENT
        self._again: dict[int, int] = {}

    def enter(self, place: int, gradient: int) -> None:
        """The backward pass is at a node, by a result of which it has this gradient."""
        if self._plan.segment(place) != self._segment:
            self._segment, self._token, self._again = self._plan.segment(place), gradient, {}

    def value(self, tensor: int) -> int:
        """A tensor's value: kept, or computed again."""
        place = self._producers.get(tensor)
        if tensor in self._lasting or self._segment == len(self._plan.cuts):
            return self._values(tensor)
        if tensor not in self._again:
            is_own = place is not None and self._plan.segment(place) == self._segment
            if place is not None and is_own and tensor not in self._plan.checkpoints:
                self.node(place)
            elif is_own or not self._source.is_float(tensor):
                self._again[tensor] = self._values(tensor)
            else:
                self._again[tensor] = self._after(self._values(tensor), self._token)
        return self._again[tensor]

    def node(self, place: int) -> FlowNode | None:
        """Adds a node of this segment again; None in the last segment, whose nodes need not be."""
        if self._segment == len(self._plan.cuts):
            return None
        node = self._source.nodes[place]
        copy = self._add_node(node, [t if t == ABSENT else self.value(t) for t in node.inputs])
        self._again |= dict(zip(node.outputs, copy.outputs, strict=True))
        return copy
