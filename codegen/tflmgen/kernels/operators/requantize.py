"""REQUANTIZE: a QUANTIZE of a DEQUANTIZE, from int8 to int8, by a table of 256 results where that pays.

Not an operator of TFLite: a pass makes it of the two, which go through floats. Its results are theirs bit for bit,
which those of an integer requantisation (QUANTIZE of int8) need not be.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tflmgen.ir import DType, TensorType
from tflmgen.ir.kernel import Input, Kernel, KernelChoice, OperatorInstance, Output, Params, Target
from tflmgen.kernels.folding.fold_elements import Array, dequantize, quantize
from tflmgen.kernels.operators.lookup import lookup_kernel, table_operand
from tflmgen.kernels.operators.quantize_dequantize import same_shape, unary_overlaps
from tflmgen.kernels.specification.operator import OperatorSpec, no_attributes
from tflmgen.kernels.specification.rules import COMMON, QUANTIZED_PER_TENSOR, input_type, one_type, scale, zero_point
from tflmgen.kernels.traits import UNARY, NumberConversion


def requantized(op: OperatorInstance, values: Array) -> Array:
    """QUANTIZE(DEQUANTIZE(values)) of int8 or int16 values, as one dimension."""
    shape = (values.size,)
    source, target = replace(input_type(op, 0), shape=shape), replace(op.outputs[0], shape=shape)
    middle = TensorType(DType.FLOAT32, shape)
    for fold, before, after in ((dequantize, source, middle), (quantize, middle, target)):
        results = fold(OperatorInstance((before,), (after,), (values,), None))
        assert results is not None
        values = results[0]
    return values


def _kernel(op: OperatorInstance, target: Target) -> Kernel | KernelChoice:
    source, result = input_type(op, 0), op.outputs[0]
    if source.elements >= _least_elements(target):
        table = table_operand(requantized(op, np.arange(-128, 128, dtype=np.int8)))
        return lookup_kernel(op, table, target)
    fields = (
        ("elements", source.elements),
        ("input_scale", scale(source)),
        ("input_zero_point", zero_point(source)),
        ("scale", scale(result)),
        ("zero_point", zero_point(result)),
    )
    params = Params("tflmgen_requantize_float", fields)
    return Kernel(
        "tflmgen_requantize_float_s8", "requantize_float.h", (Input(0), Output(0)), params, unary_overlaps(op)
    )


def _least_elements(target: Target) -> int:
    """Smallest number of elements for which a lookup table, which takes 256 bytes of flash, replaces arithmetic."""
    if target.optimize == "size":
        return 256
    return 64 if "fpu" in target.features else 16


def _fold(op: OperatorInstance) -> list[Array] | None:
    known = op.constants[0]
    return None if known is None else [requantized(op, np.ravel(known)).reshape(op.outputs[0].max_shape)]


OPERATORS = (
    OperatorSpec(
        "REQUANTIZE",
        no_attributes,
        (1, 1),
        1,
        (*COMMON, one_type(DType.INT8), QUANTIZED_PER_TENSOR),
        same_shape,
        _kernel,
        fold=_fold,
        traits=replace(UNARY, converts=NumberConversion.REQUANTIZES, by_rows=True, channelwise=True, tabulable=True),
    ),
)
