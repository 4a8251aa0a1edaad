"""Functions of one element that passes make of several operators: LOOKUP in int8, SILU in float32. No file has them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, KernelChoice, OperatorInstance, Target
from tflmgen.kernels.folding.fold_elements import Array
from tflmgen.kernels.numeric.real_functions import of_elements, silu
from tflmgen.kernels.operators.lookup import lookup_kernel
from tflmgen.kernels.operators.quantize_dequantize import same_shape
from tflmgen.kernels.operators.unary import unary_kernel
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, no_attributes
from tflmgen.kernels.specification.rules import COMMON, constant, input_type, one_type
from tflmgen.kernels.traits import UNARY, Traits, any_axis

ENTRIES = 256
"""Entries of a table: one for each int8 value."""


def _lookup(op: OperatorInstance, target: Target) -> KernelChoice:
    return lookup_kernel(op, Input(1), target)


def _fold_lookup(op: OperatorInstance) -> list[Array] | None:
    values, table = op.constants
    return None if values is None or table is None else [table[np.asarray(values, np.int64) + ENTRIES // 2]]


def _silu(op: OperatorInstance, target: Target) -> Kernel:
    del target
    return unary_kernel(op, "tflmgen_silu_f32")


LOOKUP_RULES = (
    *COMMON,
    one_type(DType.INT8),
    constant(1, "table"),
    Rule("a table of one entry for each int8 value", lambda op: input_type(op, 1).shape == (ENTRIES,)),
)

OPERATORS = (
    OperatorSpec(
        "LOOKUP",
        no_attributes,
        (2, 2),
        1,
        LOOKUP_RULES,
        same_shape,
        _lookup,
        fold=_fold_lookup,
        traits=Traits(unary=True, row_wise=any_axis, tabled=True, by_rows=True, channelwise=True, tabulable=True),
    ),
    OperatorSpec(
        "SILU",
        no_attributes,
        (1, 1),
        1,
        (*COMMON, one_type(DType.FLOAT32)),
        same_shape,
        _silu,
        real=of_elements(silu),
        traits=replace(UNARY, by_rows=True, spelled_out=(None,)),
    ),
)
