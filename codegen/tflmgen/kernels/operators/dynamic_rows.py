"""Operators on tensors with dimensions known at run time only: values of the largest shape, and a number for each.

Not operators of TFLite: the importer makes them (import_rows.py). What lies along such a dimension are rows; a number
of rows is an int32 scalar, its "extent". Those that `may_fail` return an error instead of a result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tflmgen.ir import DType, TensorType
from tflmgen.ir.kernel import (
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
from tflmgen.kernels.numeric.strides import MAX_RANK
from tflmgen.kernels.specification.operator import OperatorSpec, no_attributes
from tflmgen.kernels.specification.rules import input_type, static_shape
from tflmgen.kernels.traits import Traits

HEADER = "rows.h"
BOUND, ARGUMENT = "TFLMGEN_ERROR_BOUND", "TFLMGEN_ERROR_ARGUMENT"


@dataclass(frozen=True, slots=True)
class Along:
    """APPEND_ROWS, FIT_ROWS: the axis whose elements are the rows."""

    axis: int


@dataclass(frozen=True, slots=True)
class Filler:
    """FILL_ROWS: the number that the elements of the unused rows become."""

    number: float
    axis: int = 0


@dataclass(frozen=True, slots=True)
class RowWindow:
    """WINDOW_ROWS: input[begin:end]; if `exact`, an error unless these are as many rows as the output has."""

    begin: int
    end: int
    exact: bool
    axis: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """CUT_ROWS: input[begin:end:step] with begin and end known at run time only.

    from_first, to_last: these do not count. sized: the end is a number of rows, -1 for all that remain.
    """

    axis: int
    step: int
    from_first: bool
    to_last: bool
    sized: bool
    exact: bool


@dataclass(frozen=True, slots=True)
class Limit:
    """LIMIT_ROWS: an error where a number of rows is below `least` or above `greatest`.

    wrong_argument: the error is that of an input's value, not that of a bound.
    """

    least: int
    greatest: int
    wrong_argument: bool


@dataclass(frozen=True, slots=True)
class Axes:
    """DENSE, SPREAD: how many leading axes there are up to the last one that is known at run time only."""

    count: int


def _outer(tensor: TensorType, axis: int) -> int:
    return math.prod(static_shape(tensor)[:axis])


def _rows(tensor: TensorType, axis: int) -> int:
    return static_shape(tensor)[axis]


def _row_bytes(tensor: TensorType, axis: int) -> int:
    return math.prod(static_shape(tensor)[axis + 1 :]) * tensor.dtype.bits // 8


def _clear(tensor: TensorType) -> tuple[str, ParamValue]:
    return ("clear", tensor.dtype is DType.BOOL)


def _append(op: OperatorInstance, target: Target) -> Kernel:
    del target
    output, axis = op.outputs[0], op.attributes.axis
    outer = _outer(output, axis)
    fields = (
        ("outer", outer),
        ("first", _rows(input_type(op, 0), axis)),
        ("second", _rows(input_type(op, 2), axis)),
        ("most", _rows(output, axis)),
        ("row_bytes", _row_bytes(output, axis)),
        _clear(output),
    )
    return Kernel(
        "tflmgen_append_rows",
        HEADER,
        (Input(0), Input(1), Input(2), Input(3), Output(0), Output(1)),
        Params("tflmgen_append_rows", fields),
        ((Overlap(0, 0),) if outer == 1 else ()) + (Overlap(1, 1), Overlap(3, 1)),
        error=BOUND,
    )


def _fit(op: OperatorInstance, target: Target) -> Kernel:
    del target
    source, output, axis = input_type(op, 0), op.outputs[0], op.attributes.axis
    outer, before, after = _outer(output, axis), _rows(source, axis), _rows(output, axis)
    fields = (
        ("outer", outer),
        ("input_rows", before),
        ("output_rows", after),
        ("row_bytes", _row_bytes(output, axis)),
        _clear(output),
    )
    return Kernel(
        "tflmgen_fit_rows",
        HEADER,
        (Input(0), Input(1), Output(0)),
        Params("tflmgen_fit_rows", fields),
        (Overlap(0, 0),) if outer == 1 or after <= before else (),
        error=BOUND,
    )


def _same_rows(op: OperatorInstance, target: Target) -> Kernel:
    del op, target
    overlaps = (Overlap(0, 0), Overlap(1, 0))
    return Kernel("tflmgen_same_rows", HEADER, (Input(0), Input(1), Output(0)), None, overlaps, error=ARGUMENT)


def _limit(op: OperatorInstance, target: Target) -> Kernel:
    del target
    limit = op.attributes
    params = Params("tflmgen_limit", (("least", limit.least), ("most", limit.greatest)))
    error = ARGUMENT if limit.wrong_argument else BOUND
    return Kernel("tflmgen_limit_rows", HEADER, (Input(0), Output(0)), params, (Overlap(0, 0),), error=error)


def _fill(op: OperatorInstance, target: Target) -> Kernel:
    del target
    output, axis = op.outputs[0], op.attributes.axis
    element = ConstantArray.of("element", np.array([op.attributes.number]), output.dtype)
    fields = (
        ("outer", _outer(output, axis)),
        ("rows", _rows(output, axis)),
        ("row_bytes", _row_bytes(output, axis)),
        ("element_bytes", output.dtype.bits // 8),
    )
    operands = (Input(0), Input(1), Output(0), element)
    return Kernel("tflmgen_fill_rows", HEADER, operands, Params("tflmgen_fill_rows", fields), (Overlap(0, 0),))


def _window(op: OperatorInstance, target: Target) -> Kernel:
    del target
    output, axis = op.outputs[0], op.attributes.axis
    outer, before, max_rows = _outer(output, axis), _rows(input_type(op, 0), axis), _rows(output, axis)
    fields = (
        ("outer", outer),
        ("input_rows", before),
        ("most", max_rows),
        ("begin", op.attributes.begin),
        ("end", op.attributes.end),
        ("exact", op.attributes.exact),
        ("row_bytes", _row_bytes(output, axis)),
        _clear(output),
    )
    return Kernel(
        "tflmgen_window_rows",
        HEADER,
        (Input(0), Input(1), Output(0), Output(1)),
        Params("tflmgen_window_rows", fields),
        ((Overlap(0, 0),) if outer == 1 or max_rows <= before else ()) + (Overlap(1, 1),),
        error=ARGUMENT if op.attributes.exact else "",
    )


def _cut(op: OperatorInstance, target: Target) -> Kernel:
    del target
    output, cut = op.outputs[0], op.attributes
    fields = (
        ("outer", _outer(output, cut.axis)),
        ("input_rows", _rows(input_type(op, 0), cut.axis)),
        ("most", _rows(output, cut.axis)),
        ("step", cut.step),
        ("from_first", cut.from_first),
        ("to_last", cut.to_last),
        ("sized", cut.sized),
        ("exact", cut.exact),
        ("row_bytes", _row_bytes(output, cut.axis)),
        _clear(output),
    )
    operands = (Input(0), Input(1), Input(2), Input(3), Output(0), Output(1))
    params = Params("tflmgen_cut_rows", fields)
    return Kernel("tflmgen_cut_rows", HEADER, operands, params, (Overlap(1, 1),), error=ARGUMENT)


def _new_shape(op: OperatorInstance, target: Target) -> Kernel:
    del target
    fields = (("rank", input_type(op, 0).elements), ("new_rank", op.outputs[0].elements))
    params = Params("tflmgen_new_shape", fields)
    return Kernel("tflmgen_new_shape", HEADER, (Input(0), Input(1), Output(0)), params, error=ARGUMENT)


def _dense_params(tensor: TensorType, axes: int) -> Params:
    shape = static_shape(tensor)
    fields = (
        ("axes", axes),
        ("most", shape[:axes] + (0,) * (MAX_RANK - axes)),
        ("block_bytes", _row_bytes(tensor, axes - 1)),
        _clear(tensor),
    )
    return Params("tflmgen_dense", fields)


def _dense(op: OperatorInstance, target: Target) -> Kernel:
    del target
    params = _dense_params(input_type(op, 0), op.attributes.count)
    return Kernel("tflmgen_dense", HEADER, (Input(0), Input(1), Output(0)), params, (Overlap(0, 0),))


def _spread(op: OperatorInstance, target: Target) -> Kernel:
    del target
    output = op.outputs[0]
    params = _dense_params(output, op.attributes.count)
    overlaps = () if output.dtype is DType.BOOL else (Overlap(0, 0, exact=True),)
    return Kernel("tflmgen_spread", HEADER, (Input(0), Input(1), Output(0)), params, overlaps)


OPERATORS = (
    OperatorSpec(
        "APPEND_ROWS",
        no_attributes,
        (4, 4),
        2,
        (),
        lambda op: (op.outputs[0].shape, ()),
        _append,
        traits=Traits(may_fail=True),
    ),
    OperatorSpec(
        "CUT_ROWS",
        no_attributes,
        (4, 4),
        2,
        (),
        lambda op: (op.outputs[0].shape, ()),
        _cut,
        traits=Traits(may_fail=True),
    ),
    OperatorSpec("DENSE", no_attributes, (2, 2), 1, (), lambda op: (op.outputs[0].shape,), _dense),
    OperatorSpec(
        "FIT_ROWS", no_attributes, (2, 2), 1, (), lambda op: (op.outputs[0].shape,), _fit, traits=Traits(may_fail=True)
    ),
    OperatorSpec("FILL_ROWS", no_attributes, (2, 2), 1, (), lambda op: (input_type(op, 0).shape,), _fill),
    OperatorSpec("LIMIT_ROWS", no_attributes, (1, 1), 1, (), lambda _: ((),), _limit, traits=Traits(may_fail=True)),
    OperatorSpec(
        "NEW_SHAPE",
        no_attributes,
        (2, 2),
        1,
        (),
        lambda op: (op.outputs[0].shape,),
        _new_shape,
        traits=Traits(may_fail=True),
    ),
    OperatorSpec("SAME_ROWS", no_attributes, (2, 2), 1, (), lambda _: ((),), _same_rows, traits=Traits(may_fail=True)),
    OperatorSpec("SPREAD", no_attributes, (2, 2), 1, (), lambda op: (op.outputs[0].shape,), _spread),
    OperatorSpec(
        "WINDOW_ROWS",
        no_attributes,
        (2, 2),
        2,
        (),
        lambda op: (op.outputs[0].shape, ()),
        _window,
        traits=Traits(may_fail=True),
    ),
)
