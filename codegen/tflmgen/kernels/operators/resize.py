"""RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR, to a constant size."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Params, Target, View
from tflmgen.kernels.numeric.quantize_math import round_half_away
from tflmgen.kernels.numeric.strides import Ints
from tflmgen.kernels.operators.binary import SUFFIX
from tflmgen.kernels.operators.copying import SAME_MOVABLE_TYPE, constants_of
from tflmgen.kernels.operators.mapped_copy import mapped_kernel
from tflmgen.kernels.ranges.intervals import Inputs, Outputs
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, Shape
from tflmgen.kernels.specification.rules import COMMON, constant, input_is, input_shape, input_type
from tflmgen.kernels.traits import BY_BATCH, Roles


@dataclass(frozen=True, slots=True)
class Sampling:
    """Whether the corner pixels' centres coincide, and whether pixels are taken at their centres."""

    align_corners: bool
    half_pixel_centers: bool


def parse(options: Options | None) -> Sampling:
    """Whether corners are aligned, and whether samples are taken at centres of pixels."""
    fields = options or {}
    return Sampling(bool(fields.get("align_corners", False)), bool(fields.get("half_pixel_centers", False)))


def _resized(op: OperatorInstance) -> Ints:
    n, _, _, c = input_shape(op)
    height, width = constants_of(op, 1)
    return (n, height, width, c)


def _infer(op: OperatorInstance) -> tuple[Shape | None, ...]:
    return (_resized(op),)


def _step(sampling: Sampling, size: int, wanted: int) -> np.float32:
    """Input pixels per output pixel; single precision throughout, as TFLite computes it."""
    if sampling.align_corners and wanted > 1:
        return np.float32(size - 1) / np.float32(wanted - 1)
    return np.float32(size) / np.float32(wanted)


def _nearest(sampling: Sampling, size: int, wanted: int) -> Ints:
    step = _step(sampling, size, wanted)
    offset = np.float32(0.5 if sampling.half_pixel_centers else 0.0)
    indices = []
    for position in range(wanted):
        place = float((np.float32(position) + offset) * step)
        index = round_half_away(place) if sampling.align_corners else math.floor(place)
        indices.append(max(0, min(index, size - 1)))
    return tuple(indices)


def _nearest_kernel(op: OperatorInstance, target: Target) -> Kernel | View:
    del target
    (n, h, w, c), (_, height, width, _) = input_shape(op), _resized(op)
    rows, columns = _nearest(op.attributes, h, height), _nearest(op.attributes, w, width)
    return mapped_kernel(op, [tuple(range(n)), rows, columns, tuple(range(c))])


def _between_float(sampling: Sampling, size: int, wanted: int) -> tuple[list[Ints], list[float]]:
    """The two input indices around each output index, and how near it is to the second."""
    step = _step(sampling, size, wanted)
    pairs: list[Ints] = []
    fractions: list[float] = []
    for position in range(wanted):
        if sampling.half_pixel_centers:
            place = (np.float32(position) + np.float32(0.5)) * step - np.float32(0.5)
        else:
            place = np.float32(position) * step
        first = max(math.floor(place), 0)
        pairs.append((min(first, size - 1), min(math.ceil(place), size - 1)))
        fractions.append(float(place - np.float32(first)))
    return pairs, fractions


def _between_integer(sampling: Sampling, size: int, wanted: int) -> tuple[list[Ints], list[float]]:
    """Neighbours and fractions in steps of 1/1024, without floats, as TFLite has them for int8 and int16."""
    if sampling.align_corners and wanted > 1:
        step = (1024 * (size - 1) + (wanted - 1) // 2) // (wanted - 1)
    else:
        step = (1024 * size + wanted // 2) // wanted
    pairs: list[Ints] = []
    fractions: list[float] = []
    for position in range(wanted):
        place = position * step + (step // 2 - 512 if sampling.half_pixel_centers else 0)
        first = max(int(place / 1024), 0)
        pairs.append((min(first, size - 1), min(int((place + 1023) / 1024), size - 1)))
        fractions.append(float(place - 1024 * first))
    return pairs, fractions


def _bilinear_kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    (n, h, w, c), (_, height, width, _) = input_shape(op), _resized(op)
    dtype = input_type(op, 0).dtype
    between: Callable[[Sampling, int, int], tuple[list[Ints], list[float]]]
    between, stored = (_between_float, DType.FLOAT32) if dtype is DType.FLOAT32 else (_between_integer, DType.INT32)
    operands: list[Input | Output | ConstantArray] = [Input(0)]
    for name, size, wanted in (("rows", h, height), ("columns", w, width)):
        pairs, fractions = between(op.attributes, size, wanted)
        operands.append(ConstantArray.of(name, np.array(pairs), DType.INT32))
        operands.append(ConstantArray.of(f"{name}_fractions", np.array(fractions), stored))
    fields = (
        ("batches", n),
        ("input_height", h),
        ("input_width", w),
        ("output_height", height),
        ("output_width", width),
        ("channels", c),
    )
    return Kernel(
        f"tflmgen_resize_bilinear_{SUFFIX[dtype]}",
        "resize_bilinear.h",
        (*operands, Output(0)),
        Params("tflmgen_resize_bilinear", fields),
    )


def _value_range(op: OperatorInstance, inputs: Inputs) -> Outputs:
    """Each element is one of the channel's, or lies between four of them."""
    del op
    return [inputs[0]]


SIZE_RULES = (
    Rule("an input of 4 dimensions", lambda op: len(input_type(op, 0).shape) == 4),
    input_is(1, "size", DType.INT32),
    constant(1, "size"),
    Rule("a size that is a height and a width", lambda op: input_type(op, 1).elements == 2),
    Rule(
        "an input and an output of at least one pixel",
        lambda op: min(*constants_of(op, 1), *input_shape(op)) > 0,
    ),
    Rule(
        "half_pixel_centers or align_corners, not both",
        lambda op: not (op.attributes.half_pixel_centers and op.attributes.align_corners),
    ),
)

OPERATORS = (
    OperatorSpec(
        "RESIZE_NEAREST_NEIGHBOR",
        parse,
        (2, 2),
        1,
        (*COMMON, SAME_MOVABLE_TYPE, *SIZE_RULES),
        _infer,
        _nearest_kernel,
        value_range=_value_range,
        traits=replace(BY_BATCH, channelwise=True, roles=Roles(shapes=(1,)), ignores_scales=True),
    ),
    OperatorSpec(
        "RESIZE_BILINEAR",
        parse,
        (2, 2),
        1,
        (
            *COMMON,
            Rule(
                "an input and an output of one type: float32, int8 or int16",
                lambda op: (
                    op.outputs[0].dtype in (DType.FLOAT32, DType.INT8, DType.INT16)
                    and input_type(op, 0).dtype is op.outputs[0].dtype
                ),
            ),
            *SIZE_RULES,
        ),
        _infer,
        _bilinear_kernel,
        value_range=_value_range,
        traits=replace(BY_BATCH, channelwise=True, roles=Roles(shapes=(1,)), ignores_scales=True),
    ),
)
