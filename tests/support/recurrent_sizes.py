"""SVDF and LSTM in the sizes that the fast int8 kernels are made for, with extreme weights, inputs and states."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from support.conv_cases import pick
from support.dsp_cases import Run, inputs
from support.recurrent_cases import CELLS_LOG2, quantized_lstm, svdf


def svdf_in(state: str) -> Callable[[np.random.Generator], Run]:
    """A generator of SVDF layers with memory of whole words and of others, filters of one chunk and of several."""

    def make(rng: np.random.Generator) -> Run:
        batches, rank = int(pick(rng, 1, 1, 2)), int(pick(rng, 1, 1, 2, 3, 8))
        length, units = int(rng.integers(1, 80)), int(pick(rng, rng.integers(1, 12), 33, 70))
        memory = int(pick(rng, 8, 12, 32, rng.integers(1, 12)))
        case, _ = svdf(rng, state, (batches, length, units, rank, memory), _least(rng))
        return case, inputs(rng, case)

    return make


def lstm(rng: np.random.Generator) -> Run:
    size = rng.integers(1, 60), rng.integers(1, 40)
    length, cells = (int(n) for n in pick(rng, size, size, (280, rng.integers(5, 14))))
    sizes = (int(pick(rng, 1, 1, 3)), int(pick(rng, 1, 3)), length, cells)
    case, _ = quantized_lstm(rng, "int8", sizes, _least(rng), pick(rng, 0.05, 0.004))
    return case, inputs(rng, case)


def lstm_any_cells(rng: np.random.Generator) -> Run:
    """A quantised LSTM whose cells have a scale that no converter makes: the multipliers of all steps change."""
    sizes = 1, int(rng.integers(1, 4)), int(rng.integers(1, 20)), int(rng.integers(1, 20))
    case, _ = quantized_lstm(rng, "int8", sizes, cells_log2=CELLS_LOG2)
    return case, inputs(rng, case)


def _least(rng: np.random.Generator) -> int:
    """-128 makes some pairs of weights too much for 16 bits."""
    return int(pick(rng, -127, -128))
