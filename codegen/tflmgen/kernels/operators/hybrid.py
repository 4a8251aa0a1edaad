"""Layers of float32 by int8 weights: each row of the input is quantised at run time, before it is multiplied.

Converters emit them where only weights are quantised (dynamic range quantisation).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tflmgen.ir import ConstantArray, Cost, DType, Input, Kernel, OperatorInstance, Output, Scratch
from tflmgen.kernels.numeric.quantize_math import Activation
from tflmgen.kernels.numeric.weights import (
    bias_operand,
    filter_operand,
    filter_quantization,
    output_fields,
    overlaps,
    params,
)
from tflmgen.kernels.numeric.window import Fields
from tflmgen.kernels.rules import input_type


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


def _row_by_row(
    layer: str, op: OperatorInstance, scales: Sequence[float], rows: int, macs: int, fields: Sequence[Fields]
) -> Kernel:
    source, output = input_type(op, 0), op.outputs[0]
    factors = ConstantArray.of("scales", np.array(scales), DType.FLOAT32)
    # A row's outputs are written when the row is read, before the next one is.
    distance = max(0, (rows - 1) * (output.elements - source.elements) // rows)
    return Kernel(
        f"tflmgen_{layer}",
        f"{layer}.h",
        (Input(0), filter_operand(op), factors, bias_operand(op, 0), Output(0), Scratch(source.elements // rows)),
        params(f"tflmgen_{layer}", *fields),
        overlaps(output, distance),
        Cost(macs),
    )
