"""SVDF: a dense layer through time of low rank, float32, float32 by int8 weights, and int8 with a state of
int8 or int16.

Inputs: 0 input [batch, channels], 1 weights [filters, channels], 2 weights through time [filters, memory], 3 bias
[units], 4 state [batch, filters * memory]; each unit is the sum of `rank` filters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import (
    ConstantArray,
    Cost,
    Input,
    Kernel,
    KernelChoice,
    Null,
    Operand,
    OperatorInstance,
    Output,
    Overlap,
    Scratch,
    Target,
)
from tflmgen.kernels.choice import choose_fastest, fast_kernels, on_fpu
from tflmgen.kernels.costs.cost_model import svdf_cost
from tflmgen.kernels.declaration import KernelDeclaration
from tflmgen.kernels.numeric.quantize_math import Activation, fused_activation, is_representable, quantize_multiplier
from tflmgen.kernels.operators.svdf_numbers import BIAS, STATE, integer_params, offsets, products, size_fields
from tflmgen.kernels.requests import Svdf
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, Shape
from tflmgen.kernels.specification.option_fields import positive, present
from tflmgen.kernels.specification.rules import STATIC, input_shape, input_type, per_tensor, scale, zero_point
from tflmgen.kernels.specification.weights import params

HEADER = "svdf.h"


@dataclass(frozen=True, slots=True)
class SvdfAttributes:
    """`rank` filters make one unit; how a hybrid kernel quantises its input."""

    rank: int
    activation: Activation
    asymmetric: bool


def parse(options: Options | None) -> SvdfAttributes:
    """Raises ValueError for a rank below 1."""
    options = present(options)
    activation = fused_activation(options)
    asymmetric = bool(options.get("asymmetric_quantize_inputs", False))
    return SvdfAttributes(positive(options, "rank"), activation, asymmetric)


def infer(op: OperatorInstance) -> tuple[Shape]:
    """[batches, inputs] to [batches, filters / rank]."""
    filters = input_shape(op, 1)[0]
    return ((input_type(op, 0).shape[0], filters // op.attributes.rank),)


def _factors(op: OperatorInstance) -> tuple[float, float]:
    """Factors from sums of products to the state's scale, and from sums over the state to the output's."""
    source, weights, time_weights, state = (scale(input_type(op, i)) for i in (0, 1, 2, STATE))
    return source * weights / state, state * time_weights / scale(op.outputs[0])


def kernel(op: OperatorInstance, target: Target) -> Kernel | KernelChoice:
    """The fastest int8 kernel of the instruction set, or the C99 kernel of the layer's types."""
    sizes = size_fields(op)
    macs = products(op)
    bias: Operand = Null() if op.inputs[BIAS] is None else Input(BIAS)
    rest = (Input(2), bias, Input(STATE), Output(0), Output(1))
    in_place = (Overlap(STATE, 1),)
    if op.outputs[0].dtype is DType.FLOAT32:
        least, greatest = op.attributes.activation.bounds
        limits = (("output_min", least), ("output_max", greatest))
        if input_type(op, 1).dtype is DType.INT8:
            quantization = (("asymmetric", op.attributes.asymmetric), ("scale", scale(input_type(op, 1))))
            fields = params("tflmgen_svdf_hybrid", sizes, limits, quantization)
            quantized = Scratch(input_shape(op)[1], 1)
            operands = (Input(0), Input(1), _real_time_weights(op), *rest[1:], quantized)
            return Kernel("tflmgen_svdf_hybrid", HEADER, operands, fields, in_place, Cost(macs))
        fields, cost = params("tflmgen_svdf_f32", sizes, limits), Cost(macs, "svdf_f32")
        kernel = Kernel("tflmgen_svdf_f32", HEADER, (Input(0), Input(1), *rest), fields, in_place, cost)
        return choose_fastest([on_fpu(kernel, target)], target)
    to_state, to_output = map(quantize_multiplier, _factors(op))
    if kernels := fast_kernels(Svdf(op, target, to_state, to_output)):
        return choose_fastest(kernels, target)
    folded = offsets(op)
    added: Operand = ConstantArray.of("offsets", folded, DType.INT32) if folded.any() else Null()
    function = "tflmgen_svdf_s8" if input_type(op, STATE).dtype is DType.INT8 else "tflmgen_svdf_s8_s16"
    fields = integer_params(op, to_state, to_output)
    return Kernel(function, HEADER, (Input(0), Input(1), added, *rest), fields, in_place, Cost(macs))


