"""Kernels for vector and DSP instructions, the fastest first: the first one that is exact for a layer computes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tflmgen.kernel import Kernel, OperatorInstance, Scratch, Target
from tflmgen.ops.dsp_add import add_dsp
from tflmgen.ops.dsp_channels import Layer
from tflmgen.ops.dsp_conv import conv2d_dsp
from tflmgen.ops.dsp_depthwise import depthwise3x3_dsp
from tflmgen.ops.dsp_depthwise_window import depthwise_window_dsp
from tflmgen.ops.dsp_fully_connected import fully_connected_dsp
from tflmgen.ops.mve_conv import conv2d_mve
from tflmgen.ops.mve_depthwise import depthwise_window_mve
from tflmgen.ops.mve_fully_connected import fully_connected_mve
from tflmgen.ops.thumb_add import add_thumb
from tflmgen.ops.thumb_conv import conv2d_thumb
from tflmgen.ops.thumb_depthwise import depthwise_thumb
from tflmgen.ops.thumb_fully_connected import fully_connected_thumb
from tflmgen.ops.window import Window

FullyConnectedMaker = Callable[[OperatorInstance, Layer, int, int], Kernel | None]
AddMaker = Callable[[OperatorInstance, Sequence[float], int, int, int], Kernel | None]
Maker = Callable[[OperatorInstance, Window, Layer], Kernel | None]


def depthwise_dsp(op: OperatorInstance, window: Window, layer: Layer) -> Kernel | None:
    """The fastest of the DSP kernels, with the others as alternatives."""
    over_window = depthwise_window_dsp(op, window, layer)
    kernels = [*depthwise3x3_dsp(op, window, layer), *([over_window] if over_window else [])]
    if not kernels:
        return None
    fastest, *others = sorted(kernels, key=lambda kernel: kernel.instructions)
    return replace(fastest, alternatives=tuple(others))


CONV_2D: tuple[tuple[str, Maker], ...] = (
    ("mve", conv2d_mve),
    ("dsp", conv2d_dsp),
    ("thumb", conv2d_thumb),
)
DEPTHWISE: tuple[tuple[str, Maker], ...] = (
    ("mve", depthwise_window_mve),
    ("dsp", depthwise_dsp),
    ("thumb", depthwise_thumb),
)
FULLY_CONNECTED: tuple[tuple[str, FullyConnectedMaker], ...] = (
    ("mve", fully_connected_mve),
    ("dsp", fully_connected_dsp),
    ("thumb", fully_connected_thumb),
)
ADD: tuple[tuple[str, AddMaker], ...] = (("dsp", add_dsp), ("thumb", add_thumb))


PER_MAC = {"mve": 0.35, "dsp": 1.0, "thumb": 3.5, "portable": 6.0}
"""Instructions of kernels that don't estimate their own, about."""

LITTLE = 16
"""Bytes of scratch that a slower kernel without any is not worth."""


def or_portable(fast: Kernel | None, portable: Kernel) -> Kernel:
    """The fast kernel, if there is one, with the portable one as its last alternative where that has less scratch."""
    if fast is None:
        return portable
    scratch = [sum(o.bytes for o in k.operands if isinstance(o, Scratch)) for k in (fast, *fast.alternatives)]
    if min(scratch) <= LITTLE:
        return fast
    fast, last = (
        replace(k, instructions=k.instructions or round(k.macs * PER_MAC[k.variant])) for k in (fast, portable)
    )
    return replace(fast, alternatives=(*fast.alternatives, last))


def fast_conv2d(op: OperatorInstance, window: Window, layer: Layer, target: Target) -> Kernel | None:
    return _first(CONV_2D, op, window, layer, target)


def fast_depthwise(op: OperatorInstance, window: Window, layer: Layer, target: Target) -> Kernel | None:
    return _first(DEPTHWISE, op, window, layer, target)


def fast_fully_connected(
    op: OperatorInstance, layer: Layer, batches: int, long_distance: int, target: Target
) -> Kernel | None:
    for feature, make in FULLY_CONNECTED:
        kernel = make(op, layer, batches, long_distance) if feature in target.instructions else None
        if kernel is not None:
            return kernel
    return None


def fast_add(
    op: OperatorInstance, factors: Sequence[float], sign: int, limits: tuple[int, int], target: Target
) -> Kernel | None:
    for feature, make in ADD:
        kernel = make(op, factors, sign, *limits) if feature in target.instructions else None
        if kernel is not None:
            return kernel
    return None


def _first(
    makers: tuple[tuple[str, Maker], ...], op: OperatorInstance, window: Window, layer: Layer, target: Target
) -> Kernel | None:
    for feature, make in makers:
        kernel = make(op, window, layer) if feature in target.instructions else None
        if kernel is not None:
            return kernel
    return None
