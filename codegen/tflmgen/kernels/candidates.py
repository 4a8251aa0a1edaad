"""Kernels for instruction sets: which of them are exact for a layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tflmgen.ir import ConstantArray, Kernel, OperatorInstance, Target
from tflmgen.kernels.dsp.add_dsp import add_dsp
from tflmgen.kernels.dsp.conv2d_dot_dsp import conv2d_dot_dsp
from tflmgen.kernels.dsp.conv2d_dsp import conv2d_dsp
from tflmgen.kernels.dsp.conv2d_parts_dsp import conv2d_groups_dsp, transpose_conv_dsp
from tflmgen.kernels.dsp.conv2d_winograd_dsp import conv2d_winograd_dsp
from tflmgen.kernels.dsp.depthwise3x3_dsp import depthwise3x3_dsp
from tflmgen.kernels.dsp.depthwise_window_dsp import depthwise_window_dsp
from tflmgen.kernels.dsp.fully_connected_dsp import fully_connected_dsp
from tflmgen.kernels.dsp.int16_layers import Int16Layer
from tflmgen.kernels.mul_candidates import mul_dsp, mul_mve, mul_thumb
from tflmgen.kernels.mve.add_mve import add_mve
from tflmgen.kernels.mve.conv2d_mve import conv2d_mve, conv2d_windows_mve
from tflmgen.kernels.mve.conv2d_parts_mve import conv2d_groups_mve, transpose_conv_mve
from tflmgen.kernels.mve.depthwise_patch_mve import depthwise_patch_mve
from tflmgen.kernels.mve.depthwise_quads_mve import depthwise_quads_mve
from tflmgen.kernels.mve.depthwise_window_mve import depthwise_window_mve
from tflmgen.kernels.mve.fully_connected_mve import fully_connected_mve
from tflmgen.kernels.numeric.int8_layer import Layer
from tflmgen.kernels.numeric.window import Steps, Window
from tflmgen.kernels.thumb.add_thumb import add_thumb
from tflmgen.kernels.thumb.conv2d_pixel_thumb import conv2d_pixel_thumb
from tflmgen.kernels.thumb.conv2d_thumb import conv2d_thumb
from tflmgen.kernels.thumb.depthwise_direct_thumb import depthwise_direct_thumb
from tflmgen.kernels.thumb.depthwise_thumb import depthwise_thumb
from tflmgen.kernels.thumb.fully_connected_few_thumb import fully_connected_few_thumb
from tflmgen.kernels.thumb.fully_connected_thumb import fully_connected_thumb
from tflmgen.kernels.thumb.transpose_conv_thumb import transpose_conv_thumb

MOST_ZEROS = 1024
"""Zeros, in bytes, that may stand between an operator's weights, for other groups of channels or units that aren't
there."""

MOST_PACKED = 1.25
"""Times the weights' bytes that packed ones may take, beyond that."""

FEW = 4
"""Output channels up to which a window may not be worth widening for them; pixels up to which weights may be read anew
for each."""

PER_CHANNEL = 12
"""Bytes of a bias, a multiplier and a shift."""

Maker = Callable[[], Kernel | Sequence[Kernel] | None]
"""The kernels of one instruction set; none where it would not be exact."""


def fast_conv2d(op: OperatorInstance, window: Window, layer: Layer, target: Target) -> list[Kernel]:
    # Of a column, windows lie in one piece, as those of a line do.
    window = window.line
    rows = _rows_of(window)
    direct = fast_kernels(
        target,
        layer,
        ("mve", lambda: conv2d_mve(op, window, layer)),
        ("mve", lambda: conv2d_windows_mve(op, window, layer)),
        ("dsp", lambda: _conv2d_dsp(op, window, layer, target.optimize != "size")),
        ("dsp", lambda: fully_connected_dsp(op, layer, rows) if 0 < rows <= FEW else None),
        ("thumb", lambda: conv2d_thumb(op, window, layer)),
        ("thumb", lambda: depthwise_thumb(op, window, layer) if window.input[3] == 1 else None),
        ("thumb", lambda: fully_connected_thumb(op, layer, rows) if rows else None),
        ("thumb", lambda: fully_connected_few_thumb(op, layer, rows) if rows else None),
        ("thumb", lambda: conv2d_pixel_thumb(op, window, layer)),
    )
    asked = target.winograd and "dsp" in target.instructions
    larger = conv2d_winograd_dsp(op, window, layer) if asked else None
    return [*direct, *([larger] if larger else [])]


