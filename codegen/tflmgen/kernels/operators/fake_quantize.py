"""FAKE_QUANT: float32 as it is after quantisation and dequantisation, as training with quantisation sees it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Overlap, Params, Target
from tflmgen.kernels.specification.operator import OperatorSpec, Options
from tflmgen.kernels.specification.rules import COMMON, input_type, one_type
from tflmgen.kernels.traits import UNARY

MOST_BITS = 16
"""Most bits of a code, as in TensorFlow."""


@dataclass(frozen=True, slots=True)
class FakeQuantization:
    """The range as the file has it, and how it is quantised; narrow: the lowest code is not used."""

    min: float
    max: float
    num_bits: int
    narrow_range: bool

    @property
    def nudged(self) -> tuple[np.float32, np.float32, np.float32]:
        """Ends of the range with 0 at a code, and the scale: in float32, as TFLite's FakeQuant computes them."""
        low, high = np.float32(int(self.narrow_range)), np.float32((1 << self.num_bits) - 1)
        scale = (np.float32(self.max) - np.float32(self.min)) / (high - low)
        from_min = low - np.float32(self.min) / scale
        zero = np.float32(min(max(np.floor(from_min + np.float32(0.5)), low), high))
        return (low - zero) * scale, (high - zero) * scale, scale


def _parse(options: Options | None) -> FakeQuantization:
    """Raises ValueError for a range that is none or does not hold 0, and for fewer than 2 or more than 16 bits."""
    fields = options or {}
    low, high = float(fields.get("min", 0.0)), float(fields.get("max", 0.0))
    bits = int(fields.get("num_bits", 0))
    if not (np.isfinite([low, high]).all() and low < high and low <= 0 <= high) or not 2 <= bits <= MOST_BITS:
        raise ValueError(f"its range of {low:g} to {high:g} in {bits} bits is none that holds 0")
    return FakeQuantization(low, high, bits, bool(fields.get("narrow_range", False)))


def _kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    least, greatest, scale = op.attributes.nudged
    fields = (
        ("elements", op.outputs[0].elements),
        ("least", float(least)),
        ("greatest", float(greatest)),
        ("scale", float(scale)),
        ("inverse_scale", float(np.float32(1) / scale)),
    )
    operands = (Input(0), Output(0))
    params = Params("tflmgen_fake_quantize", fields)
    return Kernel("tflmgen_fake_quantize_f32", "fake_quantize.h", operands, params, (Overlap(0, 0),))


OPERATORS = (
    OperatorSpec(
        "FAKE_QUANT",
        _parse,
        (1, 1),
        1,
        (*COMMON, one_type(DType.FLOAT32)),
        lambda op: (input_type(op, 0).shape,),
        _kernel,
        traits=UNARY,
    ),
)
