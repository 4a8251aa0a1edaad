"""SPARSE_TO_DENSE: values at listed places, one default everywhere else."""

from __future__ import annotations

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Params, Target
from tflmgen.kernels.numeric.strides import MAX_RANK
from tflmgen.kernels.operators.binary import SUFFIX
from tflmgen.kernels.operators.copying import MOVABLE, constants_of
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, Shape, no_attributes
from tflmgen.kernels.specification.rules import (
    COMMON,
    QUANTIZED,
    input_is,
    input_shape,
    input_type,
    labels,
    same_quantization,
    static_shape,
)
from tflmgen.kernels.traits import Roles, Traits


def _shape(op: OperatorInstance) -> tuple[int, ...]:
    """The wanted shape; the declared one where it is known at run time only."""
    return constants_of(op, 1) if op.constants[1] is not None else static_shape(op.outputs[0])


def _places(op: OperatorInstance) -> tuple[int, int]:
    """Number of places, and of indices of one: [places, rank]; [places] and [] are places in one dimension."""
    shape = input_shape(op)
    if len(shape) == 2:
        return shape[0], shape[1]
    return input_type(op, 0).elements, 1


def _kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    shape, (places, rank) = _shape(op), _places(op)
    fields = (
        ("places", places),
        ("rank", rank),
        ("dimension", (*shape, *(0,) * (MAX_RANK - len(shape)))),
        ("elements", op.outputs[0].elements),
        ("value_step", int(len(input_shape(op, 2)) > 0)),
    )
    function = f"tflmgen_sparse_to_dense_{op.outputs[0].dtype.bits}_{SUFFIX[input_type(op, 0).dtype]}"
    operands = (Input(0), Input(2), Input(3), Output(0))
    return Kernel(function, "sparse_to_dense.h", operands, Params("tflmgen_sparse_to_dense", fields))


def _infer(op: OperatorInstance) -> tuple[Shape | None]:
    return (_shape(op) if op.constants[1] is not None else None,)


def _are_inside(op: OperatorInstance) -> bool:
    if op.constants[0] is None:
        return True
    places = op.constants[0].reshape(_places(op))
    return bool(np.all((places >= 0) & (places < np.array(_shape(op)))))


RULES = (
    *COMMON,
    input_is(0, "tensor of places", DType.INT32, DType.INT64),
    input_is(1, "shape", DType.INT32, DType.INT64),
    Rule(
        f"values, a default and an output of one type: {labels(MOVABLE)}",
        lambda op: (
            op.outputs[0].dtype in MOVABLE and all(input_type(op, i).dtype is op.outputs[0].dtype for i in (2, 3))
        ),
    ),
    Rule(
        "values and a default with the output's scale and zero point",
        lambda op: (
            op.outputs[0].dtype not in QUANTIZED
            or all(same_quantization(input_type(op, i), op.outputs[0]) for i in (2, 3))
        ),
    ),
    Rule(f"an output of 1 to {MAX_RANK} dimensions", lambda op: 1 <= len(_shape(op)) <= MAX_RANK),
    Rule("output dimensions of at least 0", lambda op: min(_shape(op), default=0) >= 0),
    Rule(
        "places with one index for each dimension of the output",
        lambda op: len(input_shape(op)) <= 2 and _places(op)[1] == len(_shape(op)),
    ),
    Rule(
        "one value, or one for each place",
        lambda op: input_shape(op, 2) in ((), (_places(op)[0],)),
    ),
    Rule("a default that is a single value", lambda op: input_type(op, 3).elements == 1),
    Rule("constant places inside the output", _are_inside),
)

OPERATORS = (
    OperatorSpec(
        "SPARSE_TO_DENSE", no_attributes, (4, 4), 1, RULES, _infer, _kernel, traits=Traits(roles=Roles(shapes=(1,)))
    ),
)