def _conv2d_dsp(op: OperatorInstance, window: Window, layer: Layer, special: bool) -> list[Kernel]:
    """By blocks of pixels, and, where that is not exact or there are few output channels, straight from the input."""
    blocks = conv2d_dsp(op, window, layer, special)
    straight = conv2d_dot_dsp(op, window, layer) if blocks is None or len(layer.weights) <= FEW else None
    return [kernel for kernel in (blocks, straight) if kernel]


def _rows_of(window: Window) -> int:
    """How many rows a matrix product has that is this convolution; 0 where none is."""
    if window.is_pointwise:
        return math.prod(window.input[:3])
    return window.input[0] if window.taps == window.input[1:3] and not window.reaches_out else 0


def fast_grouped(op: OperatorInstance, window: Window, layer: Layer, target: Target) -> list[Kernel]:
    """The kernels of a convolution whose channels are in groups: depthwise, or with zeros in the place of other groups.

    layer.weights: [channels, taps * (input channels of a group)].
    """
    channels, terms = layer.weights.shape
    taps, inputs = math.prod(window.taps), window.input[3]
    if terms == taps and inputs == channels:
        return fast_depthwise(op, window, layer, target)
    own = terms // taps
    groups = inputs // own
    several = fast_kernels(
        target,
        layer,
        ("mve", lambda: conv2d_groups_mve(op, window, layer)),
        ("dsp", lambda: conv2d_groups_dsp(op, window, layer)),
        ("thumb", lambda: depthwise_thumb(op, window, layer) if own == 1 else None),
        ("thumb", lambda: conv2d_pixel_thumb(op, window, layer, groups)),
    )
    if own == 1:
        several = [*fast_kernels(target, None, ("mve", lambda: depthwise_quads_mve(op, window, layer))), *several]
    if channels * taps * (inputs - own) > MOST_ZEROS or target.optimize == "size":
        return several
    spread = np.zeros((channels, taps, inputs), dtype=np.int64)
    for number, (row, weights) in enumerate(zip(spread, layer.weights, strict=True)):
        first = number * groups // channels * own
        row[:, first : first + own] = weights.reshape(taps, own)
    dense = replace(layer, weights=spread.reshape(channels, -1))
    kernels = fast_conv2d(op, window, dense, target)
    spread_out = [_with_macs(kernel, op.outputs[0].elements * terms) for kernel in kernels]
    fast = any(kernel.variant != "thumb" for kernel in kernels)
    return [*(kernel for kernel in several if kernel.variant != "thumb" or not fast), *spread_out]


def _with_macs(kernel: Kernel, macs: int) -> Kernel:
    others = tuple(_with_macs(other, macs) for other in kernel.smaller)
    backward = kernel.backward and _with_macs(kernel.backward, macs)
    return replace(kernel, macs=macs, smaller=others, backward=backward)


def fast_depthwise(op: OperatorInstance, window: Window, layer: Layer, target: Target) -> list[Kernel]:
    # A column of pixels is a line of them, in which several are next to each other.
    line = window.line
    return fast_kernels(
        target,
        None,
        ("mve", lambda: depthwise_patch_mve(op, line, layer)),
        ("mve", lambda: depthwise_window_mve(op, line, layer)),
        ("mve", lambda: depthwise_quads_mve(op, line, layer)),
        ("dsp", lambda: depthwise3x3_dsp(op, window, layer)),
        ("dsp", lambda: depthwise_window_dsp(op, window, layer, target.optimize != "size")),
        ("thumb", lambda: depthwise_thumb(op, window, layer)),
        ("thumb", lambda: depthwise_direct_thumb(op, window, layer)),
    )


