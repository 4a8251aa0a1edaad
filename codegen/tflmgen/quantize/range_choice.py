"""Scale and zero point of a tensor from its histogram: by minimum and maximum, percentile, or least squared error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.quantize.statistics import TensorStatistics

Floats = NDArray[np.float64]


class RangeMethod(str, Enum):
    """Method by which the range that the integers cover follows from the values."""

    MIN_MAX = "min-max"
    PERCENTILE = "percentile"
    MSE = "mse"


PERCENTILE = 0.9999
"""Share of the values on either side of 0 that the percentile method covers; the rest is clipped."""

_SHRINK = tuple(float(f) for f in np.geomspace(1.0, 1 / 64, 46))
"""Ends of the range that the search for the least squared error tries, as parts of the outermost value. A step is 9 %:
around its minimum the error is flat, and steps half as wide lower it by less than 1 %."""

_ROUNDS = 2
"""Rounds of the search, each over the upper end and then the lower one."""

_POINT = 1e-3
"""Steps below which a bin counts as a point: the difference of integrals would lose its digits."""

_TINY = 2.0**-18
"""Values below this part of the largest count as rounded to 0: an eighth of a step of int16 over the whole range."""

_CLIP_STEPS = 2**22
"""Steps of a range that is only to end the values: float32 has about as many digits."""

_SMALLEST_SCALE = 2.0**-23
"""Scale of tensors that are always 0; scales near the least float32 would overflow the multipliers of kernels."""


@dataclass(frozen=True, slots=True)
class Affine:
    """real = scale * (q - zero_point), with q from `low` to `high`."""

    scale: float
    zero_point: int
    low: int
    high: int

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest real value."""
        return self.scale * (self.low - self.zero_point), self.scale * (self.high - self.zero_point)


@lru_cache(maxsize=2048)
def choose_range(
    statistics: TensorStatistics,
    dtype: DType,
    method: RangeMethod = RangeMethod.MIN_MAX,
    symmetric: bool | None = None,
) -> tuple[float, int]:
    """(scale, zero point) of a tensor with these values.

    dtype      int8 or int16
    symmetric  zero point 0 and a range without the lowest integer; None: as TFLite has it, symmetric for int16 alone

    The percentile method clips the outermost values (McKinstry et al., "Discovering low-precision networks close to
    full-precision networks", 2018). The method of the least mean squared error evaluates ends of the range on the
    histogram (Sung et al., "Resiliency of deep neural networks under quantization", 2015; Choukroun et al., "Low-bit
    quantization of neural networks for efficient inference", 2019), one end after the other.
    """
    is_symmetric = dtype is DType.INT16 if symmetric is None else symmetric
    affine = affine_for(statistics.minimum, statistics.maximum, dtype, is_symmetric)
    if method is not RangeMethod.MIN_MAX:
        clipping = affine_for(*_percentiles(statistics, PERCENTILE), dtype=dtype, symmetric=is_symmetric)
        is_searched = method is RangeMethod.MSE
        affine = _least_error(statistics, (affine, clipping), dtype, is_symmetric) if is_searched else clipping
    return affine.scale, affine.zero_point


def affine_for(minimum: float, maximum: float, dtype: DType, symmetric: bool) -> Affine:
    """Quantisation of a range, widened to include 0, which is then represented without an error.

    The zero point is nudged to an integer as in gemmlowp's ChooseQuantizationParams
    (doc/quantization_example.cc), which TFLite follows: from the end of the range with the smaller rounding error.
    """
    lowest, highest = dtype.limits
    low, high = min(minimum, 0.0), max(maximum, 0.0)
    if symmetric:
        scale = stored_scale(max(-low, high) / highest)
        return Affine(scale, 0, -highest, highest)
    scale = stored_scale((high - low) / (highest - lowest))
    from_low, from_high = lowest - low / scale, highest - high / scale
    is_low_better = abs(lowest) + abs(low / scale) < abs(highest) + abs(high / scale)
    zero_point = round(from_low if is_low_better else from_high)
    return Affine(scale, min(max(zero_point, lowest), highest), lowest, highest)


def clip(low: float, high: float) -> Affine:
    """A quantisation that ends the values at a range of some width, with steps of no account in float32."""
    scale = (high - low) / _CLIP_STEPS
    return Affine(scale, 0, round(low / scale), round(high / scale))


def affine_of(scale: float, zero_point: int, dtype: DType) -> Affine:
    """The quantisation of a tensor; int16 has a range without its lowest integer."""
    low, high = dtype.limits
    return Affine(scale, zero_point, -high if dtype is DType.INT16 else low, high)


def clipped_share(statistics: TensorStatistics, affine: Affine) -> float:
    """Share of the values beyond what the integers represent, by more than half a step."""
    low, high = affine.bounds
    centers, half = statistics.centers, affine.scale / 2
    beyond = statistics.counts[(centers < low - half) | (centers > high + half)].sum()
    return float(beyond) / max(statistics.elements, 1)


