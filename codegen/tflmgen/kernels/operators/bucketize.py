"""BUCKETIZE: numbers of the intervals between ascending boundaries that elements are in."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Overlap, Params, Target
from tflmgen.kernels.operators.binary import SUFFIX
from tflmgen.kernels.specification.operator import OperatorSpec, Options
from tflmgen.kernels.specification.rules import COMMON, input_is, input_type, output_is
from tflmgen.kernels.traits import UNARY


@dataclass(frozen=True, slots=True)
class Boundaries:
    """Ascending float32 boundaries; those of an interval belong to the upper one."""

    boundaries: tuple[float, ...]


def _parse(options: Options | None) -> Boundaries:
    """Raises ValueError for boundaries that do not ascend."""
    values = tuple(float(v) for v in (options or {}).get("boundaries") or ())
    if not all(a <= b for a, b in pairwise(values)):
        raise ValueError("the boundaries do not ascend")
    return Boundaries(values)


def _kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    values = op.attributes.boundaries
    # C has no arrays of no elements.
    boundaries = ConstantArray.of("boundaries", np.array(values or (0.0,)), DType.FLOAT32)
    fields = (("elements", op.outputs[0].elements), ("boundaries", len(values)))
    function = f"tflmgen_bucketize_{SUFFIX[input_type(op, 0).dtype]}"
    input_overlaps = (Overlap(0, 0),) if input_type(op, 0).dtype.bits >= 32 else ()
    operands = (Input(0), boundaries, Output(0))
    return Kernel(function, "bucketize.h", operands, Params("tflmgen_bucketize", fields), input_overlaps)


RULES = (
    *COMMON,
    input_is(0, "input", DType.FLOAT32, DType.INT32, DType.INT64),
    output_is(DType.INT32),
)

OPERATORS = (
    OperatorSpec("BUCKETIZE", _parse, (1, 1), 1, RULES, lambda op: (input_type(op, 0).shape,), _kernel, traits=UNARY),
)