def fast_transpose_conv(op: OperatorInstance, window: Window, layer: Layer, target: Target) -> list[Kernel]:
    """window: of the convolution from the output to the input."""
    return fast_kernels(
        target,
        layer,
        ("mve", lambda: transpose_conv_mve(op, window, layer)),
        ("dsp", lambda: transpose_conv_dsp(op, window, layer)),
        ("thumb", lambda: transpose_conv_thumb(op, window, layer)),
    )


def fast_fully_connected(op: OperatorInstance, layer: Layer, batches: int, target: Target) -> list[Kernel]:
    found = fast_kernels(
        target,
        layer,
        ("mve", lambda: fully_connected_mve(op, layer, batches)),
        ("dsp", lambda: fully_connected_dsp(op, layer, batches)),
    )
    if found or "dsp" in target.instructions:
        # There the portable kernel multiplies two values at a time, those for Armv6-M one.
        return found
    return fast_kernels(
        target,
        layer,
        ("thumb", lambda: fully_connected_thumb(op, layer, batches)),
        ("thumb", lambda: fully_connected_few_thumb(op, layer, batches)),
        ("thumb", lambda: conv2d_pixel_thumb(op, _line(batches, layer), layer)),
    )


def _line(pixels: int, layer: Layer) -> Window:
    """The pointwise window over a line that makes a convolution of a matrix product."""
    return Window(Steps(False, 1, 1), (1, 1, pixels, layer.weights.shape[1]), (1, 1))


def fast_int16(layer: Int16Layer | None, make: Callable[[Int16Layer], Kernel | None], target: Target) -> list[Kernel]:
    """The kernel that `make` has for a layer of int16 activations."""
    return fast_kernels(target, None, ("dsp", lambda: make(layer) if layer else None))


def fast_add(
    op: OperatorInstance, factors: Sequence[float], sign: int, limits: tuple[int, int], target: Target
) -> list[Kernel]:
    return fast_kernels(
        target,
        None,
        ("mve", lambda: add_mve(op, factors, sign, *limits)),
        ("dsp", lambda: add_dsp(op, factors, sign, *limits)),
        ("thumb", lambda: add_thumb(op, factors, sign, *limits)),
    )


def fast_mul(op: OperatorInstance, factor: float, limits: tuple[int, int], target: Target) -> list[Kernel]:
    return fast_kernels(
        target,
        None,
        ("mve", lambda: mul_mve(op, factor, *limits)),
        ("dsp", lambda: mul_dsp(op, factor, *limits)),
        ("thumb", lambda: mul_thumb(op, factor, *limits)),
    )


def fast_recurrent(
    makers: Iterable[tuple[str, Callable[..., Kernel | None]]], target: Target, *arguments: object
) -> list[Kernel]:
    """The kernels of an int8 SVDF or LSTM that `makers` have for instruction sets, given these arguments."""
    return fast_kernels(target, None, *((instructions, partial(make, *arguments)) for instructions, make in makers))


def on_fpu(kernel: Kernel, target: Target) -> Kernel:
    """Named for the floating-point unit that a float32 kernel's loops have instructions for (rows_f32.h, lanes_f32.h),
    where there is one."""
    return replace(kernel, variant="fpu") if "fpu" in target.features and kernel.function.endswith("_f32") else kernel


def fast_kernels(target: Target, layer: Layer | None, *makers: tuple[str, Maker]) -> list[Kernel]:
    """What is exact and doesn't fill much flash with padding beside the weights of `layer`, where there are many.

    `thumb`, which runs anywhere, is slow to prove, and left to layers for which nothing else is.
    """
    weights = layer.weights.size + PER_CHANNEL * len(layer.weights) if layer else 0
    most = MOST_PACKED * weights + MOST_ZEROS
    found: list[Kernel] = []
    for instructions, make in makers:
        others = any(kernel.variant != "thumb" for kernel in found)
        if instructions in target.instructions and not (others and instructions == "thumb"):
            made = make()
            some = [made] if isinstance(made, Kernel) else made or ()
            found += [kernel for kernel in some if layer is None or _packed_bytes(kernel) <= most]
    return found


def _packed_bytes(kernel: Kernel) -> int:
    return sum(len(operand.data) for operand in kernel.operands if isinstance(operand, ConstantArray))
