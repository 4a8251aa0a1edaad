"""Decision trees of ONNX as the tables of the operator TreeEnsemble (kernels/operators/tree_ensemble.py).

Every condition becomes "the feature is no greater than a threshold", of which thresholds are integers in the order of
the floats: x < t is x <= the number before t, x > t leads to the other branch, x = t is two such nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tflmgen.frontend.onnx.layout_graph import Array, check_constant
from tflmgen.frontend.onnx.node_error import NodeError

_NEVER = int(np.iinfo(np.int32).min)
"""A threshold below all features."""
_FARTHEST = (1 << 16) - 1
"""Nodes that a link can skip."""
MOST_NAMES = 1 << 15
"""Features, or outputs, that a link can name."""
_SWAPPED = ("BRANCH_GT", "BRANCH_GTE")
_STRICT = ("BRANCH_LT", "BRANCH_GTE")


@dataclass(frozen=True, slots=True)
class Condition:
    """An inner node.

    mode        ONNX's name of the condition: BRANCH_LEQ
    values      float32 numbers that the feature is compared with; several of BRANCH_MEMBER
    yes, no     numbers of the next nodes
    nan_is_yes  NaN counts as what meets the condition
    """

    feature: int
    mode: str
    values: tuple[float, ...]
    yes: int
    no: int
    nan_is_yes: bool


Leaf = Sequence[tuple[int, float]]
"""Weights for outputs; several for one output are added."""


@dataclass(frozen=True, slots=True)
class TreeTables:
    """Inputs 1 to 3 of the operator: int32 [nodes, 2], int32 [trees] and float32 [leaves, outputs] or None."""

    nodes: Array
    roots: Array
    weights: Array | None


def ordered(value: float) -> int:
    """The integer of a float32 in the order of all; of -0 that of 0, of NaN one below all."""
    if value != value:
        return _NEVER
    bits = int(np.array(value + 0.0, np.float32).view(np.int32))
    return bits if bits >= 0 else bits ^ 0x7FFFFFFF


def _before(value: float) -> int:
    """The integer of the greatest float32 below a number."""
    whole = ordered(value)
    return whole if whole == _NEVER else whole - (2 if value == 0 else 1)


class _Writer:
    """Writes nodes in the order in which walks meet them: the nearer branch is the next node."""

    def __init__(self, branches: Mapping[int, Condition], leaves: Mapping[int, Leaf], features: int) -> None:
        self.branches, self.leaves, self.features = branches, leaves, features
        self.words: list[list[int]] = []
        self.leaf_numbers: list[tuple[int, int]] = []
        self.written: set[int] = set()

    def tree(self, root: int) -> int:
        """Writes the tree of a root; returns the place of its first node."""
        first = len(self.words)
        pending: list[tuple[int, list[int]]] = [(root, [])]
        while pending:
            number, links = pending.pop()
            self._link(links)
            if number in self.written:
                raise NodeError("has a node that two others lead to")
            if number in self.branches:
                self.written.add(number)
                pending += self._branch(self.branches[number])
            elif number in self.leaves:
                self.leaf_numbers.append((len(self.words), number))
                self.words.append([0, 0])
            else:
                raise NodeError(f"has a branch to node {number}, which it lacks")
        return first

    def _link(self, places: Sequence[int]) -> None:
        for place in places:
            distance = len(self.words) - place
            if distance > _FARTHEST:
                raise NodeError(f"has a tree of more than {_FARTHEST:,} nodes")
            self.words[place][1] |= distance << 16

    def _node(self, threshold: int, feature: int, nan_is_near: bool) -> int:
        self.words.append([threshold, feature | (0x8000 if nan_is_near else 0)])
        return len(self.words) - 1

    def _branch(self, branch: Condition) -> list[tuple[int, list[int]]]:
        """Writes the nodes of a condition; returns the next nodes, the nearer one last, with the links to them."""
        if not 0 <= branch.feature < min(self.features, MOST_NAMES):
            raise NodeError(f"compares feature {branch.feature}, but its input has {self.features}")
        yes, no = branch.yes, branch.no
        if branch.mode in ("BRANCH_LEQ", "BRANCH_LT", *_SWAPPED):
            threshold = _before(branch.values[0]) if branch.mode in _STRICT else ordered(branch.values[0])
            swaps = branch.mode in _SWAPPED
            near, far = (no, yes) if swaps else (yes, no)
            nan = branch.values[0] != branch.values[0]
            place = self._node(threshold, branch.feature, branch.nan_is_yes != swaps)
            if nan and swaps:
                # Nothing is greater than NaN, and no threshold is above all features and NaN.
                raise NodeError("compares a feature with NaN")
            return [(far, [place]), (near, [])]
        if branch.mode == "BRANCH_NEQ":
            # NaN differs from every number.
            return self._members(branch, no, yes, False)
        if branch.mode in ("BRANCH_EQ", "BRANCH_MEMBER"):
            return self._members(branch, yes, no, branch.nan_is_yes)
        raise NodeError(f"has the condition {branch.mode}, which ONNX lacks")

    def _members(self, branch: Condition, yes: int, no: int, nan_is_yes: bool) -> list[tuple[int, list[int]]]:
        """Two nodes for each value: no greater than it, and greater than the number before it."""
        equal: list[int] = []
        greater: list[int] = []
        for value in branch.values:
            self._link(greater)
            greater = [self._node(ordered(value), branch.feature, nan_is_yes and not equal)]
            equal.append(self._node(_before(value), branch.feature, False))
        return [(yes, equal), (no, greater)]


def tables(
    branches: Mapping[int, Condition], leaves: Mapping[int, Leaf], roots: Sequence[int], features: int, outputs: int
) -> TreeTables:
    """The tables of an ensemble. Raises NodeError for trees that are none, or too large."""
    writer = _Writer(branches, leaves, features)
    starts = [writer.tree(root) for root in roots]
    if len(writer.written) < len(branches):
        raise NodeError("has nodes that no root leads to")
    if any(not 0 <= output < outputs for leaf in leaves.values() for output, _ in leaf):
        raise NodeError(f"has a leaf for an output that it lacks: there are {outputs}")
    rows: dict[bytes, int] = {}
    are_single = all(len(leaves[number]) <= 1 for _, number in writer.leaf_numbers)
    for place, number in writer.leaf_numbers:
        if are_single:
            output, weight = next(iter(leaves[number]), (0, 0.0))
            writer.words[place] = [int(np.array(weight, np.float32).view(np.int32)), output]
        else:
            row = np.zeros(outputs, np.float32)
            for output, weight in leaves[number]:
                row[output] += np.float32(weight)
            writer.words[place][0] = rows.setdefault(row.tobytes(), len(rows))
            check_constant((len(rows), outputs))
    weights = None if are_single else np.frombuffer(b"".join(rows), np.float32).reshape(len(rows), outputs).copy()
    words = np.array(writer.words, np.int64).astype(np.uint32).view(np.int32)
    return TreeTables(words, np.array(starts, np.int32), weights)
