"""TRANSPOSE_CONV as stride_height * stride_width convolutions of stride 1, one per phase.

Phase (p, q) computes the outputs whose row and column are p and q modulo the strides."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels.numeric.int8_layer import Int8Layer
from tflmgen.kernels.numeric.int16_layer import Int16Layer
from tflmgen.kernels.specification.rules import input_type
from tflmgen.kernels.specification.window import Fields, Window

AnyLayer = TypeVar("AnyLayer", Int8Layer, Int16Layer)


def transposed_fields(op: OperatorInstance, window: Window) -> Fields:
    """TFLMGEN_WINDOW_FIELDS of the transposed convolution: input and output of `window` change roles."""
    source, output = input_type(op, 2).max_shape, op.outputs[0].max_shape
    fields = dict(window.fields(source[3]))
    for side, shape in (("input", source), ("output", output)):
        fields |= {f"{side}_{name}": n for name, n in zip(("height", "width", "channels"), shape[1:], strict=True)}
    return tuple(fields.items())


def phases_of(window: Window, layer: AnyLayer, zero: int) -> list[tuple[tuple[int, int], AnyLayer]] | None:
    """Taps (height, width) and layer of each phase, rows first; None where a phase has no taps.

    window: the convolution from the output to the input. layer.weights: [channels, taps * input channels]. zero: the
    input's zero point, which is folded into the biases.
    """
    taps, strides = window.taps, (window.steps.stride_height, window.steps.stride_width)
    if taps[0] < strides[0] or taps[1] < strides[1]:
        return None
    channels = len(layer.weights)
    weights = layer.weights.reshape(channels, *taps, -1)
    before = window.height.padding, window.width.padding
    phases = []
    for phase in np.ndindex(*strides):
        rows, columns = (_taps(p, t, stride, b) for p, t, stride, b in zip(phase, taps, strides, before, strict=True))
        part = np.ascontiguousarray(weights[:, rows][:, :, columns]).reshape(channels, -1)
        bias = layer.bias + zero * (layer.weights.sum(axis=1) - part.sum(axis=1))
        phases.append(((len(rows), len(columns)), replace(layer, weights=part, bias=bias)))
    return phases


def _taps(phase: int, taps: int, stride: int, padding: int) -> list[int]:
    """Taps that contribute to the outputs of `phase` along one axis, in the order of the input pixels they read."""
    return list(range((phase + padding) % stride, taps, stride))[::-1]
