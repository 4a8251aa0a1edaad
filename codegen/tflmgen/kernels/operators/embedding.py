"""EMBEDDING_LOOKUP: rows of a table, as they are, or of int8 and int4 as float32."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Params, Target
from tflmgen.kernels.operators.copying import MOVABLE
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, Shape, no_attributes
from tflmgen.kernels.specification.rules import COMMON, QUANTIZED, input_is, input_shape, input_type, same_quantization
from tflmgen.kernels.specification.weights import filter_operand, has_int8_filter
from tflmgen.kernels.traits import BY_AXIS, Roles

INDICES, TABLE = 0, 1
"""The operator's inputs."""


def infer(op: OperatorInstance) -> tuple[Shape]:
    """[indices...] and a table [rows, row...] to [indices..., row...]."""
    return (input_type(op, INDICES).shape + input_type(op, TABLE).shape[1:],)


def kernel(op: OperatorInstance, target: Target) -> Kernel:
    """The C99 kernel that copies rows, or the one that makes float32 of them."""
    del target
    rows, *row = input_shape(op, TABLE)
    indices = input_type(op, INDICES).elements
    if _is_dequantized(op):
        quantization = input_type(op, TABLE).quantization
        assert quantization is not None
        function = "tflmgen_embedding_dequantized"
        scales = ConstantArray.of("scales", np.array(quantization.scales), DType.FLOAT32)
        sizes = (("indices", indices), ("rows", rows), ("columns", math.prod(row)))
        params = Params(function, (*sizes, ("per_row", quantization.per_channel)))
        return Kernel(function, "embedding.h", (filter_operand(op), scales, Input(INDICES), Output(0)), params)
    block = ("block_bytes", math.prod(row) * input_type(op, TABLE).dtype.bits // 8)
    fields = (("batches", 1), ("outer", 1), ("axis", rows), ("indices", indices), block)
    operands = (Input(TABLE), Input(INDICES), Output(0))
    return Kernel("tflmgen_gather_s32", "gather.h", operands, Params("tflmgen_gather", fields))


def _is_dequantized(op: OperatorInstance) -> bool:
    return has_int8_filter(op) and op.outputs[0].dtype is DType.FLOAT32


def _types_fit(op: OperatorInstance) -> bool:
    table, output = input_type(op, TABLE), op.outputs[0]
    if _is_dequantized(op):
        return True
    same = table.dtype in MOVABLE and output.dtype is table.dtype
    return same and (output.dtype not in QUANTIZED or same_quantization(output, table))


def _scales_fit(op: OperatorInstance) -> bool:
    quantization = input_type(op, TABLE).quantization
    if quantization is None or any(quantization.zero_points):
        return False
    return not quantization.per_channel or quantization.axis == 0


def _in_range(op: OperatorInstance) -> bool:
    indices = op.constants[INDICES]
    return indices is None or all(0 <= int(i) < input_shape(op, TABLE)[0] for i in indices.reshape(-1))


RULES = (
    *COMMON,
    Rule(
        "an output with the table's type, scale and zero point, or a float32 output with an int8 or int4 table",
        _types_fit,
    ),
    Rule(
        "an int4 table to be constant",
        lambda op: input_type(op, TABLE).dtype is not DType.INT4 or op.constants[TABLE] is not None,
    ),
    input_is(INDICES, "index tensor", DType.INT32),
    Rule("indices in a vector", lambda op: len(input_type(op, INDICES).shape) == 1),
    Rule(
        "a table of at least one row",
        lambda op: len(input_type(op, TABLE).shape) >= 2 and input_shape(op, TABLE)[0] > 0,
    ),
    Rule(
        "one scale, or one per row, and zero point 0 for a table that is dequantised to float32",
        lambda op: not _is_dequantized(op) or _scales_fit(op),
    ),
    Rule("constant indices within the range of their dimension", _in_range),
)

OPERATORS = (
    OperatorSpec(
        "EMBEDDING_LOOKUP",
        no_attributes,
        (2, 2),
        1,
        RULES,
        infer,
        kernel,
        traits=replace(BY_AXIS, roles=Roles(table=TABLE)),
    ),
)
