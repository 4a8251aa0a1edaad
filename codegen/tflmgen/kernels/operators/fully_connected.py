"""FULLY_CONNECTED: a matrix of weights times each row of the input, int8, int16 or float32 by int8, and float32."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import (
    Cost,
    Input,
    Kernel,
    KernelChoice,
    Operand,
    OperatorInstance,
    Output,
    Overlap,
    Params,
    Target,
)
from tflmgen.kernels.choice import choose_fastest, fast_kernels, on_fpu
from tflmgen.kernels.costs.cost_model import matrix_cost
from tflmgen.kernels.declaration import KernelDeclaration
from tflmgen.kernels.numeric.int8_layer import layer_of
from tflmgen.kernels.numeric.int16_layer import int16_layer
from tflmgen.kernels.numeric.matrix_overlap import overlap_distance
from tflmgen.kernels.numeric.packed import packed_kernel, stays_packed
from tflmgen.kernels.numeric.quantize_math import FLOAT_MAX, Activation, fused_activation
from tflmgen.kernels.numeric.rows_f32 import last_rows
from tflmgen.kernels.operators.hybrid import blocks_kernel, hybrid_kernel, packed_blocks_kernel, takes_packed_blocks
from tflmgen.kernels.ranges.range_weighted import range_of_sums
from tflmgen.kernels.requests import FloatMatrixProduct, Int16MatrixProduct, MatrixProduct
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, Shape
from tflmgen.kernels.specification.option_fields import present
from tflmgen.kernels.specification.rules import input_shape, input_type, zero_point
from tflmgen.kernels.specification.weights import (
    TYPE_RULES,
    ZERO_POINT_RULE,
    bias_operand,
    bias_size_rule,
    channel_scales,
    filter_operand,
    filter_quantization,
    float_rows,
    input_offset,
    is_by_blocks,
    is_hybrid,
    is_int16,
    is_quantized,
    multiplier_operands,
    output_fields,
    overlaps,
    params,
    quantization_rules,
    range_fields,
    sum_suffix,
)
from tflmgen.kernels.specification.window import Fields
from tflmgen.kernels.traits import Roles, Traits, any_axis

UNITS = 0
"""The filter's dimension of output channels."""

HEADER = "fully_connected.h"


@dataclass(frozen=True, slots=True)
class FullyConnectedAttributes:
    """Fused activation, whether leading dimensions stay, and how a hybrid kernel quantises its input."""

    activation: Activation
    keep_dims: bool
    asymmetric: bool


def parse(options: Options | None) -> FullyConnectedAttributes:
    """Raises ValueError for weights in the shuffled format."""
    options = present(options)
    if int(options.get("weights_format", 0)) != 0:
        raise ValueError("the weights are shuffled (weights_format 1), which only one optimised runtime can read")
    activation = fused_activation(options)
    asymmetric = bool(options.get("asymmetric_quantize_inputs", False))
    return FullyConnectedAttributes(activation, bool(options.get("keep_num_dims", False)), asymmetric)


