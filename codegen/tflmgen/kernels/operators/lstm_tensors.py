"""The 24 inputs of an LSTM: which there are, their shapes, and the numbers of all gates in one array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels.specification.operator import Rule
from tflmgen.kernels.specification.rules import STATIC, input_shape, input_type

INPUT_GATE, RECURRENT, PEEPHOLES, BIASES, PROJECTION, OUTPUT_STATE, CELL_STATE, NORMS = 1, 5, 9, 12, 16, 18, 19, 20
"""First input of each kind, as TFLite orders them; INPUT_GATE is that of the input gate's weights."""

GATES = (1, 2, 3, 0)
"""The order of gates in the kernel, forget, cell, output, input, as offsets in the file's."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Extents of an LSTM: `cells` in the cell state, `outputs` in the output state, equal without a projection."""

    batches: int
    steps: int
    inputs: int
    cells: int
    outputs: int


def has(op: OperatorInstance, index: int) -> bool:
    """Whether the file gives this input."""
    return index < len(op.inputs) and op.inputs[index] is not None


def sizes_of(op: OperatorInstance) -> Sizes:
    """Extents by the input and the forget gate's weights; an input of 2 dimensions is one step."""
    *lead, inputs = input_shape(op)
    if len(lead) == 1:
        batches, steps = lead[0], 1
    else:
        batches, steps = reversed(lead) if op.attributes.time_major else lead
    return Sizes(
        batches,
        steps,
        inputs,
        input_shape(op, INPUT_GATE + 1)[0],
        input_shape(op, RECURRENT + 1)[1],
    )


def gates_of(op: OperatorInstance) -> tuple[int, ...]:
    """The gates that there are, in the kernel's order."""
    return GATES if has(op, INPUT_GATE) else GATES[:-1]


def peephole_order(op: OperatorInstance) -> list[int]:
    """The inputs that are peepholes, in the kernel's order."""
    return [i for i in (PEEPHOLES + 1, PEEPHOLES + 2, PEEPHOLES) if has(op, i)]


def is_integer(op: OperatorInstance) -> bool:
    """Whether activations are integers."""
    return input_type(op, 0).dtype is not DType.FLOAT32


def is_fixed(op: OperatorInstance) -> bool:
    """Whether an int8 LSTM is one that TFLite Micro lacks: a single step, or any variant."""
    variant = not has(op, INPUT_GATE) or any(has(op, i) for i in (PEEPHOLES + 1, PROJECTION, NORMS + 1))
    return is_integer(op) and (variant or len(input_type(op, 0).shape) == 2)


def by_gate(op: OperatorInstance, first: int) -> NDArray[Any]:
    """The constants of all gates, the first of which (the input gate's) is input `first`; row after row."""
    arrays = [np.asarray(op.constants[first + gate]) for gate in gates_of(op)]
    return np.concatenate(arrays)


