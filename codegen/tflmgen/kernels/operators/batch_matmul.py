"""BATCH_MATMUL: products of matrices that the last two dimensions hold, int8, int16 and float32.

The right ones may be int8 beside int16, and beside float32, whose rows are then quantised at run time. Right
ones in int8 may have a scale per column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    Params,
    ParamValue,
    Scratch,
    Target,
)
from tflmgen.kernels.choice import choose_fastest, fast_kernels
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.quantize_math import MAX_SHIFT, is_representable, quantize_multiplier
from tflmgen.kernels.numeric.strides import broadcast_shape, collapse, strides_of
from tflmgen.kernels.numeric.turned_product import turned
from tflmgen.kernels.requests import BatchProduct
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, Shape
from tflmgen.kernels.specification.option_fields import present
from tflmgen.kernels.specification.rules import (
    COMMON,
    has_inferred_shape,
    input_shape,
    input_type,
    per_tensor,
    scale,
    static_shape,
    tensors,
    where_computed,
    zero_point,
)
from tflmgen.kernels.specification.weights import MAX_SHIFT_S64, channel_operands
from tflmgen.kernels.traits import BY_AXIS

HEADER = "batch_matmul.h"
MAX_DEPTH_S8 = (2**31 - 1) // 255**2
"""Products of two int8 values less their zero points that 32 bits hold."""

FLOAT_COLUMNS = header_constant("rows_f32.h", "TFLMGEN_ROWS_F32")
"""Columns of float32 that are computed at a time."""

Axes = tuple[int, ...]

PERMUTATIONS = ("left_axes", "right_axes", "output_axes")
"""Keys of Options that are no fields of the schema: attributes that only passes set."""


@dataclass(frozen=True, slots=True)
class BatchMatmulAttributes:
    """left_axes, right_axes, output_axes: permutations of the dimensions of operands before, and of the product after
    the multiplication, as TRANSPOSEs leave them that a pass has made part of the operator; empty for none.
    """

    adjoint_left: bool
    adjoint_right: bool
    asymmetric: bool
    left_axes: Axes = ()
    right_axes: Axes = ()
    output_axes: Axes = ()


def parse(options: Options | None) -> BatchMatmulAttributes:
    """Attributes of BATCH_MATMUL: which operands are transposed, and the permutations that a pass has fused."""
    options = present(options)
    asymmetric = bool(options.get("asymmetric_quantize_inputs", False))
    axes = (tuple(options.get(key, ())) for key in PERMUTATIONS)
    adjoint = bool(options.get("adj_x", False)), bool(options.get("adj_y", False))
    return BatchMatmulAttributes(*adjoint, asymmetric, *axes)


@dataclass(frozen=True, slots=True)
class Matrices:
    """An operand as the product sees it: batch, rows and columns, and the strides of each."""

    batch: tuple[int, ...]
    batch_strides: tuple[int, ...]
    rows: int
    columns: int
    row_stride: int
    column_stride: int


def _matrices(shape: tuple[int, ...], axes: Axes, adjoint: bool) -> Matrices:
    strides = strides_of(shape)
    if axes:
        shape, strides = tuple(shape[a] for a in axes), tuple(strides[a] for a in axes)
    (*batch, rows, columns), (*batch_strides, row_stride, column_stride) = shape, strides
    if adjoint:
        rows, columns, row_stride, column_stride = columns, rows, column_stride, row_stride
    return Matrices(tuple(batch), tuple(batch_strides), rows, columns, row_stride, column_stride)


def left_of(op: OperatorInstance) -> Matrices:
    """The left operand [..., rows, depth], permuted and transposed as the attributes say."""
    return _matrices(input_shape(op), op.attributes.left_axes, op.attributes.adjoint_left)


def right_of(op: OperatorInstance) -> Matrices:
    """The right operand [..., depth, columns], permuted and transposed as the attributes say."""
    return _matrices(input_shape(op, 1), op.attributes.right_axes, op.attributes.adjoint_right)


def _product_of(op: OperatorInstance) -> Matrices:
    """The output with the dimensions in the order in which the operands have them."""
    axes = op.attributes.output_axes
    return _matrices(static_shape(op.outputs[0]), tuple(axes.index(a) for a in range(len(axes))), False)


def infer(op: OperatorInstance) -> tuple[Shape | None]:
    """[batch..., rows, columns], permuted; batches broadcast, None where they do not."""
    left, right = left_of(op), right_of(op)
    batch = broadcast_shape(left.batch, right.batch)
    if batch is None:
        return (None,)
    shape = (*batch, left.rows, right.columns)
    return (tuple(shape[a] for a in op.attributes.output_axes) or shape,)


def _batch_strides(operand: Matrices, batch: tuple[int, ...]) -> tuple[int, ...]:
    """Strides along every dimension of the whole batch: 0 where the operand is repeated."""
    own = tuple(0 if d == 1 else s for d, s in zip(operand.batch, operand.batch_strides, strict=True))
    return (0,) * (len(batch) - len(own)) + own


def _three(values: tuple[int, ...], fill: int) -> tuple[int, ...]:
    return (fill,) * (3 - len(values)) + values


def real_multipliers(op: OperatorInstance) -> list[float]:
    """Factors from accumulators to outputs: one, or one per column of the right operand."""
    quantization = input_type(op, 1).quantization
    scales = quantization.scales if quantization else ()
    return [scale(input_type(op, 0)) * right / scale(op.outputs[0]) for right in scales]


def kernel(op: OperatorInstance, target: Target) -> Kernel | KernelChoice:
    """The fastest kernel of int8, which may use the instruction set; of other types the portable one."""
    portable = portable_kernel(op)
    if portable.function != "tflmgen_batch_matmul_s8":
        return portable
    return choose_fastest([*fast_kernels(BatchProduct(op, target, portable)), portable], target)


def portable_kernel(op: OperatorInstance) -> Kernel:
    """The C99 kernel, with batch dimensions collapsed to three at most."""
    left, right, product, output = left_of(op), right_of(op), _product_of(op), op.outputs[0]
    batch = product.batch
    nest = collapse(batch, *(_batch_strides(matrices, batch) for matrices in (left, right, product)))
    fields: tuple[tuple[str, ParamValue], ...] = (
        ("batches", _three(nest.extents, 1)),
        ("left_batch_strides", _three(nest.strides[0], 0)),
        ("right_batch_strides", _three(nest.strides[1], 0)),
        ("rows", left.rows),
        ("columns", right.columns),
        ("depth", left.columns),
        ("left_row_stride", left.row_stride),
        ("left_depth_stride", left.column_stride),
        ("right_depth_stride", right.row_stride),
        ("right_column_stride", right.column_stride),
    )
    macs = output.elements * left.columns
    if _is_hybrid(op):
        return _hybrid_kernel(op, left, fields, macs)
    fields += (
        ("output_batch_strides", _three(nest.strides[2], 0)),
        ("output_row_stride", product.row_stride),
        ("output_column_stride", product.column_stride),
    )
    if output.dtype is DType.FLOAT32:
        return _float_kernel(fields, macs)
    pairs = [quantize_multiplier(factor) for factor in real_multipliers(op)]
    requantize: tuple[tuple[str, ParamValue], ...] = (("multiplier", pairs[0][0]), ("shift", pairs[0][1]))
    if output.dtype is DType.INT8:
        function = struct = "tflmgen_batch_matmul_s8"
        points = (
            ("left_zero_point", zero_point(input_type(op, 0))),
            ("right_zero_point", zero_point(input_type(op, 1))),
        )
        fields += (*points, *requantize, ("output_zero_point", zero_point(output)))
    else:
        function = struct = "tflmgen_batch_matmul_s16"
        if input_type(op, 1).dtype is DType.INT8:
            function = "tflmgen_batch_matmul_s16_s8"
        fields += requantize
    if len(pairs) == 1:
        return Kernel(function, HEADER, (Input(0), Input(1), Output(0)), Params(struct, fields), cost=Cost(macs))
    operands = (Input(0), Input(1), *channel_operands(pairs), Output(0))
    return Kernel(f"{function}_per_column", HEADER, operands, Params(struct, fields), cost=Cost(macs))


def _float_kernel(fields: tuple[tuple[str, ParamValue], ...], macs: int) -> Kernel:
    """With the rows and columns that batch_matmul_f32.h is faster with: rows of one piece, by at least four columns
    whose products lie side by side."""
    operands, params = (Input(0), Input(1), Output(0)), Params("tflmgen_batch_matmul_f32", fields)
    product = Kernel("tflmgen_batch_matmul_f32", "batch_matmul_f32.h", operands, params, cost=Cost(macs))

    def lacks(kernel: Kernel) -> tuple[bool, bool, bool]:
        assert kernel.params is not None
        n = {name: value for name, value in kernel.params.fields if isinstance(value, int)}
        return n["left_depth_stride"] != 1, n["columns"] < FLOAT_COLUMNS, n["output_column_stride"] != 1

    return min((product, turned(product)), key=lacks)


def _hybrid_kernel(
    op: OperatorInstance, left: Matrices, fields: tuple[tuple[str, ParamValue], ...], macs: int
) -> Kernel:
    quantization = input_type(op, 1).quantization
    assert quantization is not None
    function = "tflmgen_batch_matmul_hybrid"
    scales = ConstantArray.of("scales", np.array(quantization.scales), DType.FLOAT32)
    gathered: Operand = Scratch(left.columns * 4) if left.column_stride != 1 else Null()
    operands = (Input(0), Input(1), scales, Output(0), Scratch(left.columns, 1), gathered)
    flags = (("asymmetric", op.attributes.asymmetric), ("per_channel", quantization.per_channel))
    return Kernel(function, "batch_matmul_hybrid.h", operands, Params(function, (*fields, *flags)), cost=Cost(macs))


def _is_hybrid(op: OperatorInstance) -> bool:
    return op.outputs[0].dtype is DType.FLOAT32 and input_type(op, 1).dtype is DType.INT8


def _types_fit(op: OperatorInstance) -> bool:
    dtype, weights = input_type(op, 0).dtype, input_type(op, 1).dtype
    if dtype not in (DType.INT8, DType.INT16, DType.FLOAT32) or op.outputs[0].dtype is not dtype:
        return False
    return weights in (dtype, DType.INT8)


def _centred_by_columns(op: OperatorInstance) -> bool:
    """One scale, or one per column of the right matrices, and no zero point; nothing but the left ones is permuted."""
    weights = input_type(op, 1)
    quantization = weights.quantization
    if quantization is None or any(quantization.zero_points) or op.attributes.right_axes or op.attributes.output_axes:
        return False
    columns = len(weights.shape) - (2 if op.attributes.adjoint_right else 1)
    on_columns = quantization.axis == columns and len(quantization.scales) == right_of(op).columns
    return not quantization.per_channel or on_columns


def _scales_fit(op: OperatorInstance) -> bool:
    """Whether quantised tensors have one scale each, or the right matrices are `_centred_by_columns`."""
    right = input_type(op, 1)
    if right.dtype is DType.FLOAT32:
        return True
    if _is_hybrid(op) or (right.dtype is DType.INT8 and right.quantization and right.quantization.per_channel):
        others = () if _is_hybrid(op) else (input_type(op, 0), op.outputs[0])
        return _centred_by_columns(op) and all(map(per_tensor, others))
    return all(map(per_tensor, tensors(op)))


def _multipliers_fit(op: OperatorInstance) -> bool:
    limit = MAX_SHIFT if op.outputs[0].dtype is DType.INT8 else MAX_SHIFT_S64
    factors = () if op.outputs[0].dtype is DType.FLOAT32 else real_multipliers(op)
    return all(is_representable(f) and quantize_multiplier(f)[1] <= limit for f in factors)


RULES = (
    *COMMON,
    Rule(
        "inputs and outputs that are all int8, int16 or float32; int8 right matrices also with int16 or float32",
        _types_fit,
    ),
    Rule(
        "inputs of 2 to 5 dimensions",
        lambda op: all(2 <= len(t.shape) <= 5 for t in (input_type(op, 0), input_type(op, 1))),
    ),
    where_computed("dimensions other than 0", lambda op: all(t.elements > 0 for t in tensors(op))),
    Rule(
        "left matrices with as many columns as the right matrices have rows",
        lambda op: left_of(op).columns == right_of(op).rows,
    ),
    # LiteRT takes scales per column for 0 where nothing is float32: its products are all zero.
    Rule(
        "one scale for each int8 and int16 tensor; int8 right matrices may have one per column, "
        "and need zero point 0 then and with float32",
        _scales_fit,
    ),
    Rule(
        "a product of the input scales of less than 2^30 output scales with int8, less than 2^7 with int16",
        _multipliers_fit,
    ),
    Rule(
        f"int8 matrices with a shared dimension of at most {MAX_DEPTH_S8}",
        lambda op: input_type(op, 1).dtype is not DType.INT8 or left_of(op).columns <= MAX_DEPTH_S8,
    ),
    Rule(
        "zero point 0 for int16 tensors, and int16 matrices with a shared dimension of less than 2^16",
        lambda op: (
            op.outputs[0].dtype is not DType.INT16
            or (all(zero_point(t) == 0 for t in tensors(op)) and left_of(op).columns < 2**16)
        ),
    ),
    has_inferred_shape(infer, "inputs"),
)

OPERATORS = (
    OperatorSpec(
        "BATCH_MATMUL", parse, (2, 2), 1, RULES, infer, kernel, traits=replace(BY_AXIS, neutral=0, products=True)
    ),
)
