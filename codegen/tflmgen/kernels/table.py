"""The operator table: every operator that tflmgen compiles, by its TFLite name."""

from __future__ import annotations

from collections.abc import Iterable

from tflmgen.kernels.operator import Operator, Operators
from tflmgen.kernels.operators import (
    add_n,
    along_axis,
    arithmetic,
    batch_matmul,
    binary_functions,
    broadcast_args,
    cast,
    circular_buffer,
    comparison,
    concatenation,
    conv,
    conv3d,
    decode,
    depthwise_conv,
    detection,
    division,
    element_functions,
    embedding,
    fill,
    fully_connected,
    fused,
    gather,
    log_softmax,
    lstm,
    mapped_copy,
    normalize,
    pad,
    pool,
    quantize_dequantize,
    rearrange,
    reduce,
    requantize,
    reshape,
    resize,
    rnn,
    rounded_sums,
    row_store,
    select,
    signal_fft,
    signal_filter_bank,
    signal_frames,
    signal_window,
    slice,
    softmax,
    space_batch,
    svdf,
    transpose,
    transpose_conv,
    update_slice,
)
from tflmgen.kernels.operators import dynamic_in_use as rows_in_use
from tflmgen.kernels.operators import dynamic_repeats as row_repeats
from tflmgen.kernels.operators import dynamic_resize as resize_in_use
from tflmgen.kernels.operators import dynamic_rows as rows
from tflmgen.kernels.operators import dynamic_windows as row_windows
from tflmgen.kernels.traits import UNKNOWN, Traits

FAMILIES: tuple[tuple[Operator, ...], ...] = (
    add_n.OPERATORS,
    along_axis.OPERATORS,
    arithmetic.OPERATORS,
    batch_matmul.OPERATORS,
    binary_functions.OPERATORS,
    broadcast_args.OPERATORS,
    cast.OPERATORS,
    circular_buffer.OPERATORS,
    comparison.OPERATORS,
    concatenation.OPERATORS,
    conv.OPERATORS,
    conv3d.OPERATORS,
    decode.OPERATORS,
    depthwise_conv.OPERATORS,
    detection.OPERATORS,
    division.OPERATORS,
    element_functions.OPERATORS,
    embedding.OPERATORS,
    fill.OPERATORS,
    fully_connected.OPERATORS,
    fused.OPERATORS,
    gather.OPERATORS,
    log_softmax.OPERATORS,
    lstm.OPERATORS,
    mapped_copy.OPERATORS,
    normalize.OPERATORS,
    pad.OPERATORS,
    pool.OPERATORS,
    quantize_dequantize.OPERATORS,
    rearrange.OPERATORS,
    reduce.OPERATORS,
    requantize.OPERATORS,
    reshape.OPERATORS,
    resize.OPERATORS,
    rnn.OPERATORS,
    rounded_sums.OPERATORS,
    row_store.OPERATORS,
    rows.OPERATORS,
    rows_in_use.OPERATORS,
    resize_in_use.OPERATORS,
    row_repeats.OPERATORS,
    row_windows.OPERATORS,
    select.OPERATORS,
    signal_fft.OPERATORS,
    signal_filter_bank.OPERATORS,
    signal_frames.OPERATORS,
    signal_window.OPERATORS,
    slice.OPERATORS,
    softmax.OPERATORS,
    space_batch.OPERATORS,
    svdf.OPERATORS,
    transpose.OPERATORS,
    transpose_conv.OPERATORS,
    update_slice.OPERATORS,
)

OPERATORS: Operators = {operator.name: operator for family in FAMILIES for operator in family}
"""tflmgen's own operators; the table of a compilation adds those of its plug-ins."""


def with_custom(operators: Iterable[Operator]) -> Operators:
    """The table with custom operators added, whose names must not be tflmgen's own."""
    return {**OPERATORS, **{operator.name: operator for operator in operators}}


def traits_of(name: str, operators: Operators = OPERATORS) -> Traits:
    """Traits of the operator `name`; those of an unknown operator if it is not in the table."""
    operator = operators.get(name)
    return UNKNOWN if operator is None else operator.traits
