"""FULLY_CONNECTED in int8 for cores with the DSP extension: the stream of packed weights, and when it is exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Overlap
from tflmgen.ops.dsp_channels import Layer, Rescalings, first_sums, pair_words, rescalings
from tflmgen.ops.weights import params
from tflmgen.types import DType

HEADER = "fully_connected_dsp.h"
GROUP = 4
"""Units that are computed at a time."""

STACK_STEPS = 72
"""TFLMGEN_FULLY_CONNECTED_DSP_STACK_STEPS."""


def fully_connected_dsp(op: OperatorInstance, layer: Layer, batches: int, long_distance: int) -> Kernel | None:
    """The kernel; None where it would not be exact, or where a row is long and not of whole fours.

    long_distance: the least distance by which the output must precede the input if rows are read again and again.
    """
    units, depth = layer.weights.shape
    exact, words = rescalings(layer), pair_words(layer.weights)
    if exact is None or words is None:
        return None
    steps = words.shape[1]
    widened = steps <= STACK_STEPS
    if not widened and depth % 4:
        return None
    fields = params(
        "tflmgen_fully_connected_dsp_s8",
        (("batches", batches), ("depth", depth), ("units", units), ("steps", steps)),
        (("output_min", layer.low if exact.clamped else -128), ("output_max", layer.high if exact.clamped else 127)),
    )
    stream = ConstantArray.of("stream", _stream(words, first_sums(layer, exact), exact), DType.UINT32)
    name = f"{'widened' if widened else 'plain'}_{'signed' if exact.signed else 'clamped'}"
    distance = max(0, (batches - 1) * (units - depth)) if widened else long_distance
    return Kernel(
        f"tflmgen_fully_connected_dsp_{name}_s8",
        HEADER,
        (Input(0), stream, Output(0)),
        fields,
        (Overlap(0, 0, distance),) if distance < op.outputs[0].bytes else (),
        op.outputs[0].elements * depth,
        "dsp",
    )


def _stream(words: NDArray[np.uint32], starts: NDArray[np.uint32], exact: Rescalings) -> NDArray[np.uint32]:
    """Groups of four units; those that the last one lacks are zeros."""
    units, steps = words.shape
    stream = np.zeros((-(-units // GROUP), 4 * steps + 13), dtype=np.uint32)
    for number, group in enumerate(stream):
        some = slice(GROUP * number, min(units, GROUP * (number + 1)))
        count = some.stop - some.start
        group[:count] = starts[some]
        group[4 : 4 + 4 * steps].reshape(steps, 4)[:, :count] = words[some].T
        channels = exact.channels[some]
        group[-9] = sum(channel.shift << 8 * i for i, channel in enumerate(channels))
        group[-8 : -8 + count] = [channel.multiplier % 2**32 for channel in channels]
        group[-4 : -4 + count or None] = [channel.addend % 2**32 for channel in channels]
    return stream.reshape(-1)
