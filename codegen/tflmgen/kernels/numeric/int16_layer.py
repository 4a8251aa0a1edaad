"""Constants of layers with int16 activations, int8 weights and accumulators that fit 32 bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.specification.weights import sum_suffix


@dataclass(frozen=True, slots=True)
class Int16Layer:
    """Weights [channels, terms]; bias [channels]; multipliers [channels] of the requantisation."""

    weights: Integers
    bias: Integers
    multipliers: Integers


def int16_layer(op: OperatorInstance, weights: Integers, scales: Sequence[tuple[int, int]]) -> Int16Layer | None:
    """The layer of an operator [input, filter, bias]; None where 32 bits or one multiplication do not suffice."""
    bias = np.zeros(len(weights), dtype=np.int64)
    if len(op.inputs) > 2 and op.inputs[2] is not None:
        if op.constants[2] is None or sum_suffix(op) != "b64":
            return None
        bias = np.asarray(op.constants[2], dtype=np.int64).reshape(-1)
    rounded = [min((multiplier + 2**15) >> 16, 0x7FFF) for multiplier, _ in scales]
    totals = [15 - shift for _, shift in scales]
    fits = (np.abs(weights).sum(axis=1) * 2**15 + np.abs(bias) < 2**31).all()
    if not fits or not all(16 <= total <= 32 for total in totals):
        return None
    multipliers = [m << (32 - total) for m, total in zip(rounded, totals, strict=True)]
    return Int16Layer(weights, bias, np.array(multipliers, dtype=np.int64))
