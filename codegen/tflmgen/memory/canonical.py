"""A packing within a given capacity, by search over canonical packings.

A packing is canonical if every block rests on the bottom or on a block that it meets in time; wherever there is a
packing, there is a canonical one no larger (Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-
Accelerated Machine Learning", ASPLOS 2023). Each node of the search takes one block and asks whether it rests on what
is placed so far. If so, it is placed; if not, another block will come under it, so that it lies at least as high as
the lowest such one allows. Per section of time the blocks that are still to come are stacked in the order of their
lowest offsets: where that is higher than the capacity, the node fails. Blocks that no longer meet any others in time
fall into groups that are solved one by one.

Which block is next decides how soon a search ends. It may be any without loss of completeness: here, first a section
by one of RULES, in it the block of least offset, and of these the first in an order of priority.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from tflmgen.memory.instance import FAR, Bools, Instance, Ints


class Rule(Enum):
    """Which section is next: s is where its lowest block may begin, w the capacity that it may waste."""

    LOWEST = "least s"
    LOWEST_TIGHT = "least s, then the fullest section of all that the block is in"
    LOWEST_SECTION = "least s, then least w"
    MOSTLY_LOWEST = "least 4 s + w"
    BALANCED = "least s + w"


@dataclass(frozen=True, slots=True)
class Outcome:
    """offsets: int64[n] of the instance's blocks, if found; nodes: how many were looked at.

    left: the fewest blocks that were left to place at any node. is_proved: all packings were looked at, or one found.
    """

    offsets: Ints | None
    nodes: int
    left: int
    is_proved: bool


@dataclass(frozen=True, slots=True)
class _Stacked:
    """least: the lowest offset of each block. order: the blocks by that. tops: the height of each section's stack,
    from section `start` on."""

    least: Ints
    order: Ints
    tops: Ints
    start: int


@dataclass(frozen=True, slots=True)
class _Group:
    """Blocks that are still to be placed, in the order of priority, and where each would rest now.

    raised: those that are known not to stay there.
    """

    blocks: Ints
    low: Ints
    raised: Bools


_Node = tuple[_Group, _Stacked]


@dataclass(frozen=True, slots=True)
class _Frame:
    """The group of a node, the number in it of the block that was placed, and the nodes that are left thereafter.

    outside: how many blocks the groups that are left in outer frames have.
    """

    group: _Group
    chosen: int
    pending: list[_Node]
    outside: int

    @property
    def left(self) -> int:
        """How many blocks are still to be placed in all the groups that are left."""
        return self.outside + sum(len(group.blocks) for group, _ in self.pending)


def pack_within(
    instance: Instance, capacity: int, priority: Ints, rule: Rule, nodes: int, patience: int | None = None
) -> Outcome:
    """Looks for a packing of at most `capacity` bytes, at no more than so many nodes.

    priority: int64[n], the blocks from the first to the last.
    patience: how many nodes may follow each other without more blocks being placed than ever before; else it ends.
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
            chosen = -1 if node is None else self._choose(*node)
            if node is None or chosen < 0:
                if not stack:
                    return Outcome(None, used, fewest, True)
                frame = stack.pop()
                outside = frame.outside
                node = self._node(self._lift(frame.group, frame.chosen))
                continue
            group = node[0]
            if outside + len(group.blocks) < fewest:
                fewest, fewest_at = outside + len(group.blocks), used
            if used == nodes or used - fewest_at > patience:
                return Outcome(None, used, fewest, False)
            used += 1
            offsets[group.blocks[chosen]] = group.low[chosen]
            pending = self._split(self._put(group, chosen))
            if pending is None:
                node = self._node(self._lift(group, chosen))
                continue
            stack.append(_Frame(group, chosen, pending, outside))
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
    def _lift(group: _Group, chosen: int) -> _Group:
        """The other branch: something comes under the block."""
        raised = group.raised.copy()
        raised[chosen] = True
        return _Group(group.blocks, group.low, raised)

    def _put(self, group: _Group, chosen: int) -> _Group:
        """What is left once the block is placed."""
        kept = np.ones(len(group.blocks), dtype=np.bool_)
        kept[chosen] = False
        blocks, low = group.blocks[kept], group.low[kept]
        above = self._instance.above[group.blocks[chosen], blocks]
        rests = group.low[chosen] + above
        if self._rounds:
            alignment = self._instance.alignment[blocks]
            rests = -(-rests // alignment) * alignment
        # Whatever meets the block in time has something under it now, even where it lies no higher for that.
        return _Group(blocks, np.maximum(low, rests), group.raised[kept] & (above == -FAR))

    def _stack(self, group: _Group) -> _Stacked | None:
        """The bound of a node; None if it fails."""
        instance = self._instance
        least = self._least(group) if group.raised.any() else group.low
        if (least + instance.size[group.blocks]).max() > self._capacity:
            return None
        order = least.argsort(kind="stable")
        start, end = instance.first[group.blocks].min(), instance.last[group.blocks].max() + 1
        heights = instance.weight[group.blocks[order[::-1]], start:end].cumsum(0)
        heights += least[order[::-1], None]
        tops: Ints = heights.max(0)
        return None if tops.max() > self._capacity else _Stacked(least, order, tops, int(start))

    def _least(self, group: _Group) -> Ints:
        """How low each block can come, if raised blocks lie above one that is still to come (Bellman and Ford)."""
        raised = np.flatnonzero(group.raised)
        least = group.low.copy()
        least[raised] = FAR
        above = self._instance.above[np.ix_(group.blocks, group.blocks[raised])]
        while True:
            rests = np.where(above > -FAR, least[:, None] + above, FAR).min(0)
            lower = np.maximum(group.low[raised], rests)
            if (lower == least[raised]).all():
                return least
            least[raised] = lower

    def _choose(self, group: _Group, stacked: _Stacked) -> int:
        """The number of the next block in its group; -1 if all are raised."""
        free = stacked.order[~group.raised[stacked.order]]
        if not free.size:
            return -1
        end = stacked.start + len(stacked.tops)
        if self._rule is Rule.LOWEST:
            return int(free[0])
        if self._rule is Rule.LOWEST_TIGHT:
            ties = free[stacked.least[free] == stacked.least[free[0]]]
            tops = self._instance.live[group.blocks[ties], stacked.start : end] * stacked.tops
            return int(ties[tops.max(1).argmax()])
        live = self._instance.live[group.blocks[free], stacked.start : end]
        lowest = live.argmax(0)
        waste = self._capacity - stacked.tops
        value = stacked.least[free[lowest]] * self._weight + waste
        value[~live.any(0)] = FAR
        return int(free[lowest[value.argmin()]])

    def _split(self, rest: _Group) -> list[_Node] | None:
        """The groups that have no section in common, the fullest last; None if they cannot be packed."""
        if not rest.blocks.size:
            return []
        stacked = self._stack(rest)
        if stacked is None:
            return None
        first, last = self._instance.first[rest.blocks], self._instance.last[rest.blocks]
        order = first.argsort(kind="stable")
        cuts = np.flatnonzero(first[order[1:]] > np.maximum.accumulate(last[order])[:-1]) + 1
        if not cuts.size:
            return [(rest, stacked)]
        nodes = []
        for part in np.split(order, cuts):
            part.sort()
            node = self._node(_Group(rest.blocks[part], rest.low[part], rest.raised[part]))
            if node is None:
                return None
            nodes.append(node)
        return sorted(nodes, key=lambda node: int(node[1].tops.max()))
