"""Layers of float32 by int8 weights: each row of the input is quantised at run time, before it is multiplied.

Converters emit them where only weights are quantised (dynamic range quantisation).
"""

from __future__ import annotations

import numpy as np

from tflmgen.ir import ConstantArray, DType, Input, Kernel, OperatorInstance, Output, Scratch
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
    source, output, quantization = input_type(op, 0), op.outputs[0], filter_quantization(op)
    scales = ConstantArray.of("scales", np.array(quantization.scales), DType.FLOAT32)
    # A row's outputs are written when the row is read, before the next one is.
    distance = max(0, (rows - 1) * (output.elements - source.elements) // rows)
    function = f"tflmgen_{layer}_hybrid"
    return Kernel(
        function,
        f"{layer}_hybrid.h",
        (Input(0), filter_operand(op), scales, bias_operand(op, 0), Output(0), Scratch(source.elements // rows)),
        params(function, *groups, (("per_channel", quantization.per_channel),), output_fields(op, activation)),
        overlaps(output, distance),
        macs,
    )
