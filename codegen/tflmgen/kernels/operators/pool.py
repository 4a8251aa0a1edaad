"""AVERAGE_POOL_2D and MAX_POOL_2D, int8, int16 and float32; L2_POOL_2D, float32."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Cost, Input, Kernel, KernelChoice, OperatorInstance, Output, Target
from tflmgen.kernels.choice import choose_fastest, fast_kernels
from tflmgen.kernels.costs.cost_model import depthwise_cost
from tflmgen.kernels.declaration import KernelDeclaration
from tflmgen.kernels.numeric.quantize_math import Activation, activation_range, fused_activation
from tflmgen.kernels.operators.rounded_sums import AveragedSumsAttributes
from tflmgen.kernels.ranges.intervals import Inputs, Interval, Outputs
from tflmgen.kernels.requests import Pooling
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, Shape
from tflmgen.kernels.specification.option_fields import positive, present
from tflmgen.kernels.specification.rules import (
    COMMON,
    QUANTIZED_PER_TENSOR,
    has_inferred_shape,
    input_shape,
    input_type,
    one_type,
    scale,
    where_computed,
    zero_point,
)
from tflmgen.kernels.specification.weights import overlaps, params
from tflmgen.kernels.specification.window import Fields, Steps, Window, four, parse_steps
from tflmgen.kernels.traits import Sliding, Sums, Traits, first_axis


@dataclass(frozen=True, slots=True)
class PoolAttributes:
    """zeros: pixels of explicit padding are zeros like others; else padding takes no part.

    rounds_up: means of int8 codes that are uint8 ones less 128, whose halves are rounded up
    """

    steps: Steps
    taps: tuple[int, int]
    activation: Activation
    zeros: bool = False
    rounds_up: bool = False


ZEROS = "padding_is_zeros"
"""A key of Options that is no field of the schema: PoolAttributes.zeros."""

ROUNDS_UP = "rounds_halves_up"
"""A key of Options that is no field of the schema: PoolAttributes.rounds_up."""


def parse(options: Options | None) -> PoolAttributes:
    """Steps and size of the window, and the fused activation."""
    options = present(options)
    taps = positive(options, "filter_height"), positive(options, "filter_width")
    activation = fused_activation(options)
    flags = (bool(options.get(key, False)) for key in (ZEROS, ROUNDS_UP))
    return PoolAttributes(parse_steps(options, dilated=False), taps, activation, *flags)


def _window(op: OperatorInstance) -> Window:
    return Window(op.attributes.steps, four(input_shape(op)), op.attributes.taps)


def infer(op: OperatorInstance) -> tuple[Shape]:
    """[N, H, W, C] to [N, H', W', C]."""
    window, shape = _window(op), input_type(op, 0).shape
    return ((shape[0], window.height.output, window.width.output, shape[3]),)


def portable_pool(op: OperatorInstance, kind: str) -> Kernel:
    """The portable call of a pool; `kind`: average, max or l2."""
    output, activation = op.outputs[0], op.attributes.activation
    least, greatest = activation.bounds
    if output.quantization is not None and output.dtype is not DType.FLOAT32:
        least, greatest = activation_range(activation, output.dtype, output.quantization)
    results: Fields = (("output_min", least), ("output_max", greatest))
    suffix = {DType.FLOAT32: "f32", DType.INT8: "s8", DType.INT16: "s16"}[output.dtype]
    window = _window(op)
    fields = window.channel_fields + results
    struct, zeros = f"tflmgen_pool2d_{suffix}", ""
    if op.attributes.zeros:
        struct, zeros = f"tflmgen_pool2d_zeros_{suffix}", "zeros_"
        fields += (("zero", 0 if suffix == "f32" else zero_point(output)),)
    if op.attributes.rounds_up:
        zeros = "up_"
    name, overlap = f"tflmgen_{kind}_pool2d_{zeros}{suffix}", overlaps(output, window.group_distance(1))
    family = "average_pool2d_s8" if (kind, suffix, zeros) == ("average", "s8", "") else ""
    return Kernel(name, "pool2d.h", (Input(0), Output(0)), params(struct, fields), overlap, cost=Cost(family=family))


def _kernel(kind: str) -> Callable[[OperatorInstance, Target], KernelChoice]:
    def kernel(op: OperatorInstance, target: Target) -> KernelChoice:
        portable, is_int8 = portable_pool(op, kind), op.outputs[0].dtype is DType.INT8
        has_variants = is_int8 and not op.attributes.rounds_up
        kernels = fast_kernels(Pooling(op, target, portable, kind, _window(op))) if has_variants else []
        return choose_fastest([*kernels, portable], target)

    return kernel


def _same_quantization(op: OperatorInstance) -> bool:
    """Whether input and output have the same quantisation, scales to TFLite's tolerance of 1e-6; always for floats."""
    before, after = input_type(op, 0), op.outputs[0]
    if after.dtype is DType.FLOAT32:
        return True
    return abs(scale(before) - scale(after)) <= 1e-6 and zero_point(before) == zero_point(after)


