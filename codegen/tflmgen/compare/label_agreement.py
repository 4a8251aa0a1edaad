"""Accuracy of a model at its task: classes against labels, and numbers against measured ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

BINARY_THRESHOLD = 0.5
"""Score from which a model with a single score says class 1."""


@dataclass(frozen=True, slots=True)
class ClassAccuracy:
    """Classes that a model gives beside the labels.

    confusion  [label, given class]: numbers of samples
    """

    confusion: Indices

    @property
    def top_1(self) -> float:
        """Share of samples whose class is the label."""
        return float(np.trace(self.confusion) / max(self.confusion.sum(), 1))

    @property
    def recall(self) -> Floats:
        """Share of each label's samples that are given its class; NaN for a label without samples."""
        return _shares(np.diag(self.confusion), self.confusion.sum(axis=1))

    @property
    def precision(self) -> Floats:
        """Share of the samples that are given a class whose label it is; NaN for a class that is never given."""
        return _shares(np.diag(self.confusion), self.confusion.sum(axis=0))


@dataclass(frozen=True, slots=True)
class NumberAccuracy:
    """Errors of an output whose labels are numbers, over all elements of all samples.

    r2  share of the labels' variance that the model explains; NaN where they do not vary
    """

    mean_absolute: float
    root_mean_square: float
    largest: float
    r2: float


def predicted_classes(scores: Sequence[NDArray[Any]]) -> Indices:
    """Class of each sample: the largest score, the integer that the model gives, or 1 from BINARY_THRESHOLD on.

    scores  real numbers or, of a model that ends in its class, an integer each
    """
    rows = np.stack([array.reshape(-1) for array in scores])
    if rows.shape[1] > 1:
        largest: Indices = rows.argmax(axis=1).astype(np.int64)
        return largest
    column = rows[:, 0]
    classes: Indices = (column if column.dtype.kind in "iub" else column >= BINARY_THRESHOLD).astype(np.int64)
    return classes


def class_accuracy(predicted: Indices, labels: Indices, classes: int) -> ClassAccuracy:
    """Counts classes [sample] beside labels [sample] from 0 to `classes` - 1."""
    confusion = np.zeros((classes, classes), np.int64)
    np.add.at(confusion, (labels, predicted), 1)
    return ClassAccuracy(confusion)


def number_accuracy(predicted: Sequence[NDArray[Any]], labels: Sequence[NDArray[Any]]) -> NumberAccuracy:
    """Errors of outputs beside labels of as many elements, a pair for each sample."""
    outputs, wanted = (np.concatenate([a.reshape(-1).astype(np.float64) for a in side]) for side in (predicted, labels))
    errors = np.abs(outputs - wanted)
    variance, square = float(np.var(wanted)), float(np.mean(errors**2))
    r2 = 1 - square / variance if variance > 0 else float("nan")
    return NumberAccuracy(float(errors.mean()), float(np.sqrt(square)), float(errors.max()), r2)


def _shares(part: Indices, whole: Indices) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        shares: Floats = part / whole.astype(np.float64)
    return shares
