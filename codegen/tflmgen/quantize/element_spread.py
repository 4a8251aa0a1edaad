"""Variance of each element of a tensor from sample to sample, beside the range of all of them.

One scale has steps for the whole range. An element that varies by little more than a step is lost in it, as those of a
quantity around an offset are, or of a score beside coordinates in pixels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend import TensorKey

_LEAST_VARIANCE = 1e-6
"""Part of the largest variance below which an element counts as constant."""


@dataclass(slots=True)
class _Sums:
    count: int
    first: NDArray[np.float64]
    total: NDArray[np.float64]
    squares: NDArray[np.float64]


class SpreadWatcher:
    """Sums of the elements of chosen tensors, and of their squares, relative to the first value."""

    def __init__(self, tensors: frozenset[TensorKey]) -> None:
        self._tensors = tensors
        self._sums: dict[TensorKey, _Sums] = {}

    def wants(self, tensor: TensorKey) -> bool:
        """Whether the tensor is one of those chosen."""
        return tensor in self._tensors

    def tensor(self, tensor: TensorKey, value: NDArray[Any]) -> None:
        """Adds a value; one of another shape than the first is left out."""
        flat = value.reshape(-1).astype(np.float64)
        own = self._sums.setdefault(tensor, _Sums(0, flat, np.zeros_like(flat), np.zeros_like(flat)))
        if flat.shape == own.first.shape and np.isfinite(flat).all():
            difference = flat - own.first
            own.count += 1
            own.total += difference
            own.squares += difference**2

    def mark(self, event: str, operator: tuple[int, int]) -> None:
        """Decisions are of no account."""

    @property
    def least_variances(self) -> Mapping[TensorKey, float]:
        """Variance of the element of each tensor that varies least, but for those that do not."""
        least = {}
        for key, own in self._sums.items():
            variance = own.squares / max(own.count, 1) - (own.total / max(own.count, 1)) ** 2
            live = variance[variance > _LEAST_VARIANCE * variance.max(initial=0)]
            if live.size:
                least[key] = float(live.min())
        return least
