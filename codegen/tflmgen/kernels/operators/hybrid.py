"""Layers of float32 by int8 weights: each row of the input is quantised at run time, before it is multiplied.

Converters emit them where only weights are quantised (dynamic range quantisation).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Operand, OperatorInstance, Output, Scratch, Target
from tflmgen.kernels.numeric.quantize_math import Activation
from tflmgen.kernels.specification.rules import input_type
from tflmgen.kernels.specification.weights import (
    bias_operand,
    filter_operand,
    filter_quantization,
    output_fields,
    overlaps,
    params,
)
from tflmgen.kernels.specification.window import Fields

_WORD = 8
"""int4 weights that are multiplied by one word's instructions."""


def hybrid_kernel(
    layer: str, op: OperatorInstance, activation: Activation, rows: int, macs: int, *groups: Fields
) -> Kernel:
    """The call of `tflmgen_LAYER_hybrid`, which quantises `rows` equal parts of the input, one after the other.

    groups: the params fields before those that all such kernels have.
    """
    quantization = filter_quantization(op)
    fields = (*groups, (("per_channel", quantization.per_channel),), output_fields(op, activation))
    return _row_by_row(f"{layer}_hybrid", op, quantization.scales, rows, macs, fields)


def blocks_kernel(op: OperatorInstance, activation: Activation, rows: int, macs: int, sizes: Fields) -> Kernel:
    """The call of `tflmgen_fully_connected_blocks`, whose weights have a scale for each block of a row."""
    blocks = input_type(op, 1).blocks
    assert blocks is not None
    fields = (sizes, (("block_size", blocks.size),), output_fields(op, activation))
    return _row_by_row("fully_connected_blocks", op, blocks.scales, rows, macs, fields)


def takes_packed_blocks(op: OperatorInstance, target: Target) -> bool:
    """Whether int4 weights by blocks stay two to a byte: with MVE, unpacking takes longer than multiplying."""
    weights = input_type(op, 1)
    packs = weights.dtype is DType.INT4 and weights.blocks is not None and weights.blocks.size % _WORD == 0
    return packs and ("mve" not in target.features or target.optimize == "size")


def packed_blocks_kernel(op: OperatorInstance, activation: Activation, rows: int, macs: int, sizes: Fields) -> Kernel:
    """The call of `tflmgen_fully_connected_blocks_s4`, which multiplies by int4 weights as the file has them."""
    blocks = input_type(op, 1).blocks
    assert blocks is not None
    depth = input_type(op, 0).elements // rows
    scratch = Scratch(depth // blocks.size * 4 + 3 * depth)
    fields = (sizes, (("block_size", blocks.size),), output_fields(op, activation))
    return _row_by_row("fully_connected_blocks_s4", op, blocks.scales, rows, macs, fields, Input(1), scratch)


def _row_by_row(
    layer: str,
    op: OperatorInstance,
    scales: Sequence[float],
    rows: int,
    macs: int,
    fields: Sequence[Fields],
    weights: Operand | None = None,
    scratch: Scratch | None = None,
) -> Kernel:
    source, output = input_type(op, 0), op.outputs[0]
    factors = ConstantArray.of("scales", np.array(scales), DType.FLOAT32)
    # A row's outputs are written when the row is read, before the next one is.
    distance = max(0, (rows - 1) * (output.elements - source.elements) // rows)
    return Kernel(
        f"tflmgen_{layer}",
        f"{layer}.h",
        (
            Input(0),
            weights or filter_operand(op),
            factors,
            bias_operand(op, 0),
            Output(0),
            scratch or Scratch(source.elements // rows),
        ),
        params(f"tflmgen_{layer}", *fields),
        overlaps(output, distance),
        Cost(macs),
    )
