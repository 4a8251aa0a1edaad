"""Requantisation by two products (thumb/bounded.py): the kernels' arithmetic with its constants is TFLite's."""

from __future__ import annotations

import numpy as np
import pytest
from tflmgen.kernels.numeric.fixed_point import requantize
from tflmgen.kernels.numeric.int8_layer import Int8Layer, Integers, accumulators
from tflmgen.kernels.numeric.quantize_math import quantize_multiplier
from tflmgen.kernels.thumb.bounded import BoundedConstants, bounded
from tflmgen.kernels.thumb.thumb_requantisation import output_of


def as_kernels_do(exact: BoundedConstants, layer: Int8Layer, channel: int, accumulators: Integers) -> Integers:
    start, width, multiplier = (int(word) for word in exact.words[channel])
    start = start - 2**32 if start >= 2**31 else start
    d = (start >> 10) - (accumulators - int(layer.bias[channel]))
    high, low = multiplier >> 12, multiplier & 0xFFF
    within = (d >= 0) & (d <= width >> 10)
    assert (d[within] * low < 2**32).all()
    y = 2**31 - ((start & 1023) * high >> 10) - (d * high + (d * low >> 12))
    assert ((y[within] >= -(2**31)) & (y[within] < 2**31)).all()
    result: Integers = np.clip(np.where(within, y >> 24, np.where(d < 0, 127, -128)), layer.low, layer.high)
    return result


def a_layer(rng: np.random.Generator, zero: int, low: int, high: int) -> Int8Layer:
    terms, channels = int(rng.integers(4, 200)), 6
    weights: Integers = np.clip(np.rint(rng.normal(0, 40, (channels, terms))), -128, 127).astype(np.int64)
    weights[0] = 0
    bias = rng.integers(-20000, 20000, channels).astype(np.int64)
    factors = rng.uniform(0.5, 8, channels) / (40 * 60 * np.sqrt(terms)) * 50
    return Int8Layer(weights, bias, tuple(quantize_multiplier(f) for f in factors.tolist()), zero, low, high)


@pytest.mark.parametrize(("zero", "low", "high"), [(-128, -128, 127), (-128, -128, 90), (-100, -100, 127), (5, 5, 127)])
def test_every_output_begins_at_the_same_sum(zero: int, low: int, high: int) -> None:
    rng = np.random.default_rng(zero + 200)
    exact = 0
    for _ in range(3):
        layer = a_layer(rng, zero, low, high)
        requantisation = bounded(layer)
        if requantisation is None:
            continue
        exact += 1
        for channel, (least, greatest) in enumerate(zip(*(b.tolist() for b in accumulators(layer)), strict=True)):
            sums = np.arange(least, greatest + 1)
            outputs = as_kernels_do(requantisation, layer, channel, sums)
            assert (outputs == np.clip(output_of(layer, sums[None, :])[channel], low, high)).all()
            for i in rng.integers(0, len(sums), 20).tolist():
                output = zero + requantize(least + i, *layer.scales[channel])
                assert outputs[i] == min(max(output, low), high)
    assert exact >= 2


def test_outputs_of_negative_sums_that_are_told_apart_round_otherwise() -> None:
    layer = a_layer(np.random.default_rng(3), 0, -128, 127)
    assert bounded(layer) is None


def test_sums_too_large_for_the_window_are_refused() -> None:
    weights = np.full((1, 4000), 127, dtype=np.int64)
    layer = Int8Layer(weights, np.zeros(1, dtype=np.int64), (quantize_multiplier(1e-5),), -128, -128, 127)
    assert bounded(layer) is None
