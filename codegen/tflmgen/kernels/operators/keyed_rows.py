"""HASHTABLE_LOOKUP and EMBEDDING_LOOKUP_SPARSE: rows of a table by keys, and weighted sums of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Params, Target
from tflmgen.kernels.operators.copying import MOVABLE, constants_of
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, Shape, no_attributes
from tflmgen.kernels.specification.option_fields import present
from tflmgen.kernels.specification.rules import COMMON, constant, input_is, input_shape, input_type, same_quantization
from tflmgen.kernels.traits import Traits

HEADER = "keyed_rows.h"
SUM, MEAN, ROOT_MEAN = range(3)
"""The schema's CombinerType."""
MOST_DIMENSIONS = 4
"""Largest rank of the sparse list, as the kernel's struct has room for."""


@dataclass(frozen=True, slots=True)
class CombinerAttributes:
    """Combination of the rows of an example to one: SUM, MEAN or ROOT_MEAN."""

    combiner: int


def _combiner(options: Options | None) -> CombinerAttributes:
    combiner = int(present(options).get("combiner", SUM))
    if combiner not in (SUM, MEAN, ROOT_MEAN):
        raise ValueError(f"combiner {combiner} is none: it is 0 (sum), 1 (mean) or 2 (by the root of squares)")
    return CombinerAttributes(combiner)


def _lookup_shapes(op: OperatorInstance) -> tuple[Shape, Shape]:
    queries = input_shape(op)
    return (*queries, *input_shape(op, 2)[1:]), queries


def _lookup_kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    keys, *row = input_shape(op, 2)
    row_bytes = math.prod(row) * op.outputs[0].dtype.bits // 8
    fields = (("queries", input_type(op, 0).elements), ("keys", keys), ("row_bytes", row_bytes))
    operands = (Input(0), Input(1), Input(2), Output(0), Output(1))
    return Kernel("tflmgen_hashtable_lookup", HEADER, operands, Params("tflmgen_hashtable_lookup", fields))


def _sums_shape(op: OperatorInstance) -> tuple[Shape]:
    return ((*constants_of(op, 2)[:-1], *input_shape(op, 4)[1:]),)


def _sums_kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    (rows, *row), dims, combiner = input_shape(op, 4), constants_of(op, 2), op.attributes.combiner
    fields = (
        ("entries", input_type(op, 0).elements),
        ("rank", len(dims)),
        ("rows", rows),
        ("columns", math.prod(row)),
        ("examples", math.prod(dims[:-1])),
        ("is_mean", combiner == MEAN),
        ("is_root_mean", combiner == ROOT_MEAN),
        ("dimension", (*dims, *(0,) * (MOST_DIMENSIONS - len(dims)))),
    )
    operands = (Input(0), Input(1), Input(3), Input(4), Output(0))
    return Kernel("tflmgen_embedding_sparse", HEADER, operands, Params("tflmgen_embedding_sparse", fields))


LOOKUP_RULES = (
    *COMMON,
    input_is(0, "queries", DType.INT32),
    input_is(1, "keys", DType.INT32),
    Rule("queries and keys in vectors", lambda op: len(input_shape(op)) == len(input_shape(op, 1)) == 1),
    Rule("a row for each key", lambda op: input_shape(op, 2)[:1] == input_shape(op, 1)),
    Rule(
        "a table of elements of whole bytes, and an output of its type",
        lambda op: (
            input_type(op, 2).dtype in MOVABLE
            and op.outputs[0].dtype is input_type(op, 2).dtype
            and same_quantization(op.outputs[0], input_type(op, 2))
        ),
    ),
    Rule("uint8 as the second output", lambda op: op.outputs[1].dtype is DType.UINT8),
    Rule(
        "keys that ascend, where they are constant",
        lambda op: (
            op.constants[1] is None
            or all(a < b for a, b in zip(constants_of(op, 1), constants_of(op, 1)[1:], strict=False))
        ),
    ),
)

SUMS_RULES = (
    *COMMON,
    *(input_is(i, label, DType.INT32) for i, label in enumerate(("row numbers", "places", "shape"))),
    *(input_is(i, label, DType.FLOAT32) for i, label in ((3, "weights"), (4, "table"))),
    Rule("an output of float32", lambda op: op.outputs[0].dtype is DType.FLOAT32),
    constant(2, "shape"),
    Rule(
        f"a shape of 1 to {MOST_DIMENSIONS} dimensions, none of them negative",
        lambda op: 1 <= len(constants_of(op, 2)) <= MOST_DIMENSIONS and min(constants_of(op, 2)) >= 0,
    ),
    Rule(
        "a row number, a weight and a place in each dimension for each entry",
        lambda op: (
            len(input_shape(op)) == 1
            and input_shape(op, 3) == input_shape(op)
            and input_shape(op, 1) == (*input_shape(op), len(constants_of(op, 2)))
        ),
    ),
    Rule(
        "a table of two dimensions or more, with rows",
        lambda op: len(input_shape(op, 4)) > 1 and input_shape(op, 4)[0] > 0,
    ),
)

OPERATORS = (
    OperatorSpec(
        "HASHTABLE_LOOKUP",
        no_attributes,
        (3, 3),
        2,
        LOOKUP_RULES,
        _lookup_shapes,
        _lookup_kernel,
        # A key that is missing gives zeros, not zero points.
        traits=Traits(ignores_scales=True),
    ),
    OperatorSpec("EMBEDDING_LOOKUP_SPARSE", _combiner, (5, 5), 1, SUMS_RULES, _sums_shape, _sums_kernel),
)
