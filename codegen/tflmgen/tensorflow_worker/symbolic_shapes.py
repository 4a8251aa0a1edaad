"""Dimensions that TensorFlow's inference does not know, but that are the same in every run: rows filled up to a number.

A dimension or a single integer is a sum of multiples of what is not known, and a constant. Pad of n rows by K - n rows
has K rows, whatever n is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

Sum = Counter[tuple[str, int] | None]
"""(tensor, element or axis) -> its multiple; None -> the constant."""

_SAME = frozenset({"Identity", "Enter", "Exit", "Switch", "StopGradient", "EnsureShape"})
_ELEMENTWISE = frozenset({"Cast", "Abs", "Relu", "Sigmoid", "LogicalNot"})
"""Operations of one operand, whose shape their result has."""

DEEPEST = 200
"""Operations that a dimension is followed through; one beyond is not known."""


class SymbolicShapes:
    """Shapes of a graph's tensors.

    nodes  by name
    graph  the graph with the shapes that TensorFlow infers
    """

    def __init__(self, nodes: Mapping[str, Any], graph: Any) -> None:
        self._nodes = nodes
        self._graph = graph
        self._known: dict[tuple[str, str, int], Sum] = {}
        self._depth = 0

    def shape(self, tensor: str) -> Any:
        """The shape of a tensor, with each dimension that is known or the same in every run."""
        inferred = self._inferred(tensor)
        if inferred.rank is None or inferred.is_fully_defined():
            return inferred
        dims = [self._number(self._dimension(tensor, axis)) for axis in range(inferred.rank)]
        return tf.TensorShape(dims)

    @staticmethod
    def _number(total: Sum) -> int | None:
        return total[None] if not any(count for key, count in total.items() if key is not None) else None

    def _inferred(self, tensor: str) -> Any:
        return self._graph.get_tensor_by_name(tensor if ":" in tensor else f"{tensor}:0").shape

    def _dimension(self, tensor: str, axis: int) -> Sum:
        return self._followed("dimension", tensor, axis, self._new_dimension)

    def _integer(self, tensor: str, element: int) -> Sum:
        """An element of an integer tensor, which is seen as flat."""
        return self._followed("integer", tensor, element, self._new_integer)

    def _followed(self, kind: str, tensor: str, place: int, follow: Callable[[str, int], Sum]) -> Sum:
        """Each is followed once, or graphs of many sums would take exponential time."""
        key = (kind, tensor, place)
        if key not in self._known:
            self._depth += 1
            unknown = Sum({(f"{kind} of {tensor}", place): 1})
            self._known[key] = follow(tensor, place) if self._depth < DEEPEST else unknown
            self._depth -= 1
        return self._known[key]

    def _new_dimension(self, tensor: str, axis: int) -> Sum:
        size = self._inferred(tensor)[axis]
        if size is not None:
            return Sum({None: size})
        name, _, port = tensor.partition(":")
        node = self._nodes[name]
        if node.op in _SAME or (node.op in _ELEMENTWISE and self._inferred(node.input[0]).rank == self._rank(tensor)):
            return self._dimension(node.input[0], axis)
        if node.op in ("GatherV2", "Gather") and axis == 0 and self._inferred(node.input[1]).rank == 1:
            gathered = self._integer(node.input[2], 0) if node.op == "GatherV2" else Sum({None: 0})
            gathered = gathered if node.attr["batch_dims"].i == 0 else Sum()
            if set(gathered) == {None} and gathered[None] == 0:
                return self._dimension(node.input[1], 0)
        if node.op == "TopKV2" and axis + 1 == self._rank(tensor):
            return self._integer(node.input[1], 0)
        if node.op in ("Pad", "PadV2"):
            pads = [self._integer(node.input[1], 2 * axis + side) for side in (0, 1)]
            return self._added(self._dimension(node.input[0], axis), *pads)
        return Sum({(f"{name}:{port or 0}", axis): 1})

    def _count(self, tensor: str) -> int | None:
        count: int | None = self._inferred(tensor).num_elements()
        return count

    def _rank(self, tensor: str) -> int | None:
        rank: int | None = self._inferred(tensor).rank
        return rank

    @staticmethod
    def _added(*sums: Sum) -> Sum:
        total: Sum = Counter()
        for part in sums:
            for key, count in part.items():
                total[key] += count
        return total

    def _new_integer(self, tensor: str, element: int) -> Sum:
        name, _, port = tensor.partition(":")
        node = self._nodes[name]
        if node.op == "Const":
            return Sum({None: int(np.ravel(tf.make_ndarray(node.attr["value"].tensor))[element])})
        if node.op in _SAME or node.op in ("Cast", "Reshape", "ExpandDims", "Squeeze"):
            return self._integer(node.input[0], element)
        if node.op == "Shape":
            return self._dimension(node.input[0], element)
        # A map of attributes gets the keys that it is asked for, so that an operation is asked for its own alone.
        if node.op == "StridedSlice" and self._rank(node.input[0]) == 1 and _takes_element(node):
            begin = self._integer(node.input[1], 0)
            if set(begin) == {None} and begin[None] >= 0:
                return self._integer(node.input[0], begin[None])
        if node.op == "ConcatV2" or (node.op == "Pack" and node.attr["axis"].i == 0):
            parts = [name for name in node.input if not name.startswith("^")][: node.attr["N"].i]
            sizes = [self._count(part) for part in parts]
            for part, size in zip(parts, sizes, strict=True):
                if size is None:
                    break
                if element < size:
                    return self._integer(part, element)
                element -= size
        if node.op in ("Add", "AddV2", "Sub") and self._inferred(tensor).rank == 0:
            first, second = (self._integer(operand, 0) for operand in node.input[:2])
            sign = -1 if node.op == "Sub" else 1
            return self._added(first, Counter({key: sign * count for key, count in second.items()}))
        return Sum({(f"{name}:{port or 0}", element): 1})


def _takes_element(node: Any) -> bool:
    """Whether a StridedSlice takes one element at its begin."""
    masks = ("begin_mask", "ellipsis_mask", "new_axis_mask")
    return node.attr["shrink_axis_mask"].i == 1 and not any(node.attr[mask].i for mask in masks)
