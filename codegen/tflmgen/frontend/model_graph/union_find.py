"""Disjoint sets of tensors and places (Tarjan, 1975)."""

from __future__ import annotations

from tflmgen.frontend.shape_bounds import TensorKey


class UnionFind:
    """Disjoint sets of keys; the least key of a set is its root, so that results do not depend on the order."""

    def __init__(self) -> None:
        self._parents: dict[TensorKey, TensorKey] = {}

    def root(self, key: TensorKey) -> TensorKey:
        """The least key of the set that `key` is in; a key that was never joined is its own."""
        path = []
        while (parent := self._parents.get(key, key)) != key:
            path.append(key)
            key = parent
        for passed in path:
            self._parents[passed] = key
        return key

    def join(self, key: TensorKey, other: TensorKey) -> None:
        """Unites the sets of both keys."""
        low, high = sorted((self.root(key), self.root(other)))
        self._parents[high] = low
        self._parents.setdefault(low, low)
