"""NORMALIZE: layer, RMS and L2 normalisation of contiguous rows in float32, made by a pass. No file has it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, Null, Operand, OperatorInstance, Output, Overlap, Params, Target
from tflmgen.kernels.operators.quantize_dequantize import same_shape
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule
from tflmgen.kernels.specification.rules import STATIC, input_shape, input_type, one_type
from tflmgen.kernels.traits import Traits


@dataclass(frozen=True, slots=True)
class NormalizeAttributes:
    """Rows have `depth` elements; the sum of their squares times `factor`, plus `epsilon`, is what the root is of.

    centred: the mean is subtracted first.
    """

    depth: int
    epsilon: float
    factor: float
    centred: bool


def parse(options: Options | None) -> NormalizeAttributes:
    """Attributes that the pass has recognised: depth of a row, epsilon, factor, whether the mean is subtracted."""
    options = options or {}
    return NormalizeAttributes(
        int(options.get("depth", 1)),
        float(options.get("epsilon", 0.0)),
        float(options.get("factor", 1.0)),
        bool(options.get("centred", False)),
    )


def _kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    attributes: NormalizeAttributes = op.attributes
    present = [t is not None for t in op.inputs] + [False, False]
    affine: list[Operand] = [Input(i) if present[i] else Null() for i in (1, 2)]
    fields = (
        ("rows", input_type(op, 0).elements // attributes.depth),
        ("depth", attributes.depth),
        ("epsilon", attributes.epsilon),
        ("factor", attributes.factor),
        ("centred", attributes.centred),
    )
    operands = (Input(0), *affine, Output(0))
    params = Params("tflmgen_normalize_f32", fields)
    return Kernel("tflmgen_normalize_f32", "normalize.h", operands, params, (Overlap(0, 0),))


def _whole_rows(op: OperatorInstance) -> bool:
    depth = op.attributes.depth
    return bool(depth > 0 and input_type(op, 0).elements % depth == 0)


RULES = (
    Rule("an input", lambda op: op.inputs[0] is not None),
    STATIC,
    one_type(DType.FLOAT32),
    Rule("an input of whole rows", _whole_rows),
    Rule(
        "a gain and a bias, if any, as long as a row",
        lambda op: all(t is None or t.elements == op.attributes.depth for t in op.inputs[1:]),
    ),
    Rule(
        "an epsilon of at least 0",
        lambda op: math.isfinite(op.attributes.epsilon) and op.attributes.epsilon >= 0,
    ),
)


def _is_row_wise(op: OperatorInstance, axis: int) -> bool:
    """Whether a row along this axis consists of whole rows that are normalised."""
    return math.prod(input_shape(op)[axis + 1 :]) % int(op.attributes.depth) == 0


TRAITS = Traits(row_wise=_is_row_wise)

OPERATORS = (OperatorSpec("NORMALIZE", parse, (1, 3), 1, RULES, same_shape, _kernel, traits=TRAITS),)
