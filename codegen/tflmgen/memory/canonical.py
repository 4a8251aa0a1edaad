"""A packing within a given capacity, by search over canonical packings.

A packing is canonical if every block rests on the bottom or on a block that it meets in time; wherever there is a
packing, there is a canonical one no larger (Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-
Accelerated Machine Learning", ASPLOS 2023). Each node of the search takes one block and asks whether it rests on what
is placed so far. If so, it is placed; if not, another block will come under it, so that it lies at least as high as
the lowest such one allows. Per section of time the blocks that are still to come are stacked in the order of their
lowest offsets: where that is higher than the capacity, the node fails. Blocks that no longer meet any others in time
fall into groups that are solved one by one.

Without this search the plans of the corpus keep their size, for first_fit.improve finds packings as small; six of
MiniMalloc's eleven published instances take 15 to 35 % more than with it, at the effort of a build.

Which block is next decides how soon a search ends. It may be any without loss of completeness: here, first a section
by one of RULES, in it the block of least offset, and of these the first in an order of priority.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from tflmgen.memory.packing_problem import FAR, Bools, Instance, Ints


class Rule(Enum):
    """Rule that selects the next section; s: lowest offset of a block in it, w: capacity that may remain unused."""

    LOWEST = "least s"
    LOWEST_TIGHT = "least s, then the fullest section of all that the block is in"
    LOWEST_SECTION = "least s, then least w"
    MOSTLY_LOWEST = "least 4 s + w"
    BALANCED = "least s + w"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a search.

    offsets    int64[n] of the instance's blocks; None if no packing was found
    nodes      number of visited nodes
    left       smallest number of blocks left to place at any node
    is_proved  a packing was found, or all were searched
    """

    offsets: Ints | None
    nodes: int
    left: int
    is_proved: bool


@dataclass(frozen=True, slots=True)
class _Stacked:
    """least: the lowest offset of each block. order: the blocks by that. tops: the height of each section's stack,
    from section `start` on."""

    lowest: Ints
    order: Ints
    tops: Ints
    start: int


@dataclass(frozen=True, slots=True)
class _Group:
    """Blocks still to be placed, in order of priority.

    low     offset at which each block would rest now
    raised  blocks that another block will come under
    """

    blocks: Ints
    low: Ints
    raised: Bools


_Node = tuple[_Group, _Stacked]


@dataclass(frozen=True, slots=True)
class _Frame:
    """Frame of the search stack.

    group    the group of a node
    placed   index in it of the placed block
    pending  nodes that remain afterwards
    outside  number of blocks in the remaining groups of outer frames
    """

    group: _Group
    placed: int
    pending: list[_Node]
    outside: int

    @property
    def left(self) -> int:
        """Number of blocks still to be placed in all remaining groups."""
        return self.outside + sum(len(group.blocks) for group, _ in self.pending)


def pack_within(
    instance: Instance, capacity: int, priority: Ints, rule: Rule, nodes: int, patience: int | None = None
) -> Outcome:
    """Searches for a packing of at most `capacity` bytes in at most `nodes` nodes.

    priority  int64[n], blocks from first to last
    patience  consecutive nodes without a new maximum of placed blocks after which the search ends; None: unlimited
    """
    return _Search(instance, capacity, rule).run(priority, nodes, nodes if patience is None else patience)


