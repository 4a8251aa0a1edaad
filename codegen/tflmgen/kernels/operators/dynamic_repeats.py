"""Rows that are repeated at run time: by TILE, or because one row meets many.

Not operators of TFLite: the importer makes them. Extents are as in dynamic_rows.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Overlap, Params, Target
from tflmgen.kernels.operators.dynamic_rows import ARGUMENT, BOUND
from tflmgen.kernels.specification.operator import OperatorSpec, no_attributes
from tflmgen.kernels.specification.rules import input_shape, static_shape
from tflmgen.kernels.traits import Traits

HEADER = "row_repeats.h"


@dataclass(frozen=True, slots=True)
class Repeat:
    """REPEAT_ROWS: the axis of the rows. broadcast: one row meets many, any other number of rows is an error."""

    axis: int
    broadcast: bool


def _common(op: OperatorInstance, target: Target) -> Kernel:
    """(extent, extent) -> the extent of what is computed of both."""
    del op, target
    operands, overlaps = (Input(0), Input(1), Output(0)), (Overlap(0, 0), Overlap(1, 0))
    return Kernel("tflmgen_common_rows", HEADER, operands, None, overlaps, error=ARGUMENT)


def _repeat(op: OperatorInstance, target: Target) -> Kernel:
    """(value, extent, wanted extent) -> as many rows as wanted."""
    del target
    output, repeat = op.outputs[0], op.attributes
    shape, room = static_shape(output), input_shape(op)[repeat.axis]
    outer = math.prod(shape[: repeat.axis])
    fields = (
        ("outer", outer),
        ("input_rows", room),
        ("output_rows", shape[repeat.axis]),
        ("row_bytes", math.prod(shape[repeat.axis + 1 :]) * output.dtype.bits // 8),
        ("broadcast", repeat.broadcast),
        ("clear", output.dtype is DType.BOOL),
    )
    in_place = outer == 1 or room == shape[repeat.axis]
    return Kernel(
        "tflmgen_repeat_rows",
        HEADER,
        (Input(0), Input(1), Input(2), Output(0)),
        Params("tflmgen_repeat_rows", fields),
        (Overlap(0, 0, exact=True),) if in_place else (),
        error=ARGUMENT if repeat.broadcast else BOUND,
    )


OPERATORS = (
    OperatorSpec(
        "COMMON_ROWS",
        no_attributes,
        (2, 2),
        1,
        (),
        lambda _: ((),),
        _common,
        traits=Traits(may_fail=True, same_if_equal=(0, 1)),
    ),
    OperatorSpec(
        "REPEAT_ROWS",
        no_attributes,
        (3, 3),
        1,
        (),
        lambda op: (op.outputs[0].shape,),
        _repeat,
        traits=Traits(may_fail=True, same_if_equal=(1, 2)),
    ),
)