def sqnr_db(statistics: TensorStatistics, affine: Affine) -> float:
    """Signal-to-quantisation-noise ratio in decibels, from the histogram; infinite without noise or signal."""
    signal = float((statistics.counts * statistics.centers**2).sum())
    noise = squared_error(statistics, affine)
    return float("inf") if noise == 0 or signal == 0 else float(10 * np.log10(signal / noise))


def squared_error(statistics: TensorStatistics, affine: Affine) -> float:
    """Sum of the squared errors of all values, as if those of a bin were spread evenly over it.

    The smallest and the largest value are known exactly; what is clipped counts most, and often is these alone.
    """
    return float(_Spread(statistics).errors([affine])[0])


class _Spread:
    """The non-empty bins of a histogram, prepared for the errors of many quantisations."""

    def __init__(self, statistics: TensorStatistics) -> None:
        largest = max(-statistics.minimum, statistics.maximum)
        counts = statistics.counts.copy()
        counts[[0, -1]] -= 1
        edges = np.clip(statistics.edges, statistics.minimum, statistics.maximum)
        tiny = np.maximum(np.abs(edges[:-1]), np.abs(edges[1:])) < largest * _TINY
        used = (counts > 0) & ~tiny
        self._counts, self._starts, self._ends = counts[used], edges[:-1][used], edges[1:][used]
        self._edges, places = np.unique(np.concatenate([self._starts, self._ends]), return_inverse=True)
        self._first, self._second = np.split(places, 2)
        self._tiny = float((counts * (edges[:-1] + edges[1:]) ** 2 / 4)[tiny].sum())
        self._outermost = np.array([statistics.minimum, statistics.maximum])

    def errors(self, affines: Sequence[Affine]) -> Floats:
        """The sum of squared errors of each quantisation."""
        grids = _Grids(affines)
        widths = self._ends - self._starts
        is_point = widths < _POINT * grids.scales
        from_zero = grids.error_integrals(self._edges)
        integrals = from_zero[:, self._second] - from_zero[:, self._first]
        points = grids.errors((self._starts + self._ends) / 2) ** 2
        errors = np.where(is_point, points, integrals / np.where(is_point, 1.0, widths))
        outermost = (grids.errors(self._outermost) ** 2).sum(axis=1)
        return np.asarray((self._counts * errors).sum(axis=1) + self._tiny + outermost)


class _Grids:
    """The numbers that several quantisations represent; results are [quantisations, values]."""

    def __init__(self, affines: Sequence[Affine]) -> None:
        self.scales = np.array([[affine.scale] for affine in affines])
        self._lows, self._highs = (np.array([[affine.bounds[end]] for affine in affines]) for end in (0, 1))

    def errors(self, values: Floats) -> Floats:
        """Errors of values by rounding and clipping."""
        inside = np.clip(values, self._lows, self._highs)
        return np.asarray(np.round(inside / self.scales) * self.scales - values)

    def error_integrals(self, values: Floats) -> Floats:
        """Integral of the squared error from 0 to each value.

        Within the range a whole step contributes scale^3 / 12, and the part of a step that ends at distance r from an
        integer r^3 / 3; beyond, the distance to the range grows.
        """
        inside = np.clip(values, self._lows, self._highs)
        steps = np.round(inside / self.scales)
        rest, beyond = inside - steps * self.scales, values - inside
        return np.asarray(steps * self.scales**3 / 12 + (rest * rest * rest + beyond * beyond * beyond) / 3)


def stored_scale(scale: float) -> float:
    """The scale as float32, in which files have it, and no smaller than kernels bear."""
    return float(np.float32(max(scale, _SMALLEST_SCALE)))


def _percentiles(statistics: TensorStatistics, share: float) -> tuple[float, float]:
    """Ends of the range that `share` of the values do not pass on either side, interpolated within a bin."""
    cumulative = np.concatenate([[0], np.cumsum(statistics.counts)]) / statistics.elements
    low, high = np.interp([1 - share, share], cumulative, statistics.edges)
    return max(float(low), statistics.minimum), min(float(high), statistics.maximum)


def _least_error(statistics: TensorStatistics, starts: tuple[Affine, Affine], dtype: DType, symmetric: bool) -> Affine:
    spread = _Spread(statistics)
    errors = spread.errors(starts)
    least, best = float(errors.min()), starts[int(errors.argmin())]
    ends = [min(statistics.minimum, 0.0), max(statistics.maximum, 0.0)]
    if symmetric:
        ends = [0.0, max(-ends[0], ends[1])]
    widest = tuple(ends)
    for _ in range(_ROUNDS):
        for end in (1, 0):
            tried = [widest[end] * part for part in _SHRINK if widest[end]]
            if not tried:
                continue
            ranges = [(value, ends[1]) if end == 0 else (ends[0], value) for value in tried]
            affines = [affine_for(low, high, dtype, symmetric) for low, high in ranges]
            errors = spread.errors(affines)
            at = int(errors.argmin())
            if errors[at] < least:
                best, least, ends[end] = affines[at], float(errors[at]), tried[at]
    return best
