"""BITCAST: the same bytes as elements of another type."""

from __future__ import annotations

from tflmgen.ir import DType
from tflmgen.ir.kernel import OperatorInstance, Target, View
from tflmgen.kernels.operators.copying import MOVABLE
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, Shape, no_attributes
from tflmgen.kernels.specification.rules import STATIC, has_inferred_shape, input_shape, input_type, labels
from tflmgen.kernels.traits import Traits


def _infer(op: OperatorInstance) -> tuple[Shape | None]:
    """Narrower elements get a last dimension that counts those of a wide one, and wider ones lose it."""
    shape, before, after = input_shape(op), input_type(op, 0).dtype.bits, op.outputs[0].dtype.bits
    if before == after:
        return (shape,)
    if before > after:
        return ((*shape, before // after),)
    return (shape[:-1] if shape[-1:] == (after // before,) else None,)


def _view(op: OperatorInstance, target: Target) -> View:
    del op, target
    return View(0)


TYPES = tuple(dtype for dtype in MOVABLE if dtype is not DType.BOOL)
"""Types of which every pattern of bits is an element."""

RULES = (
    STATIC,
    Rule(
        f"an input and an output of {labels(TYPES)}",
        lambda op: input_type(op, 0).dtype in TYPES and op.outputs[0].dtype in TYPES,
    ),
    Rule(
        "an input whose last dimension makes up whole elements of the output",
        lambda op: _infer(op) != (None,),
    ),
    has_inferred_shape(_infer),
)

OPERATORS = (
    OperatorSpec("BITCAST", no_attributes, (1, 1), 1, RULES, _infer, _view, traits=Traits(ignores_scales=True)),
)
