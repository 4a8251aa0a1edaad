"""Errors of one output over many sets: about the mean of what the float model gives, and in absolute numbers.

A regression around an offset has a large signal and a small variance: what an error means there, the variance says. So
noise is compared with the variance of each element over the sets, and the worst element counts beside all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir.graph import EntryPoint

Array = NDArray[Any]
Floats = NDArray[np.float64]

_FEWEST_SETS = 8
"""Sets from which on the variance of each element over them is estimated."""

_LEAST_VARIANCE = 1e-12
"""Part of the largest variance below which an element counts as constant."""


@dataclass(frozen=True, slots=True)
class MeanNoise:
    """Noise of an output of real numbers, in decibels below the variance over the sets.

    whole_db      of all elements together
    worst_db      of the element, at its place, that has least
    worst         that element, by its place in the flattened output
    balanced_db   mean of the elements' ratios of noise to variance: what small elements lose counts as much
    channels_db   of each element of the last axis; those without variance are infinite
    deviation     standard deviation of the elements, and `error` the root of the mean squared error
    sets          sets that these are estimated from
    """

    whole_db: float
    worst_db: float
    worst: int
    balanced_db: float
    channels_db: tuple[float, ...]
    deviation: float
    error: float
    sets: int

    @property
    def uncertainty_db(self) -> float:
        """Standard error of the ratio of two variances of one element, each of so many samples."""
        return 10 / math.log(10) * math.sqrt(4 / max(self.sets, 1))


@dataclass(frozen=True, slots=True)
class OutputError:
    """Error of one output of one signature over all sets.

    max_abs    largest absolute difference
    sqnr_db    signal-to-quantisation-noise ratio in decibels; infinite without an error
    agreement  share of rows whose largest element is at the same place, or of integers that are the same; None for
               images and real outputs of one element
    noise      of real numbers about their mean; None for integers, and where no element varies
    is_integer classes and other integers, of which each that differs is wrong
    place      among the signature's outputs
    """

    signature: str
    output: str
    max_abs: float
    sqnr_db: float
    agreement: float | None
    noise: MeanNoise | None = None
    is_integer: bool = False
    place: int = 0


def output_error(signature: EntryPoint, place: int, pairs: Sequence[tuple[Array, Array]]) -> OutputError:
    """Error of an output from its expected and actual value in each set."""
    noise = signal = largest = 0.0
    is_integer = signature.outputs[place].type.quantization is None and pairs[0][0].dtype.kind in "iub"
    rows: list[bool] = []
    wanted_values, differences = [], []
    for expected, actual in pairs:
        wanted, got = (np.atleast_1d(array).astype(np.float64) for array in (expected, actual))
        if wanted.shape != got.shape:
            noise, largest = math.inf, math.inf
            rows.append(False)
            continue
        with np.errstate(invalid="ignore"):
            difference = np.abs(got - wanted)
        # Values that are infinite or undefined in float are right where they are so in the other run, too.
        difference[(got == wanted) | (np.isnan(got) & np.isnan(wanted))] = 0
        difference[np.isnan(difference)] = math.inf
        largest = max(largest, float(difference.max(initial=0)))
        noise += float((difference**2).sum())
        signal += float((wanted[np.isfinite(wanted)] ** 2).sum())
        rows += [bool(equal) for equal in (got == wanted).flat] if is_integer else rows_that_agree(wanted, got)
        wanted_values.append(wanted)
        differences.append(difference)
    agreement = sum(rows) / len(rows) if rows else None
    about_mean = None if is_integer or math.isinf(noise) else mean_noise(wanted_values, differences)
    name = signature.outputs[place].name
    return OutputError(signature.key, name, largest, ratio_db(signal, noise), agreement, about_mean, is_integer, place)


def mean_noise(wanted: Sequence[Array], differences: Sequence[Array]) -> MeanNoise | None:
    """Noise about the mean; None if no element varies, and of few values.

    Values of several shapes count as sets of one element. Where there are few sets, rows along the last axis count as
    sets: the variance of an element over two of them says nothing.
    """
    if not wanted or (wanted[0].size == 0 and len({array.shape for array in wanted}) == 1):
        return None
    is_regular = len({array.shape for array in wanted}) == 1
    if is_regular and len(wanted) < _FEWEST_SETS:
        wanted, differences = _rows(wanted), _rows(differences)
        if len(wanted) < _FEWEST_SETS:
            return None
    values, errors = (_stacked(arrays, is_regular) for arrays in (wanted, differences))
    variance, squared = _variance(values), (errors**2).mean(axis=0)
    live = variance > _LEAST_VARIANCE * variance.max(initial=0)
    if not live.any():
        return None
    with np.errstate(divide="ignore"):
        each = np.where(live, 10 * np.log10(np.where(live, variance, 1) / np.maximum(squared, 1e-300)), math.inf)
        each[squared == 0] = math.inf
    worst = int(each.argmin())
    last = wanted[0].shape[-1] if is_regular else 1
    channels = [(np.where(live, part, 0).reshape(-1, last).sum(axis=0)) for part in (variance, squared)]
    ratio = float((squared[live] / variance[live]).mean())
    return MeanNoise(
        ratio_db(float(variance[live].sum()), float(squared[live].sum())),
        float(each[worst]),
        worst,
        math.inf if ratio == 0 else -10 * math.log10(ratio),
        tuple(ratio_db(float(v), float(n)) if v else math.inf for v, n in zip(*channels, strict=True)),
        math.sqrt(float(variance[live].mean())),
        math.sqrt(float(squared[live].mean())),
        len(values),
    )


def _rows(arrays: Sequence[Array]) -> list[Array]:
    """Rows along the last axis of all arrays."""
    return [row for array in arrays for row in array.reshape(-1, array.shape[-1])]


def _stacked(arrays: Sequence[Array], is_regular: bool) -> Floats:
    """A row for each set, or for each element where the sets have several shapes."""
    if is_regular:
        return np.stack(arrays).reshape(len(arrays), -1)
    return np.concatenate([array.reshape(-1, 1) for array in arrays])


def _variance(values: Floats) -> Floats:
    """Variance of the finite values in each column."""
    finite = np.isfinite(values)
    counts = np.maximum(finite.sum(axis=0), 1)
    means = np.where(finite, values, 0).sum(axis=0) / counts
    return np.asarray((np.where(finite, values - means, 0) ** 2).sum(axis=0) / counts)


def rows_that_agree(wanted: Array, got: Array) -> list[bool]:
    """Whether the largest element is at the same place, of each row along the last axis: samples of a batch, steps of a
    sequence. Of an image none, whose last axis need not be its classes.
    """
    shape = tuple(n for n in wanted.shape if n > 1)
    if not shape or len(shape) > 2 or wanted.size == 0:
        return []
    is_defined = np.array_equal(np.isnan(got), np.isnan(wanted))
    places = (array.reshape(-1, shape[-1]).argmax(axis=1) for array in (wanted, got))
    return [bool(is_defined and a == b) for a, b in zip(*places, strict=True)]


def ratio_db(signal: float, noise: float) -> float:
    """Ratio of two powers in decibels: infinite without noise, minus infinity without a signal."""
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal and math.isfinite(noise) else -math.inf