class _Search:
    def __init__(self, instance: Instance, capacity: int, rule: Rule) -> None:
        self._instance = instance
        self._capacity = capacity
        self._rule = rule
        self._rounds = not instance.is_aligned
        self._weight = {Rule.MOSTLY_LOWEST: 4, Rule.BALANCED: 1}.get(rule, capacity + 1)

    def run(self, priority: Ints, nodes: int, patience: int) -> Outcome:
        count = len(priority)
        offsets = np.zeros(count, dtype=np.int64)
        node = self._node(_Group(priority, np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.bool_)))
        stack: list[_Frame] = []
        used = outside = fewest_at = 0
        fewest = count + 1
        while True:
            index = -1 if node is None else self._choose(*node)
            if node is None or index < 0:
                if not stack:
                    return Outcome(None, used, fewest, True)
                frame = stack.pop()
                outside = frame.outside
                node = self._node(self._raise_block(frame.group, frame.placed))
                continue
            group = node[0]
            if outside + len(group.blocks) < fewest:
                fewest, fewest_at = outside + len(group.blocks), used
            if used == nodes or used - fewest_at > patience:
                return Outcome(None, used, fewest, False)
            used += 1
            offsets[group.blocks[index]] = group.low[index]
            pending = self._split(self._place_block(group, index))
            if pending is None:
                node = self._node(self._raise_block(group, index))
                continue
            stack.append(_Frame(group, index, pending, outside))
            while stack and not stack[-1].pending:
                stack.pop()
            if not stack:
                return Outcome(offsets, used, 0, True)
            node = stack[-1].pending.pop()
            outside = stack[-1].left

    def _node(self, group: _Group) -> _Node | None:
        stacked = self._stack(group)
        return None if stacked is None else (group, stacked)

    @staticmethod
    def _raise_block(group: _Group, index: int) -> _Group:
        """The branch in which another block comes under this one."""
        raised = group.raised.copy()
        raised[index] = True
        return _Group(group.blocks, group.low, raised)

    def _place_block(self, group: _Group, index: int) -> _Group:
        """The group after placing the block."""
        remaining = np.ones(len(group.blocks), dtype=np.bool_)
        remaining[index] = False
        blocks, low = group.blocks[remaining], group.low[remaining]
        above = self._instance.above[group.blocks[index], blocks]
        rests = group.low[index] + above
        if self._rounds:
            alignment = self._instance.alignment[blocks]
            rests = -(-rests // alignment) * alignment
        # Blocks that meet the placed one in time now have a block under them, even if they are no higher for it.
        return _Group(blocks, np.maximum(low, rests), group.raised[remaining] & (above == -FAR))

    def _stack(self, group: _Group) -> _Stacked | None:
        """Lower bounds of a node; None if they exceed the capacity."""
        instance = self._instance
        lowest = self._lowest_offsets(group) if group.raised.any() else group.low
        if (lowest + instance.size[group.blocks]).max() > self._capacity:
            return None
        order = lowest.argsort(kind="stable")
        start, end = instance.first[group.blocks].min(), instance.last[group.blocks].max() + 1
        heights = instance.weight[group.blocks[order[::-1]], start:end].cumsum(0)
        heights += lowest[order[::-1], None]
        tops: Ints = heights.max(0)
        return None if tops.max() > self._capacity else _Stacked(lowest, order, tops, int(start))

    def _lowest_offsets(self, group: _Group) -> Ints:
        """Lowest offset of each block, given that raised blocks lie above one still to come (Bellman-Ford)."""
        raised = np.flatnonzero(group.raised)
        lowest = group.low.copy()
        lowest[raised] = FAR
        above = self._instance.above[np.ix_(group.blocks, group.blocks[raised])]
        while True:
            rests = np.where(above > -FAR, lowest[:, None] + above, FAR).min(0)
            lower = np.maximum(group.low[raised], rests)
            if (lower == lowest[raised]).all():
                return lowest
            lowest[raised] = lower

    def _choose(self, group: _Group, stacked: _Stacked) -> int:
        """Index of the next block in its group; -1 if all are raised."""
        free = stacked.order[~group.raised[stacked.order]]
        if not free.size:
            return -1
        end = stacked.start + len(stacked.tops)
        if self._rule is Rule.LOWEST:
            return int(free[0])
        if self._rule is Rule.LOWEST_TIGHT:
            ties = free[stacked.lowest[free] == stacked.lowest[free[0]]]
            tops = self._instance.live[group.blocks[ties], stacked.start : end] * stacked.tops
            return int(ties[tops.max(1).argmax()])
        live = self._instance.live[group.blocks[free], stacked.start : end]
        lowest = live.argmax(0)
        waste = self._capacity - stacked.tops
        value = stacked.lowest[free[lowest]] * self._weight + waste
        value[~live.any(0)] = FAR
        return int(free[lowest[value.argmin()]])

    def _split(self, remaining: _Group) -> list[_Node] | None:
        """Groups without common sections, the fullest last; None if one cannot be packed."""
        if not remaining.blocks.size:
            return []
        stacked = self._stack(remaining)
        if stacked is None:
            return None
        first, last = self._instance.first[remaining.blocks], self._instance.last[remaining.blocks]
        order = first.argsort(kind="stable")
        cuts = np.flatnonzero(first[order[1:]] > np.maximum.accumulate(last[order])[:-1]) + 1
        if not cuts.size:
            return [(remaining, stacked)]
        nodes = []
        for part in np.split(order, cuts):
            part.sort()
            node = self._node(_Group(remaining.blocks[part], remaining.low[part], remaining.raised[part]))
            if node is None:
                return None
            nodes.append(node)
        return sorted(nodes, key=lambda node: int(node[1].tops.max()))
