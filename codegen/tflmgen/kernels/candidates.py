"""The kernels for a processor's instruction sets that compute an operator, as their declarations say."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tflmgen.ir import ConstantArray, Cost, Kernel, OperatorInstance, Target
from tflmgen.kernels.numeric.int8_layer import Layer
from tflmgen.kernels.numeric.window import Window
from tflmgen.kernels.registry import declarations
from tflmgen.kernels.requests import (
    Convolution,
    DepthwiseConvolution,
    FloatRequest,
    GroupedConvolution,
    LayerRequest,
    Request,
    TransposedConvolution,
    WindowRequest,
)
from tflmgen.kernels.tuning import TUNING

PER_CHANNEL = 12
"""Bytes of a channel's bias, multiplier and shift, 32 bits each."""

ROW_PADDING = 8
"""Bytes of zeros behind a row of weights, on average: rows are whole vectors of 16."""

VECTORISED, ANYWHERE = ("mve", "dsp"), ("thumb",)
"""Instruction sets. Kernels for Armv6-M run anywhere, are slow to prove, and left to what no others compute."""


def fast_kernels(*requests: Request) -> list[Kernel]:
    """The kernels for instruction sets that compute what each of these requests describes, in order of preference."""
    for instructions in (VECTORISED, ANYWHERE):
        kernels = [
            kernel
            for request in requests
            if instructions is VECTORISED or not request.is_faster_by_portable_kernel
            for declaration in declarations()
            if declaration.instructions in instructions and declaration.instructions in request.target.instructions
            for kernel in declaration.kernels(request)
            if declaration.pads_freely or _packed_bytes(kernel) <= _packed_bytes_limit(request)
        ]
        if kernels:
            return kernels
    return []


def convolution_kernels(op: OperatorInstance, window: Window, layer: Layer, target: Target) -> list[Kernel]:
    """The kernels of a convolution, whose channels may be in groups: as they are, or with zeros for other groups'.

    layer.weights: [channels, taps * (input channels of a group)].
    """
    channels, terms = layer.weights.shape
    taps, inputs = math.prod(window.taps), window.input[3]
    if terms == taps * inputs:
        # Of a column, windows lie in one piece, as those of a line do.
        return fast_kernels(Convolution(op, target, layer, window.line))
    if terms == taps and channels == inputs:
        return fast_kernels(DepthwiseConvolution(op, target, layer, window))
    grouped = GroupedConvolution(op, target, layer, window)
    requests: list[WindowRequest] = [grouped]
    if channels * (taps * inputs - terms) <= TUNING.padding_bytes and target.optimize != "size":
        requests.append(Convolution(op, target, replace(layer, weights=_spread(grouped)), window.line))
    return [_with_macs(kernel, grouped.macs) for kernel in fast_kernels(*requests)]


def _spread(request: GroupedConvolution) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Weights for all input channels: zeros for those of other groups."""
    channels, taps, own = len(request.layer.weights), math.prod(request.window.taps), request.group_inputs
    spread = np.zeros((channels, taps, request.groups, own), dtype=np.int64)
    group = np.arange(channels) * request.groups // channels
    spread[np.arange(channels), :, group] = request.layer.weights.reshape(channels, taps, own)
    return spread.reshape(channels, -1)


def _with_macs(kernel: Kernel, macs: int) -> Kernel:
    others = tuple(_with_macs(other, macs) for other in kernel.smaller)
    backward = kernel.backward and _with_macs(kernel.backward, macs)
    return replace(kernel, cost=replace(kernel.cost, macs=macs), smaller=others, backward=backward)


def _packed_bytes_limit(request: Request) -> float:
    """Bytes of constants that a kernel may have: whatever it takes where each filter sees one channel."""
    if isinstance(request, FloatRequest):
        return TUNING.packed_share * (request.weights.nbytes + request.bias.nbytes) + TUNING.padding_bytes
    if not isinstance(request, LayerRequest) or isinstance(request, DepthwiseConvolution):
        return math.inf
    if isinstance(request, GroupedConvolution) and request.group_inputs == 1:
        return math.inf
    weights, phases, per_channel = request.layer.weights, 1, PER_CHANNEL
    if isinstance(request, TransposedConvolution):
        # Each phase of the stride is a convolution with its own biases and scales, and its own padding of rows.
        phases = request.window.steps.stride_height * request.window.steps.stride_width
        per_channel += ROW_PADDING
    return TUNING.packed_share * (weights.size + per_channel * phases * len(weights)) + TUNING.padding_bytes


def _packed_bytes(kernel: Kernel) -> int:
    return sum(len(operand.data) for operand in kernel.operands if isinstance(operand, ConstantArray))


def on_fpu(kernel: Kernel, target: Target) -> Kernel:
    """Named for the floating-point unit that a float32 kernel's loops have instructions for (rows_f32.h, lanes_f32.h),
    where there is one; without a cost model elsewhere."""
    if not kernel.function.endswith("_f32"):
        return kernel
    return replace(kernel, variant="fpu") if "fpu" in target.features else replace(kernel, cost=Cost(kernel.macs))
