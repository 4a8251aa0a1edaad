"""Kernels that copy from places listed per dimension (firmware/kernels/mapped_copy.h), and MIRROR_PAD."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Params, Target, View
from tflmgen.kernels.numeric.strides import MAX_RANK, Ints, strides_of
from tflmgen.kernels.operators.pad import padded_shape, padding_rules, paddings
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, Shape
from tflmgen.kernels.specification.rules import input_shape, input_type
from tflmgen.kernels.traits import BY_AXIS


def mapped_kernel(op: OperatorInstance, indices: Sequence[Ints]) -> Kernel | View:
    """The call that fills output 0 with the elements of input 0 whose index along dimension d is in indices[d].

    Trailing dimensions that are copied as they are make up one block.
    """
    shape = input_shape(op)
    loops = len(shape)
    while loops and indices[loops - 1] == tuple(range(shape[loops - 1])):
        loops -= 1
    if loops == 0:
        return View(0)
    size = input_type(op, 0).dtype.bits // 8
    offsets = [
        [index * stride * size for index in along]
        for along, stride in zip(indices[:loops], strides_of(shape)[:loops], strict=True)
    ]
    block_bytes = math.prod(shape[loops:]) * size
    runs = [runs_of(along) for along in offsets]
    if sum(map(len, runs)) * len(runs[0][0]) < sum(map(len, offsets)):
        return _run_kernel(runs, block_bytes)
    extents = tuple(len(along) for along in indices[:loops]) + (0,) * (MAX_RANK - loops)
    table = ConstantArray.of("map", np.array([o for along in offsets for o in along]), DType.INT32)
    fields = (("rank", loops), ("extent", extents), ("block_bytes", block_bytes))
    params = Params("tflmgen_mapped_copy", fields)
    return Kernel("tflmgen_mapped_copy", "mapped_copy.h", (Input(0), table, Output(0)), params)


def run_copy(op: OperatorInstance, indices: Sequence[Ints]) -> Kernel | None:
    """The call of mapped_kernel() if it has a table of runs."""
    kernel = mapped_kernel(op, indices) if math.prod(map(len, indices)) else None
    return kernel if isinstance(kernel, Kernel) and kernel.function == "tflmgen_run_copy" else None


Run = tuple[int, int, int]
"""A count of offsets, the first of them, and the difference of neighbours."""


def runs_of(offsets: Sequence[int]) -> list[Run]:
    """Offsets as arithmetic sequences that follow one another."""
    runs: list[Run] = []
    for offset in offsets:
        if runs:
            count, first, step = runs[-1]
            if count == 1 or offset == first + count * step:
                runs[-1] = (count + 1, first, offset - first if count == 1 else step)
                continue
        runs.append((1, offset, 0))
    return runs


def _run_kernel(runs: Sequence[Sequence[Run]], block_bytes: int) -> Kernel:
    counts = tuple(map(len, runs)) + (0,) * (MAX_RANK - len(runs))
    numbers = [number for along in runs for run in along for number in run]
    fields = (("rank", len(runs)), ("runs", counts), ("block_bytes", block_bytes))
    operands = (Input(0), ConstantArray.of("runs", np.array(numbers), DType.INT32), Output(0))
    return Kernel("tflmgen_run_copy", "run_copy.h", operands, Params("tflmgen_run_copy", fields))


@dataclass(frozen=True, slots=True)
class Mirror:
    """0: the element at the edge is not repeated (REFLECT); 1: it is (SYMMETRIC)."""

    repeat: int


def _parse(options: Options | None) -> Mirror:
    mode = int((options or {}).get("mode", 0))
    if mode not in (0, 1):
        raise ValueError(f"the mode {mode} is not known")
    return Mirror(mode)


def _mirrored(dim: int, before: int, after: int, repeat: int) -> Ints:
    """The input's index for each of the output's along one dimension."""
    indices = []
    for position in range(-before, dim + after):
        if position < 0:
            indices.append(-position - repeat)
        elif position >= dim:
            indices.append(2 * dim - 2 - position + repeat)
        else:
            indices.append(position)
    return tuple(indices)


def _kernel(op: OperatorInstance, target: Target) -> Kernel | View:
    del target
    shape = input_shape(op)
    tables = [_mirrored(d, *pair, op.attributes.repeat) for d, pair in zip(shape, paddings(op), strict=True)]
    return mapped_kernel(op, tables)


def _infer(op: OperatorInstance) -> tuple[Shape | None, ...]:
    return (padded_shape(op),)


RULES = (
    *padding_rules(DType.INT32, DType.INT64),
    Rule(
        "paddings shorter than the mirrored dimension (SYMMETRIC: at most as long)",
        lambda op: all(
            max(pair) <= d - 1 + op.attributes.repeat for d, pair in zip(input_shape(op), paddings(op), strict=True)
        ),
    ),
    Rule(f"an input of at most {MAX_RANK} dimensions", lambda op: len(input_type(op, 0).shape) <= MAX_RANK),
)

OPERATORS = (OperatorSpec("MIRROR_PAD", _parse, (2, 2), 1, RULES, _infer, _kernel, traits=BY_AXIS),)