def infer(op: OperatorInstance) -> tuple[Shape]:
    """[..., depth] by weights [units, depth] to [batches, units], or [..., units] with keep_num_dims."""
    units, depth = input_shape(op, 1)
    if op.attributes.keep_dims:
        return ((*input_type(op, 0).shape[:-1], units),)
    return ((input_type(op, 0).elements // depth, units),)


def kernel(op: OperatorInstance, target: Target) -> Kernel | KernelChoice:
    """The fastest kernel that supports the layer, or the one that unpacks int4 weights at run time."""
    if stays_packed(op, target):
        return _packed_kernel(op)
    if takes_packed_blocks(op, target):
        batches = op.outputs[0].elements // input_shape(op, 1)[UNITS]
        macs = op.outputs[0].elements * input_shape(op, 1)[1]
        return on_fpu(packed_blocks_kernel(op, op.attributes.activation, batches, macs, _sizes(op)), target)
    return choose_fastest([*_fast_kernels(op, target), on_fpu(portable_kernel(op), target)], target)


def _packed_kernel(op: OperatorInstance) -> Kernel:
    sizes = _sizes(op)
    batches, depth, units = (size for _, size in sizes)
    # Each unit reads every row, so that of several rows none may be written before the last is read.
    input_overlaps = overlaps(op.outputs[0], overlap_distance(1, depth, units)) if batches == 1 else ()
    struct = "tflmgen_fully_connected_channels_s8"
    return packed_kernel("tflmgen_fully_connected_s4", struct, op, op.attributes.activation, sizes, input_overlaps)


def _sizes(op: OperatorInstance) -> tuple[tuple[str, int], ...]:
    units, depth = input_shape(op, 1)
    return ("batches", op.outputs[0].elements // units), ("depth", depth), ("units", units)


def _fast_kernels(op: OperatorInstance, target: Target) -> list[Kernel]:
    """The kernels for the target's instructions that are exact for this layer."""
    weights = op.constants[1]
    if real := float_rows(op):
        batches = op.outputs[0].elements // len(real[0])
        return fast_kernels(FloatMatrixProduct(op, target, *real, op.attributes.activation, batches))
    if not is_quantized(op) or weights is None or zero_point(input_type(op, 1)):
        return []
    units = len(weights)
    rows, scales = np.asarray(weights, dtype=np.int64), channel_scales(op, units)
    batches = op.outputs[0].elements // units
    if is_int16(op):
        wide = int16_layer(op, rows, scales)
        return fast_kernels(Int16MatrixProduct(op, target, wide, op.attributes.activation, batches)) if wide else []
    layer = layer_of(op, rows, scales, op.attributes.activation)
    return fast_kernels(MatrixProduct(op, target, layer, batches)) if layer else []


def _costed(
    family: str, operands: tuple[Operand, ...], fields: Params, input_overlaps: tuple[Overlap, ...], macs: int
) -> Kernel:
    return Kernel(f"tflmgen_{family}", HEADER, operands, fields, input_overlaps, Cost(macs, family))


def portable_kernel(op: OperatorInstance) -> Kernel:
    """The C99 kernel for the types of this layer."""
    sizes = _sizes(op)
    batches, depth, units = (size for _, size in sizes)
    macs = op.outputs[0].elements * depth
    last = last_rows(units) if op.outputs[0].dtype is DType.FLOAT32 else 1
    input_overlaps = overlaps(op.outputs[0], overlap_distance(batches, depth, units, last))
    results = output_fields(op, op.attributes.activation)
    if is_by_blocks(op):
        return blocks_kernel(op, op.attributes.activation, batches, macs, sizes)
    if is_hybrid(op):
        flags = (("asymmetric", op.attributes.asymmetric),)
        return hybrid_kernel("fully_connected", op, op.attributes.activation, batches, macs, sizes, flags)
    weights, bias = filter_operand(op), bias_operand(op, UNITS)
    operands = (Input(0), weights, bias, Output(0))
    if op.outputs[0].dtype is DType.FLOAT32:
        fields = params("tflmgen_fully_connected_f32", sizes, results)
        cost = Cost(macs, "fully_connected_f32", (("rectified", op.attributes.activation.bounds[0] > -FLOAT_MAX),))
        return Kernel("tflmgen_fully_connected_f32", HEADER, operands, fields, input_overlaps, cost)
    if op.outputs[0].dtype is DType.INT16:
        fields = params("tflmgen_fully_connected_s16", sizes, range_fields(op, op.attributes.activation))
        function = f"tflmgen_fully_connected_s16_{sum_suffix(op)}"
        per_unit = (Input(0), weights, bias, *multiplier_operands(op, units), Output(0))
        return Kernel(function, "fully_connected_s16.h", per_unit, fields, input_overlaps, Cost(macs))
    offset: Fields = (("input_offset", input_offset(op)),)
    if filter_quantization(op).per_channel:
        per_unit = (Input(0), weights, bias, *multiplier_operands(op, units), Output(0))
        fields = params("tflmgen_fully_connected_channels_s8", sizes, offset, results)
        return _costed("fully_connected_channels_s8", per_unit, fields, input_overlaps, macs)
    ((multiplier, shift),) = channel_scales(op, 1)
    row_offset = -depth * zero_point(input_type(op, 0))
    offset += (("filter_offset", -zero_point(input_type(op, 1))), ("row_offset", row_offset))
    fields = params(
        "tflmgen_fully_connected_s8", sizes, offset, (("multiplier", multiplier), ("shift", shift)), results
    )
    return _costed("fully_connected_s8", operands, fields, input_overlaps, macs)


def _shape_fits(op: OperatorInstance) -> bool:
    """Old converters store another rank than keep_num_dims asks for; the rows and their order are the same."""
    (expected,) = infer(op)
    output = op.outputs[0]
    shape, elements = output.max_shape, replace(output, shape=expected).elements
    return bool(shape) and shape[-1] == expected[-1] and output.elements == elements


RULES = (
    *TYPE_RULES,
    Rule("a filter of 2 dimensions: output channels and depth", lambda op: len(input_type(op, 1).shape) == 2),
    Rule(
        "an input that is made of rows as long as the filter's",
        lambda op: input_type(op, 0).elements % max(1, input_shape(op, 1)[1]) == 0,
    ),
    Rule(
        "with keep_num_dims, an input whose last dimension is as long as the filter's rows",
        lambda op: not op.attributes.keep_dims or input_type(op, 0).shape[-1:] == input_type(op, 1).shape[1:],
    ),
    bias_size_rule(UNITS),
    ZERO_POINT_RULE,
    *quantization_rules(UNITS, symmetric=False, by_blocks=True),
    Rule("an output with one row for each row of the input, and one column per output channel", _shape_fits),
)

TRAITS = Traits(
    roles=Roles(weights=1, bias=2, scale_axis=UNITS),
    row_wise=any_axis,
    reshapes_rows=True,
    channel_axis=UNITS,
    depth_axis=1,
    clamped=True,
)

OPERATORS = (
    OperatorSpec(
        "FULLY_CONNECTED", parse, (2, 3), 1, RULES, infer, kernel, value_range=range_of_sums(TRAITS), traits=TRAITS
    ),
)


KERNEL = KernelDeclaration(
    "fully_connected.h",
    "portable",
    costs={
        "fully_connected_s8": matrix_cost("fully_connected portable, common scale", "row unit mac"),
        "fully_connected_channels_s8": matrix_cost("fully_connected portable", "row unit mac"),
        "fully_connected_f32": matrix_cost(
            "fully_connected float32", "row unit mac lone rest_mac left_value rectified", 1, 4, 8
        ),
    },
)
