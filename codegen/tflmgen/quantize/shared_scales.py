"""Groups of webs with one scale, and operands of such a group that are worth a scale of their own.

Kernels such as those of CONCATENATION and MAXIMUM demand one scale of all operands and results. A value that is small
beside the others would have that scale for all its readers. Where it has readers that compute, it may keep its own
instead, and a QUANTIZE stands in front of the operator. Each such operand costs instructions and a tensor, so that
there are none without a reader that gains.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tflmgen.frontend import TensorKey
from tflmgen.frontend.model_graph import UnionFind
from tflmgen.quantize.element_types import Range, hull


@dataclass(frozen=True, slots=True)
class OneScale:
    """An operator that demands one scale: its webs, by their roots, and the range of the constants among its operands.

    joins  it has several operands, of which one may be small beside the others
    """

    operands: tuple[TensorKey, ...]
    results: tuple[TensorKey, ...]
    constants: Range | None
    joins: bool


def shared_groups(
    operators: Sequence[OneScale], ranges: Mapping[TensorKey, Range], read: Collection[TensorKey], share: float
) -> tuple[UnionFind, dict[TensorKey, Range]]:
    """The groups of webs with one scale, and the ranges of webs, widened by constants that join them.

    operators  in the order of the file
    read       webs with readers that may have a scale other than their results'
    share      part of its group's range below which a web that is read keeps a scale of its own; 0: none does
    """
    groups = _Groups(dict(ranges), set(read))
    for operator in operators:
        own = operator.results if operator.joins else (*operator.operands, *operator.results)
        for web in own[1:]:
            groups.join(own[0], web)
        if operator.constants is not None and own:
            groups.widen(own[-1], operator.constants)
    # Results before operands: what an operator joins is compared with all that its results are joined with.
    edges = [(o.results[0], web) for o in reversed(operators) if o.joins for web in o.operands]
    before = -1
    while before != len(edges):
        before, remaining = len(edges), []
        for result, web in edges:
            if groups.is_worth_a_scale(web, result, share):
                remaining.append((result, web))
            else:
                groups.join(result, web)
        edges = remaining
    return groups.sets, groups.ranges


@dataclass(slots=True)
class _Groups:
    """Groups in the making.

    ranges  of webs
    read    webs, and roots of groups, that are read
    hulls   ranges of groups of several webs, by their root
    """

    ranges: dict[TensorKey, Range]
    read: set[TensorKey]
    sets: UnionFind = field(default_factory=UnionFind)
    hulls: dict[TensorKey, Range] = field(default_factory=dict)

    def _range(self, web: TensorKey) -> Range:
        root = self.sets.root(web)
        return self.hulls.get(root) or self.ranges[root]

    def widen(self, web: TensorKey, by: Range) -> None:
        self.ranges[web] = hull(self.ranges[web], by)
        self.hulls[self.sets.root(web)] = hull(self._range(web), by)

    def join(self, web: TensorKey, other: TensorKey) -> None:
        union = hull(self._range(web), self._range(other))
        is_read = not self.read.isdisjoint((self.sets.root(web), self.sets.root(other)))
        self.sets.join(web, other)
        self.hulls[self.sets.root(web)] = union
        if is_read:
            self.read.add(self.sets.root(web))

    def is_worth_a_scale(self, web: TensorKey, result: TensorKey, share: float) -> bool:
        """Whether the group of an operand is read and small beside that of the result."""
        root = self.sets.root(web)
        if root == self.sets.root(result) or root not in self.read:
            return False
        return _width(self._range(web)) < share * _width(self._range(result))


def _width(interval: Range) -> float:
    """Width of what a scale must cover, 0 included."""
    return max(interval[1], 0.0) - min(interval[0], 0.0)
