"""SEGMENT_SUM, and sums, products and extremes of unsorted segments: blocks of the input combined by their index.

Segments without blocks are rows of 0, 1, or the type's least or greatest finite number, as in TensorFlow; so are those
between the indices of SEGMENT_SUM, which LiteRT refuses. Where its indices are computed, the importer makes
SEGMENT_SUM_ROWS of it, which has room for the most segments and tells how many there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Params, Target
from tflmgen.kernels.operators.binary import SUFFIX
from tflmgen.kernels.operators.copying import constants_of
from tflmgen.kernels.operators.dynamic_rows import BOUND
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, Shape, no_attributes
from tflmgen.kernels.specification.rules import COMMON, constant, input_is, input_shape, input_type
from tflmgen.kernels.traits import Roles, Traits


def _kernel(combination: str) -> Callable[[OperatorInstance, Target], Kernel]:
    def kernel(op: OperatorInstance, target: Target) -> Kernel:
        del target
        indices, output = input_type(op, 1), op.outputs[0]
        segments = output.max_shape[0]
        fields = (
            ("blocks", indices.elements),
            ("segments", segments),
            ("block", math.prod(input_shape(op)[len(indices.shape) :])),
        )
        function = f"tflmgen_segment_{combination}_{SUFFIX[output.dtype]}_{SUFFIX[indices.dtype]}"
        return Kernel(function, "segments.h", (Input(0), Input(1), Output(0)), Params("tflmgen_segments", fields))

    return kernel


def _sorted_shape(op: OperatorInstance) -> tuple[Shape]:
    """[blocks, ...] to [last index + 1, ...]."""
    indices = constants_of(op, 1)
    return ((indices[-1] + 1 if indices else 0, *input_shape(op)[1:]),)


def _unsorted_shape(op: OperatorInstance) -> tuple[Shape]:
    """[*shape of the indices, ...] to [segments, ...]."""
    return ((constants_of(op, 2)[0], *input_shape(op)[len(input_shape(op, 1)) :]),)


COMMON_RULES = (
    *COMMON,
    input_is(0, "input", DType.FLOAT32, DType.INT32),
    Rule("an output of the input's type", lambda op: op.outputs[0].dtype is input_type(op, 0).dtype),
    input_is(1, "tensor of segment indices", DType.INT32),
)

SORTED_RULES = (
    *COMMON_RULES,
    constant(1, "tensor of segment indices"),
    Rule("one segment index for each row of the input", lambda op: input_shape(op, 1) == input_shape(op)[:1]),
    Rule(
        "segment indices from 0 on that do not descend",
        lambda op: bool(np.all(np.diff(constants_of(op, 1), prepend=0) >= 0)),
    ),
)

UNSORTED_RULES = (
    *COMMON_RULES,
    input_is(2, "number of segments", DType.INT32),
    constant(2, "number of segments"),
    Rule(
        "a number of segments that is a single value, at least 0",
        lambda op: len(constants_of(op, 2)) == 1 and constants_of(op, 2)[0] >= 0,
    ),
    Rule(
        "segment indices in the shape of the input's first dimensions",
        lambda op: input_shape(op, 1) == input_shape(op)[: len(input_shape(op, 1))],
    ),
)


def _unsorted(combination: str) -> OperatorSpec:
    name, kernel = f"UNSORTED_SEGMENT_{combination.upper()}", _kernel(combination)
    return OperatorSpec(name, no_attributes, (3, 3), 1, UNSORTED_RULES, _unsorted_shape, kernel, traits=Traits())


def _counted_kernel(op: OperatorInstance, target: Target) -> Kernel:
    """Call of SEGMENT_SUM_ROWS, which the importer makes of a SEGMENT_SUM with computed indices."""
    del target
    output = op.outputs[0]
    fields = (
        ("blocks", input_shape(op, 1)[0]),
        ("segments", output.max_shape[0]),
        ("block", math.prod(input_shape(op)[1:])),
    )
    operands = (Input(0), Input(1), Input(2), Output(0), Output(1))
    function = f"tflmgen_segment_rows_{SUFFIX[output.dtype]}"
    return Kernel(function, "segments.h", operands, Params("tflmgen_segments", fields), error=BOUND)


OPERATORS = (
    OperatorSpec(
        "SEGMENT_SUM_ROWS",
        no_attributes,
        (3, 3),
        2,
        (),
        lambda op: (op.outputs[0].shape, ()),
        _counted_kernel,
        traits=Traits(may_fail=True),
    ),
    OperatorSpec(
        "SEGMENT_SUM",
        no_attributes,
        (2, 2),
        1,
        SORTED_RULES,
        _sorted_shape,
        _kernel("sum"),
        traits=Traits(roles=Roles(shapes=(1,))),
    ),
    *map(_unsorted, ("sum", "prod", "max", "min")),
)