def rows_by_gate(by_cell: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows [cells * 4, ...], of each cell the forget, cell, output and input gate's, as [4 * cells, ...] in the file's
    order: all input gates, forget gates, cells and output gates."""
    of_cells = by_cell.reshape(-1, 4, *by_cell.shape[1:])
    return np.concatenate([of_cells[:, gate] for gate in (3, 0, 1, 2)])


def _all_or_none(op: OperatorInstance, *indices: int) -> bool:
    return len({has(op, i) for i in indices}) == 1


def _optional_fit(op: OperatorInstance) -> bool:
    """Whether what belongs together is there or absent together; the input gate's share with the input gate."""
    coupled = not has(op, INPUT_GATE)
    groups = ((INPUT_GATE, RECURRENT, BIASES), (PEEPHOLES + 1, PEEPHOLES + 2), (NORMS + 1, NORMS + 2, NORMS + 3))
    if not all(_all_or_none(op, *group) for group in groups):
        return False
    peephole_fits = has(op, PEEPHOLES) == (has(op, PEEPHOLES + 1) and not coupled)
    norm_fits = has(op, NORMS) == (has(op, NORMS + 1) and not coupled)
    return peephole_fits and norm_fits and (has(op, PROJECTION) or not has(op, PROJECTION + 1))


def _shapes_fit(op: OperatorInstance) -> bool:
    sizes = sizes_of(op)
    wanted: dict[int, tuple[int, ...]] = dict.fromkeys(range(INPUT_GATE, RECURRENT), (sizes.cells, sizes.inputs))
    wanted |= dict.fromkeys(range(RECURRENT, PEEPHOLES), (sizes.cells, sizes.outputs))
    wanted |= dict.fromkeys((*range(PEEPHOLES, PROJECTION), *range(NORMS, NORMS + 4)), (sizes.cells,))
    wanted |= {PROJECTION: (sizes.outputs, sizes.cells), PROJECTION + 1: (sizes.outputs,)}
    return all(not has(op, i) or input_type(op, i).shape == shape for i, shape in wanted.items())


def _states_fit(op: OperatorInstance) -> bool:
    sizes = sizes_of(op)
    cells_agree = has(op, PROJECTION) or sizes.cells == sizes.outputs
    return (
        cells_agree
        and input_type(op, OUTPUT_STATE).elements == sizes.batches * sizes.outputs
        and input_type(op, CELL_STATE).elements == sizes.batches * sizes.cells
    )


def _required(op: OperatorInstance) -> bool:
    weights = (i for first in (INPUT_GATE, RECURRENT, BIASES) for i in range(first + 1, first + 4))
    return all(has(op, i) for i in (0, *weights, OUTPUT_STATE, CELL_STATE))


def _types_fit(op: OperatorInstance) -> bool:
    """Float32, with int8 weights or not, or int8 weights with int8 or int16 activations and cells of int16."""
    dtype = input_type(op, 0).dtype
    if dtype is DType.FLOAT32:
        weighted = [i for i in (*range(INPUT_GATE, BIASES), PROJECTION) if has(op, i)]
        others = [t for i, t in enumerate(op.inputs) if t is not None and i not in weighted]
        if not all(t.dtype is dtype for t in (*others, *op.outputs)):
            return False
        kind = input_type(op, weighted[0]).dtype
        return kind in (dtype, DType.INT8) and all(input_type(op, i).dtype is kind for i in weighted)
    if dtype not in (DType.INT8, DType.INT16):
        return False
    bias = DType.INT32 if dtype is DType.INT8 else DType.INT64
    wanted = dict.fromkeys(range(INPUT_GATE, PEEPHOLES), DType.INT8)
    wanted |= dict.fromkeys(range(BIASES, PROJECTION), bias)
    wanted |= {OUTPUT_STATE: dtype, CELL_STATE: DType.INT16, PROJECTION: DType.INT8, PROJECTION + 1: DType.INT32}
    wanted |= dict.fromkeys((*range(PEEPHOLES, BIASES), *range(NORMS, NORMS + 4)), DType.INT16)
    return op.outputs[0].dtype is dtype and all(
        not has(op, i) or input_type(op, i).dtype is want for i, want in wanted.items()
    )


def _weights_are_constant(op: OperatorInstance) -> bool:
    run_time = (0, OUTPUT_STATE, CELL_STATE)
    return all(not has(op, i) or op.constants[i] is not None for i in range(len(op.inputs)) if i not in run_time)


def shape_rules(rank: int) -> tuple[Rule, ...]:
    """Rules for an LSTM whose input has `rank` dimensions."""
    dimensions = "batch and channels" if rank == 2 else "batch, time and channels"
    return (
        Rule("20 inputs, or 24 with layer normalisation", lambda op: len(op.inputs) in (20, 24)),
        Rule("an input, the weights and biases of three gates, and both states", _required),
        STATIC,
        Rule(
            "float32 tensors, where weights, peepholes and projection may be int8; or an int8 (int16) "
            "input and output, int8 weights, int32 (int64) biases, and int16 cells, peepholes and "
            "coefficients",
            _types_fit,
        ),
        Rule("weights, biases and coefficients to be constant", _weights_are_constant),
        Rule(
            f"an input of {rank} dimensions ({dimensions}), none of them 0",
            lambda op: len(input_type(op, 0).shape) == rank and 0 not in input_type(op, 0).shape,
        ),
        Rule("optional tensors that belong together to be all present or all absent", _optional_fit),
        Rule(
            "weights of 2 dimensions, none of them 0",
            lambda op: all(len(input_type(op, i).shape) == 2 and input_type(op, i).elements > 0 for i in (2, 6)),
        ),
        Rule("weights, biases and coefficients of the shapes that follow from the forget gate", _shapes_fit),
        Rule("states of one value per batch and cell or output, and as many cells as outputs", _states_fit),
    )
