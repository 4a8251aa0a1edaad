"""Fits the figures of cost models to counted calls: cycles of terms, and what is left of them where a call is alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tflmgen.kernels.declaration import cost_models

from support.cost_samples import Sample

Floats = NDArray[np.float64]

TINY = 1400.0
"""Cycles added to a layer's own before its error is relative to them: tiny layers, of whose calls compilers fold what
they can, say little of the others, and there is little to choose in them."""

CAUTION = 0.15
"""Relative error of a layer for which no term's part is changed by more than as much."""

LITTLE = 0.02
"""Part of layers' cycles, on average, that a figure must change to be said."""


def fit(family: str, samples: Sequence[Sample], weights: Sequence[float]) -> dict[str, float]:
    """The cycles of each term of a family, those that take none left out: least squares of weighted relative errors."""
    scale = _scale(samples, weights)
    coefficients = non_negative_least_squares(_counts(family, samples) * scale[:, None], _cycles(samples) * scale)
    terms = cost_models()[family].counts(samples[0].numbers)
    rounded = (float(f"{value:.4g}") for value in coefficients)
    return {term: value for term, value in zip(terms, rounded, strict=True) if value}


@dataclass(frozen=True, slots=True)
class Alone:
    """Samples that were alone in their models, of one core: how much each weighs, and the family's cycles there."""

    samples: Sequence[Sample]
    weights: Sequence[float]
    cycles: dict[str, float]


def left_alone(family: str, counted: Sequence[Alone]) -> dict[str, float]:
    """The part of each term's cycles that is left where calls are alone, on any core; those of all of it left out.

    More than all of it is left where specialised loops take longer, as on an M55 those without low-overhead branches.
    Least squares of weighted relative errors of what is saved; terms that few samples tell apart save the same rather
    than one of them much (Hoerl and Kennard 1970, ridge regression).
    """
    terms = list(cost_models()[family].counts(counted[0].samples[0].numbers))
    rows, saved, total = [], [], 0.0
    for alone in counted:
        taken = _counts(family, alone.samples) * np.array([alone.cycles.get(term, 0.0) for term in terms])
        scale = _scale(alone.samples, alone.weights)
        rows.append(taken * scale[:, None])
        saved.append(rows[-1].sum(axis=1) - _cycles(alone.samples) * scale)
        total += float((_cycles(alone.samples) * scale) @ (_cycles(alone.samples) * scale))
    ridge = CAUTION * np.eye(len(terms))
    wanted = np.concatenate([*saved, np.zeros(len(terms))])
    coefficients = np.linalg.lstsq(np.vstack([*rows, ridge]), wanted, rcond=None)[0]
    changes = np.linalg.norm(np.vstack(rows) * coefficients, axis=0) / np.sqrt(total)
    left = {
        term: round(float(max(0.0, 1 - saving)), 2)
        for term, saving, change in zip(terms, coefficients, changes, strict=True)
        if change > LITTLE
    }
    return {term: part for term, part in left.items() if any(term in alone.cycles for alone in counted)}


def errors(family: str, samples: Sequence[Sample], cycles: dict[str, float]) -> Floats:
    """Relative errors of estimates by these cycles."""
    terms = cost_models()[family].counts(samples[0].numbers)
    estimates = _counts(family, samples) @ np.array([cycles.get(term, 0.0) for term in terms])
    return np.asarray(estimates / _cycles(samples) - 1)


def _scale(samples: Sequence[Sample], weights: Sequence[float]) -> Floats:
    """What makes cycles of layers relative to theirs, times the roots of weights."""
    return np.asarray(np.sqrt(np.array(weights)) / (_cycles(samples) + TINY))


def _counts(family: str, samples: Sequence[Sample]) -> Floats:
    rows = [list(cost_models()[family].counts(sample.numbers).values()) for sample in samples]
    return np.array(rows, dtype=np.float64)


def _cycles(samples: Sequence[Sample]) -> Floats:
    return np.array([sample.cycles for sample in samples], dtype=np.float64)


def non_negative_least_squares(rows: Floats, wanted: Floats) -> Floats:
    """Least squares without negative coefficients (Lawson and Hanson 1974, algorithm NNLS)."""
    scale = np.maximum(np.abs(rows).max(axis=0), 1e-12)
    a = rows / scale
    x, active = np.zeros(a.shape[1]), np.zeros(a.shape[1], dtype=bool)
    for _ in range(30 * len(x)):
        gradient = a.T @ (wanted - a @ x)
        gradient[active] = -np.inf
        if gradient.max(initial=-np.inf) <= 1e-9:
            break
        active[int(gradient.argmax())] = True
        while True:
            trial = np.zeros_like(x)
            trial[active] = np.linalg.lstsq(a[:, active], wanted, rcond=None)[0]
            if trial[active].min() > 0:
                x = trial
                break
            bad = active & (trial <= 0)
            step = float((x[bad] / (x[bad] - trial[bad])).min())
            x = x + step * (trial - x)
            active &= x > 1e-12
            x[~active] = 0
    return np.asarray(x / scale)