def _real_time_weights(op: OperatorInstance) -> ConstantArray:
    values = np.asarray(op.constants[2]).astype(np.float32) * np.float32(scale(input_type(op, 2)))
    return ConstantArray.of("time_weights", values, DType.FLOAT32)


def _types_fit(op: OperatorInstance) -> bool:
    source = input_type(op, 0).dtype
    if op.outputs[0].dtype is not source or source not in (DType.FLOAT32, DType.INT8):
        return False
    weights = input_type(op, 1).dtype
    if weights not in (source, DType.INT8):
        return False
    time_weights = input_type(op, 2).dtype
    if time_weights not in ((weights,) if source is DType.FLOAT32 else (DType.INT8, DType.INT16)):
        return False
    bias = None if op.inputs[BIAS] is None else input_type(op, BIAS).dtype
    bias_type, state_type = (source, source) if source is DType.FLOAT32 else (DType.INT32, time_weights)
    return bias in (None, bias_type) and input_type(op, STATE).dtype is state_type


def _shapes_fit(op: OperatorInstance) -> bool:
    batches, inputs = input_shape(op)
    filters, memory = input_shape(op, 2)
    units = filters // op.attributes.rank
    return (
        input_type(op, 1).shape == (filters, inputs)
        and input_type(op, STATE).elements == batches * filters * memory
        and (op.inputs[BIAS] is None or input_type(op, BIAS).shape == (units,))
    )


def _hybrid_weights_fit(op: OperatorInstance) -> bool:
    if op.outputs[0].dtype is not DType.FLOAT32 or input_type(op, 1).dtype is DType.FLOAT32:
        return True
    return all(per_tensor(input_type(op, i)) and zero_point(input_type(op, i)) == 0 for i in (1, 2))


def _where_int8(requirement: str, holds: Callable[[OperatorInstance], bool]) -> Rule:
    return Rule(requirement, lambda op: input_type(op, 0).dtype is not DType.INT8 or holds(op))


RULES = (
    Rule("5 inputs", lambda op: len(op.inputs) == 5),
    Rule("every input except the bias", lambda op: all(op.inputs[i] is not None for i in (0, 1, 2, STATE))),
    STATIC,
    Rule(
        "float32 tensors, where the feature and time weights may be int8; or an int8 input, "
        "feature weights and output, an int32 bias, and a state and time weights that are both "
        "int8 or both int16",
        _types_fit,
    ),
    Rule(
        "an input, feature weights and time weights of 2 dimensions, none of them 0",
        lambda op: all(len(input_type(op, i).shape) == 2 and input_type(op, i).elements > 0 for i in (0, 1, 2)),
    ),
    Rule(
        "a number of filters that is a multiple of the rank",
        lambda op: input_shape(op, 1)[0] % op.attributes.rank == 0,
    ),
    Rule("weights, a bias and a state of the shapes that follow from the input and the time weights", _shapes_fit),
    Rule("the weights to be constant", lambda op: op.constants[1] is not None and op.constants[2] is not None),
    Rule("one scale and zero point 0 for each tensor of int8 weights with float32 inputs", _hybrid_weights_fit),
    _where_int8(
        "one scale for each int8 and int16 tensor",
        lambda op: all(map(per_tensor, (*(input_type(op, i) for i in (0, 1, 2, STATE)), op.outputs[0]))),
    ),
    _where_int8(
        "zero point 0 for the weights",
        lambda op: not zero_point(input_type(op, 1)) and not zero_point(input_type(op, 2)),
    ),
    _where_int8("scales whose multipliers are less than 2^30", lambda op: all(map(is_representable, _factors(op)))),
    _where_int8("an int8 input of fewer than 2^16 channels", lambda op: input_shape(op)[1] < 2**16),
    _where_int8(
        "no activation with int8, or RELU with an output zero point of -128",
        lambda op: (
            op.attributes.activation is Activation.NONE
            or (op.attributes.activation is Activation.RELU and zero_point(op.outputs[0]) == -128)
        ),
    ),
)

OPERATORS = (OperatorSpec("SVDF", parse, (1, 5), 1, RULES, infer, kernel, updates=(STATE,)),)


KERNEL = KernelDeclaration(
    "svdf.h", "portable", costs={"svdf_f32": svdf_cost("svdf float32", "row unit filter step mac state", 1, 4, 8)}
)
