"""The kernels that compute an operator, as their declarations say, and the choice among them.

The one of fewest cycles is chosen, and others stay that may take less memory.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from tflmgen.ir.kernel import (
    ConstantArray,
    Cost,
    CostedKernel,
    Kernel,
    KernelChoice,
    OperatorInstance,
    Scratch,
    Selected,
    Target,
)
from tflmgen.kernels.costs.estimate import estimate
from tflmgen.kernels.costs.tuning import TUNING
from tflmgen.kernels.declaration import declarations
from tflmgen.kernels.numeric.int8_layer import Int8Layer
from tflmgen.kernels.requests import (
    Convolution,
    DepthwiseConvolution,
    FloatRequest,
    GroupedConvolution,
    KernelRequest,
    LayerRequest,
    SlidingRequest,
    TransposedConvolution,
)
from tflmgen.kernels.specification.window import Window

PER_CHANNEL = 12
"""Bytes of a channel's bias, multiplier and shift, 32 bits each."""

ROW_PADDING = 8
"""Bytes of zeros behind a row of weights, on average: rows are whole vectors of 16."""

VECTORISED, ANYWHERE = ("mve", "dsp", "rv32m"), ("thumb",)
"""Instruction sets. Kernels for Armv6-M run anywhere, are slow to prove, and left to what no others compute."""


def fast_kernels(*requests: KernelRequest) -> list[Kernel]:
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


def convolution_kernels(op: OperatorInstance, window: Window, layer: Int8Layer, target: Target) -> list[Kernel]:
    """The kernels of a convolution, whose channels may be in groups: as they are, or with zeros for other groups'.

    layer.weights: [channels, taps * (input channels of a group)].
    """
    channels, terms = layer.weights.shape
    window = window.line  # of a column, windows lie in one piece, as those of a line do
    taps, inputs = math.prod(window.taps), window.input[3]
    if terms == taps * inputs:
        return fast_kernels(Convolution(op, target, layer, window))
    if terms == taps and channels == inputs:
        return fast_kernels(DepthwiseConvolution(op, target, layer, window))
    grouped = GroupedConvolution(op, target, layer, window)
    requests: list[SlidingRequest] = [grouped]
    if channels * (taps * inputs - terms) <= TUNING.padding_bytes and target.optimize != "size":
        requests.append(Convolution(op, target, replace(layer, weights=_spread(grouped)), window))
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


def _packed_bytes_limit(request: KernelRequest) -> float:
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


def choose_fastest(kernels: Iterable[Kernel], target: Target) -> KernelChoice:
    """The kernel of fewest estimated cycles, or the first one where those aren't known of all but a portable one.

    Of kernels with similar estimates the first one. Its alternatives, which may take less memory, are its own smaller
    forms, the others for the same instruction set, and the portable one where that has less scratch.
    """
    estimated = [_costed(kernel, target.core) for kernel in kernels]
    chosen, *others = estimated
    known = [costed for costed in estimated if costed.cycles]
    if known and all(costed.cycles or costed.kernel.variant == "portable" for costed in estimated):
        fewest = min(costed.cycles for costed in known)
        chosen = next(costed for costed in known if costed.cycles <= TUNING.similar_cycles * fewest)
        others = sorted((costed for costed in known if costed is not chosen), key=lambda costed: costed.cycles)
        others += [costed for costed in estimated if not costed.cycles]
    smaller = [_costed(kernel, target.core) for kernel in chosen.kernel.smaller]
    alternatives = [*smaller, *(other for other in others if other.kernel.variant == chosen.kernel.variant)]
    if min(scratch_bytes(costed.kernel) for costed in (chosen, *alternatives)) > 0:
        alternatives += [other for other in others if other.kernel.variant == "portable"]
    return KernelChoice(chosen, tuple(alternatives), tuple(other for other in others if other.cycles))


def estimated_together(kernels: Mapping[int, Selected], core: str) -> dict[int, Selected]:
    """The choices with estimates that know the other operators: compilers specialise what is called once."""
    choices = [selected for selected in kernels.values() if isinstance(selected, KernelChoice)]
    calls = Counter(choice.kernel.cost.family for choice in choices)
    return {
        number: _costed_beside(selected, calls - Counter([selected.kernel.cost.family]), core)
        if isinstance(selected, KernelChoice)
        else selected
        for number, selected in kernels.items()
    }


def _costed_beside(choice: KernelChoice, others: Counter[str], core: str) -> KernelChoice:
    """others: how many other operators call kernels of each family."""

    def costed(other: CostedKernel) -> CostedKernel:
        alone = other.cycles and not others[other.kernel.cost.family]
        return _costed(other.kernel, core, alone=True) if alone else other

    considered = sorted(map(costed, choice.considered), key=lambda other: other.cycles)
    return KernelChoice(costed(choice.chosen), tuple(map(costed, choice.alternatives)), tuple(considered))


def scratch_bytes(kernel: Kernel) -> int:
    """Bytes of arena that a call takes beside its operands."""
    return sum(operand.bytes for operand in kernel.operands if isinstance(operand, Scratch))


def _costed(kernel: Kernel, core: str, alone: bool = False) -> CostedKernel:
    return CostedKernel(kernel, estimate(kernel, core, alone) or 0)
