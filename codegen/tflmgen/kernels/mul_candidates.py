"""MUL in int8 for instruction sets: two roundings as one, proved over all pairs of inputs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import Input, Kernel, OperatorInstance, Output, Params
from tflmgen.kernels.numeric.int8_layer import Layer
from tflmgen.kernels.numeric.quantize_math import quantize_multiplier
from tflmgen.kernels.operators.binary import Fields, binary_overlaps, nest_fields
from tflmgen.kernels.rules import input_type, zero_point
from tflmgen.kernels.thumb.channels import rescalings

SHIFT = 14
"""Fraction bits of the DSP kernel's sums."""

MOST_LEFT = 15
"""Products have 16 bits and a sign."""

Integers = NDArray[np.int64]


def mul_dsp(op: OperatorInstance, factor: float, low: int, high: int) -> Kernel | None:
    """The kernel for the DSP extension; None where it would not be exact.

    factor: what brings a product to the output's scale (see arithmetic.mul_scale).
    """
    multiplier, shift = quantize_multiplier(factor)
    left, products, zero = SHIFT + 1 + shift, _products(op), zero_point(op.outputs[0])
    if not 2 <= left <= MOST_LEFT:
        return None
    wanted = np.clip(results(products, multiplier, shift) + zero, low, high)
    addend = (1 << (left - 2)) + (((2 * zero + 1) << SHIFT) >> 1 if shift < 0 else zero << SHIFT)
    scaled = ((products << left) * multiplier >> 32) + addend
    for negative in (0, -1 << (left - 1)):
        found = np.clip((scaled + np.where(products < 0, negative, 0)) >> SHIFT, low, high)
        if (found == wanted).all():
            fields = (("left", left), ("multiplier", multiplier), ("addend", addend), ("negative", negative))
            return _kernel(op, "dsp", fields, (low, high))
    return None


def mul_mve(op: OperatorInstance, factor: float, low: int, high: int) -> Kernel | None:
    """The kernel for MVE, which rounds as TFLite does where it shifts to the right; else None."""
    multiplier, shift = quantize_multiplier(factor)
    if shift >= 0:
        return None
    fields = (("multiplier", multiplier), ("shift", shift), ("zero_point", zero_point(op.outputs[0])))
    return _kernel(op, "mve", fields, (low, high))


def mul_thumb(op: OperatorInstance, factor: float, low: int, high: int) -> Kernel | None:
    """The kernel for every Cortex-M; None where it would not be exact."""
    products = _products(op)
    least, greatest = int(products.min()), int(products.max())
    # A layer of one channel and one weight, whose sums are these products, and perhaps a few more.
    weight = -(-(greatest - least) // 255)
    layer = Layer(
        np.array([[weight]], dtype=np.int64),
        np.array([least + 128 * weight], dtype=np.int64),
        (quantize_multiplier(factor),),
        zero_point(op.outputs[0]),
        low,
        high,
    )
    exact = rescalings(layer, np.zeros(1, dtype=np.int64))
    if exact is None:
        return None
    fields = (
        ("multiplier", int(exact.multipliers[0])),
        ("fraction", int(exact.shifts[0]) >> 8),
        ("addend", int(exact.addends[0])),
        ("shift", int(exact.shifts[0]) & 255),
        ("negative", int(exact.negatives[0])),
    )
    return _kernel(op, "thumb", fields, (low, high))


def results(products: Integers, multiplier: int, shift: int) -> Integers:
    """tflmgen_requantize."""
    high = ((products << max(shift, 0)) * multiplier + (1 << 30)) >> 31
    right = max(-shift, 0)
    half = (1 << right) >> 1
    rounded: Integers = np.where(high >= 0, (high + half) >> right, -((half - high) >> right))
    return rounded


def _products(op: OperatorInstance) -> Integers:
    """All that there can be."""
    values = np.arange(-128, 128, dtype=np.int64)
    products: Integers = np.unique(
        np.outer(values - zero_point(input_type(op, 0)), values - zero_point(input_type(op, 1)))
    )
    return products


def _kernel(op: OperatorInstance, variant: str, fields: Fields, limits: tuple[int, int]) -> Kernel:
    offsets = (("offset1", -zero_point(input_type(op, 0))), ("offset2", -zero_point(input_type(op, 1))))
    ends = (("least", limits[0]), ("greatest", limits[1]))
    return Kernel(
        f"tflmgen_mul_{variant}_s8",
        f"mul_{variant}.h",
        (Input(0), Input(1), Output(0)),
        Params(f"tflmgen_mul_{variant}_s8", (*nest_fields(op), *offsets, *fields, *ends)),
        binary_overlaps(op),
        variant=variant,
    )
