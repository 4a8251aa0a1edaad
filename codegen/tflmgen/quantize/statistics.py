"""What calibration says of a Model: the values that each tensor took, and how often each subgraph ran."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TensorKey = tuple[int, int]
"""Index of a subgraph and of a tensor in it."""


@dataclass(frozen=True, slots=True, eq=False)
class TensorStatistics:
    """Values of one float tensor over all samples, iterations and calls.

    counts  values per bin of the histogram
    edges   bounds of the bins in ascending order, one more than bins
    """

    minimum: float
    maximum: float
    counts: NDArray[np.int64]
    edges: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """What the runs of a Model with `samples` sets of inputs observed.

    tensors  of float tensors that an operator wrote or a caller passed; absent: never reached
    runs     how often each subgraph ran, by its index; those of loop conditions and bodies once per iteration
    """

    samples: int
    tensors: Mapping[TensorKey, TensorStatistics]
    runs: Mapping[int, int]
