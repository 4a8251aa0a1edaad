"""Filters and pools along dimensions known at run time only: how many windows there are, and the padding around them.

Not operators of TFLite: the importer makes them (frontend/import_row_windows.py). Extents are as in dynamic_rows.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.ir.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Overlap, Params, Target
from tflmgen.kernels.operators import pool
from tflmgen.kernels.operators.dynamic_rows import BOUND
from tflmgen.kernels.specification.operator import OperatorSpec, Shape, no_attributes
from tflmgen.kernels.specification.rules import input_shape, static_shape
from tflmgen.kernels.traits import Traits

HEADER = "row_windows.h"


@dataclass(frozen=True, slots=True)
class Spacing:
    """WINDOW_COUNT, WINDOW_PADDING: how windows lie along one dimension.

    reach: rows from the first tap to the last, both counted. same: padding SAME, else VALID.
    """

    stride: int
    reach: int
    same: bool


def _first_shape(op: OperatorInstance) -> tuple[Shape]:
    return (op.outputs[0].shape,)


def _spaced(function: str) -> Callable[[OperatorInstance, Target], Kernel]:
    """Extent -> a number that follows from it and the spacing."""

    def kernel(op: OperatorInstance, target: Target) -> Kernel:
        del target
        spacing = op.attributes
        fields = (("stride", spacing.stride), ("reach", spacing.reach), ("same", spacing.same))
        params = Params("tflmgen_spacing", fields)
        return Kernel(function, HEADER, (Input(0), Output(0)), params, (Overlap(0, 0),))

    return kernel


def _place(op: OperatorInstance, target: Target) -> Kernel:
    """(value, extent, begin) -> the value's rows in use from row `begin` on, all others one number."""
    del target
    output, filler = op.outputs[0], op.attributes
    shape, axis = static_shape(output), filler.axis
    element = ConstantArray.of("element", np.array([filler.number]), output.dtype)
    fields = (
        ("outer", math.prod(shape[:axis])),
        ("input_rows", input_shape(op)[axis]),
        ("output_rows", shape[axis]),
        ("row_bytes", math.prod(shape[axis + 1 :]) * output.dtype.bits // 8),
        ("element_bytes", output.dtype.bits // 8),
    )
    operands = (Input(0), Input(1), Input(2), Output(0), element)
    return Kernel("tflmgen_place_rows", HEADER, operands, Params("tflmgen_place_rows", fields), error=BOUND)


def _pool(kind: str) -> Callable[[OperatorInstance, Target], Kernel]:
    """(dense image, batches, height, width) -> dense output."""

    def kernel(op: OperatorInstance, target: Target) -> Kernel:
        del target
        largest = pool.portable_pool(op, kind)
        function = largest.function.replace("_pool2d_", "_pool2d_in_use_")
        operands = (Input(0), Input(1), Input(2), Input(3), Output(0))
        return replace(largest, function=function, header="pool2d_in_use.h", operands=operands, overlaps=())

    return kernel


OPERATORS = (
    OperatorSpec("WINDOW_COUNT", no_attributes, (1, 1), 1, (), lambda _: ((),), _spaced("tflmgen_window_count")),
    OperatorSpec("WINDOW_PADDING", no_attributes, (1, 1), 1, (), lambda _: ((),), _spaced("tflmgen_window_padding")),
    OperatorSpec(
        "PLACE_ROWS",
        no_attributes,
        (3, 3),
        1,
        (),
        _first_shape,
        _place,
        traits=Traits(may_fail=True),
    ),
    OperatorSpec("AVERAGE_POOL_IN_USE", pool.parse, (4, 4), 1, (), _first_shape, _pool("average")),
    OperatorSpec("L2_POOL_IN_USE", pool.parse, (4, 4), 1, (), _first_shape, _pool("l2")),
)