def _sums_fit(op: OperatorInstance) -> bool:
    max_pixels = 2**15 if op.outputs[0].dtype is DType.INT16 else 2**23
    return int(op.attributes.taps[0] * op.attributes.taps[1]) < max_pixels


def _value_range(op: OperatorInstance, inputs: Inputs) -> Outputs:
    """Means, rounded, and maxima lie between the least and the greatest of their elements."""
    x, output = inputs[0], op.outputs[0]
    if x is None or output.quantization is None:
        return None
    if op.attributes.zeros:
        zero = zero_point(input_type(op, 0))
        x = x.join(Interval(np.array([zero]), np.array([zero])))
    return [x.meet(*activation_range(op.attributes.activation, output.dtype, output.quantization))]


def _sums(op: OperatorInstance) -> Sums | None:
    """The sums of an average over all rows or all columns of an image, or both; None for other pools."""
    tensor, output, attributes = input_type(op, 0), op.outputs[0], op.attributes
    if tensor.dtype is DType.FLOAT32 or not tensor.is_static or attributes.zeros or attributes.rounds_up:
        return None
    window = _window(op)
    summed = frozenset(axis for axis in (1, 2) if output.max_shape[axis] == 1)
    for axis, extent, reach in zip((1, 2), (window.height, window.width), window.reach, strict=True):
        size = tensor.max_shape[axis]
        whole = reach - extent.padding >= size if axis in summed else reach == 1 and extent.output == size
        if not whole:
            return None
    count = math.prod(tensor.max_shape[axis] for axis in summed)
    return Sums(summed, True, "AVERAGED_SUMS", AveragedSumsAttributes(count, attributes.activation))


def _rules(*types: DType) -> tuple[Rule, ...]:
    return (
        *COMMON,
        one_type(*types),
        Rule("an input of 4 dimensions", lambda op: len(input_type(op, 0).shape) == 4),
        where_computed("dimensions other than 0", lambda op: 0 not in input_type(op, 0).shape),
        QUANTIZED_PER_TENSOR,
        Rule("one scale (to 1e-6) and zero point for the input and the output", _same_quantization),
        Rule("a window of fewer than 2^23 pixels, fewer than 2^15 with int16", _sums_fit),
        Rule("a window that fits into the input, or SAME padding", lambda op: _window(op).fits),
        Rule(
            "int8 and no zeros around the input where halves are rounded up",
            lambda op: not op.attributes.rounds_up or (op.outputs[0].dtype is DType.INT8 and not op.attributes.zeros),
        ),
        Rule(
            "explicit padding where zeros are padded", lambda op: not (op.attributes.zeros and op.attributes.steps.same)
        ),
        has_inferred_shape(infer),
    )


RULES = _rules(DType.INT8, DType.INT16, DType.FLOAT32)
L2_RULES = (*_rules(DType.FLOAT32), Rule("padding that is left out of the result", lambda op: not op.attributes.zeros))

POOL = Traits(row_wise=first_axis, by_rows=True, window=Sliding.POOL, channelwise=True, clamped=True)

OPERATORS = (
    *(
        OperatorSpec(name, parse, (1, 1), 1, RULES, infer, _kernel(kind), value_range=_value_range, traits=traits)
        for name, kind, traits in (
            ("AVERAGE_POOL_2D", "average", replace(POOL, sums=_sums)),
            ("MAX_POOL_2D", "max", replace(POOL, neutral=-math.inf)),
        )
    ),
    OperatorSpec("L2_POOL_2D", parse, (1, 1), 1, L2_RULES, infer, _kernel("l2"), traits=Traits(row_wise=first_axis)),
)


KERNEL = KernelDeclaration(
    "pool2d.h",
    "portable",
    costs={"average_pool2d_s8": depthwise_cost("average_pool2d", "pixel output row_output tap_output border")},
)
