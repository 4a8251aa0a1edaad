"""Results of a calibration: values that each tensor took, runs of each subgraph, and decisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend import TensorKey
from tflmgen.frontend.model_graph import OperatorKey

Decisions = tuple[int, ...]
"""Branches that an If took in one set (1: then, 0: else), or trip counts of a While, in order."""

_MANTISSA_BITS = 6
"""Bits of the mantissa that choose a bin: 2^6 bins per power of two, each at most 1.6 % of its value wide."""

_SHIFT = 23 - _MANTISSA_BITS
_BINS = 1 << (32 - _SHIFT)
"""Bins while counting: 64 per power of two and sign over all of float32, so that no range has to be known beforehand,
and the result does not depend on the order of the values."""

_SMALL = 4096
"""Elements up to which counting one by one is faster than counting over all bins."""


@dataclass(frozen=True, slots=True, eq=False)
class TensorStatistics:
    """Values of one float tensor over all samples, iterations and calls.

    minimum, maximum  of the finite values
    counts            values per bin of the histogram
    edges             bounds of the bins in ascending order, one more than bins; bins widen with the distance from 0
    """

    minimum: float
    maximum: float
    counts: NDArray[np.int64]
    edges: NDArray[np.float64]

    @property
    def elements(self) -> int:
        """Number of values."""
        return int(self.counts.sum())

    @property
    def centers(self) -> NDArray[np.float64]:
        """Value in the middle of each bin, within the range."""
        return np.clip((self.edges[:-1] + self.edges[1:]) / 2, self.minimum, self.maximum)

    def merged(self, other: TensorStatistics) -> TensorStatistics:
        """Statistics of the values of both."""
        counts = np.zeros(_BINS, np.int64)
        for part in (self, other):
            first = int(np.searchsorted(_ALL_EDGES, part.edges[0]))
            counts[first : first + len(part.counts)] += part.counts
        return _trimmed(min(self.minimum, other.minimum), max(self.maximum, other.maximum), counts)


@dataclass(frozen=True, slots=True)
class Unreached:
    """A subgraph that no sample ran: its index, its name, and the operators that refer to it with their role for it."""

    subgraph: int
    name: str
    users: tuple[tuple[OperatorKey, str], ...]

    def __str__(self) -> str:
        users = ", ".join(f"{role} of operator {key[1]} in subgraph {key[0]}" for key, role in self.users)
        return f"subgraph {self.subgraph} '{self.name}' ({users}) never ran"


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Observations of the runs of a Model with `samples` sets of inputs observed.

    tensors    of float tensors that have values: of operators, of callers, of views and loop variables, of constants;
               absent: never reached
    runs       how often each subgraph ran, by its index; those of loop conditions and bodies once per iteration
    decisions  of each If and While: one tuple per sample
    unreached  subgraphs that never ran
    not_finite tensors with infinite or undefined values, which the statistics leave out -> how many
    """

    samples: int
    tensors: Mapping[TensorKey, TensorStatistics]
    runs: Mapping[int, int]
    decisions: Mapping[OperatorKey, tuple[Decisions, ...]] = field(default_factory=dict)
    unreached: tuple[Unreached, ...] = ()
    not_finite: Mapping[TensorKey, int] = field(default_factory=dict)
    _groups: dict[tuple[TensorKey, ...], TensorStatistics] = field(default_factory=dict, init=False, repr=False)

    def joined(self, other: Calibration) -> Calibration:
        """Observations of the runs of both calibrations."""
        both = self.tensors.keys() & other.tensors.keys()
        tensors = {key: self.tensors[key].merged(other.tensors[key]) for key in both}
        runs = {key: self.runs.get(key, 0) + other.runs.get(key, 0) for key in {**self.runs, **other.runs}}
        not_finite = dict(self.not_finite)
        for key, number in other.not_finite.items():
            not_finite[key] = not_finite.get(key, 0) + number
        return Calibration(
            self.samples + other.samples,
            {**self.tensors, **other.tensors, **tensors},
            runs,
            {key: (*own, *other.decisions.get(key, ())) for key, own in self.decisions.items()},
            tuple(graph for graph in self.unreached if graph in other.unreached),
            not_finite,
        )

    def merged(self, keys: Iterable[TensorKey]) -> TensorStatistics | None:
        """Statistics of all values of these tensors, the same object each time; None if calibration reached none."""
        known = tuple(key for key in keys if key in self.tensors)
        if known and known not in self._groups:
            self._groups[known] = reduce(TensorStatistics.merged, (self.tensors[key] for key in known))
        return self._groups.get(known)


class Accumulator:
    """Statistics of one tensor while values arrive."""

    def __init__(self) -> None:
        self.not_finite = 0
        self._minimum, self._maximum = np.inf, -np.inf
        self._counts = np.zeros(_BINS, np.int64)

    def add(self, values: NDArray[Any]) -> None:
        """Adds the elements of one value. Infinities and NaNs are counted, but not part of the range."""
        flat = np.ascontiguousarray(values, np.float32).reshape(-1)
        if not flat.size:
            return
        low, high = float(flat.min()), float(flat.max())
        if not (np.isfinite(low) and np.isfinite(high)):
            finite = flat[np.isfinite(flat)]
            self.not_finite += flat.size - finite.size
            self.add(finite)
            return
        self._minimum, self._maximum = min(self._minimum, low), max(self._maximum, high)
        bins = flat.view(np.uint32) >> np.uint32(_SHIFT)
        if flat.size <= _SMALL:
            np.add.at(self._counts, bins, 1)
        else:
            self._counts += np.bincount(bins, minlength=_BINS)

    def statistics(self) -> TensorStatistics | None:
        """The statistics so far; None without any finite value."""
        if self._minimum > self._maximum:
            return None
        # By ascending value: the negative half, whose magnitudes ascend with the bits, comes first and turned around.
        half = _BINS // 2
        return _trimmed(self._minimum, self._maximum, np.concatenate([self._counts[half:][::-1], self._counts[:half]]))


def statistics_of(values: NDArray[Any]) -> TensorStatistics | None:
    """Statistics of one array; None without any finite value."""
    accumulator = Accumulator()
    accumulator.add(values)
    return accumulator.statistics()


def _trimmed(minimum: float, maximum: float, counts: NDArray[np.int64]) -> TensorStatistics:
    places = np.nonzero(counts)[0]
    first, end = int(places[0]), int(places[-1]) + 1
    return TensorStatistics(minimum, maximum, counts[first:end].copy(), _ALL_EDGES[first : end + 1].copy())


def _all_edges() -> NDArray[np.float64]:
    """Bounds of all bins by ascending value. The last finite bin ends at 2^128; those of infinities follow."""
    last = 255 << _MANTISSA_BITS
    finite = (np.arange(last, dtype=np.uint32) << np.uint32(_SHIFT)).view(np.float32).astype(np.float64)
    ends = np.concatenate([finite, 2.0**128 * np.arange(1, _BINS // 2 - last + 2)])
    return np.concatenate([-ends[:0:-1], ends])


_ALL_EDGES = _all_edges()
