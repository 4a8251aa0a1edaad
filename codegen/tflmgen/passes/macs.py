"""How many multiply-accumulates an operator takes as its shapes give them, padding included."""

from __future__ import annotations

from tflmgen.graph import Op
from tflmgen.passes.affine import CHANNELS


def macs_of(op: Op) -> int:
    """Of a layer with weights; 0 for any other operator."""
    weights = op.inputs[1] if op.operator in CHANNELS else None
    if weights is None:
        return 0
    output = op.outputs[0].type
    return output.elements * weights.type.elements // output.max_shape[-1]
