"""Operators on tensors whose first dimension is known at run time only: values for the most rows, and their number.

Not operators of TFLite: the importer makes them (import_rows.py). A number of rows is an int32 scalar, its "extent".
Those in MAY_FAIL return an error instead of a result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tflmgen.kernel import (
    ConstantArray,
    Input,
    Kernel,
    OperatorInstance,
    Output,
    Overlap,
    Params,
    ParamValue,
    Target,
)
from tflmgen.ops.operator import Operator, no_attributes
from tflmgen.ops.rules import input_type, static_shape
from tflmgen.types import DType, TensorType

HEADER = "rows.h"
BOUND, ARGUMENT = "TFLMGEN_ERROR_BOUND", "TFLMGEN_ERROR_ARGUMENT"

MAY_FAIL = frozenset({"APPEND_ROWS", "FIT_ROWS", "SAME_ROWS", "WINDOW_ROWS"})
"""Operators that must not run where the model would not have run them."""


@dataclass(frozen=True, slots=True)
class Filler:
    """FILL_ROWS: the number that the elements of the unused rows become."""

    number: float


@dataclass(frozen=True, slots=True)
class Window:
    """WINDOW_ROWS: input[begin:end]; if `exact`, an error unless these are as many rows as the output has."""

    begin: int
    end: int
    exact: bool


def _rows(tensor: TensorType) -> int:
    return static_shape(tensor)[0]


def _row_bytes(tensor: TensorType) -> int:
    return tensor.bytes // max(1, _rows(tensor))


def _clear(tensor: TensorType) -> tuple[str, ParamValue]:
    return ("clear", tensor.dtype is DType.BOOL)


def _append(op: OperatorInstance, target: Target) -> Kernel:
    del target
    output = op.outputs[0]
    fields = (("most", _rows(output)), ("row_bytes", _row_bytes(output)), _clear(output))
    return Kernel(
        "tflmgen_append_rows",
        HEADER,
        (Input(0), Input(1), Input(2), Input(3), Output(0), Output(1)),
        Params("tflmgen_append_rows", fields),
        (Overlap(0, 0), Overlap(1, 1), Overlap(3, 1)),
        error=BOUND,
    )


def _fit(op: OperatorInstance, target: Target) -> Kernel:
    del target
    source, output = input_type(op, 0), op.outputs[0]
    fields = (
        ("input_rows", _rows(source)),
        ("output_rows", _rows(output)),
        ("row_bytes", _row_bytes(output)),
        _clear(output),
    )
    return Kernel(
        "tflmgen_fit_rows",
        HEADER,
        (Input(0), Input(1), Output(0)),
        Params("tflmgen_fit_rows", fields),
        (Overlap(0, 0),),
        error=BOUND,
    )


def _same(op: OperatorInstance, target: Target) -> Kernel:
    del op, target
    overlaps = (Overlap(0, 0), Overlap(1, 0))
    return Kernel("tflmgen_same_rows", HEADER, (Input(0), Input(1), Output(0)), None, overlaps, error=ARGUMENT)


def _fill(op: OperatorInstance, target: Target) -> Kernel:
    del target
    output = op.outputs[0]
    element = ConstantArray.of("element", np.array([op.attributes.number]), output.dtype)
    fields = (("rows", _rows(output)), ("row_bytes", _row_bytes(output)), ("element_bytes", output.dtype.bits // 8))
    operands = (Input(0), Input(1), Output(0), element)
    return Kernel("tflmgen_fill_rows", HEADER, operands, Params("tflmgen_fill_rows", fields), (Overlap(0, 0),))


def _window(op: OperatorInstance, target: Target) -> Kernel:
    del target
    output = op.outputs[0]
    fields = (
        ("most", _rows(output)),
        ("begin", op.attributes.begin),
        ("end", op.attributes.end),
        ("exact", op.attributes.exact),
        ("row_bytes", _row_bytes(output)),
        _clear(output),
    )
    return Kernel(
        "tflmgen_window_rows",
        HEADER,
        (Input(0), Input(1), Output(0), Output(1)),
        Params("tflmgen_window_rows", fields),
        (Overlap(0, 0), Overlap(1, 1)),
        error=ARGUMENT if op.attributes.exact else "",
    )


OPERATORS = (
    Operator("APPEND_ROWS", no_attributes, (4, 4), 2, (), lambda op: (op.outputs[0].shape, ()), _append),
    Operator("FIT_ROWS", no_attributes, (2, 2), 1, (), lambda op: (op.outputs[0].shape,), _fit),
    Operator("SAME_ROWS", no_attributes, (2, 2), 1, (), lambda _: ((),), _same),
    Operator("FILL_ROWS", no_attributes, (2, 2), 1, (), lambda op: (input_type(op, 0).shape,), _fill),
    Operator("WINDOW_ROWS", no_attributes, (2, 2), 2, (), lambda op: (op.outputs[0].shape, ()), _window),
)
