"""LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM: float32 and float32 by int8 weights in all their variants; int8 and int16 as
TFLite Micro has them, int8 in the variants that it lacks as LiteRT has them.

Inputs: 0 input, 1-4 weights of the input, forget, cell and output gates, 5-8 the same for the state, 9-11 peepholes,
12-15 biases, 16-17 projection and its bias, 18 output state, 19 cell state, 20-23 coefficients of layer normalisation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType, Quantization
from tflmgen.ir.kernel import (
    ConstantArray,
    Cost,
    Input,
    Kernel,
    KernelChoice,
    Null,
    Operand,
    OperatorInstance,
    Overlap,
    Params,
    Scratch,
    Target,
)
from tflmgen.kernels.choice import choose_fastest, fast_kernels, on_fpu
from tflmgen.kernels.costs.cost_model import lstm_cost
from tflmgen.kernels.declaration import KernelDeclaration
from tflmgen.kernels.operators.lstm_fixed import ParamFields, fixed_fields, fixed_numbers
from tflmgen.kernels.operators.lstm_integer import INTEGER_RULES, STATES, multiplier_fields, numbers_of_gates
from tflmgen.kernels.operators.lstm_tensors import (
    BIASES,
    CELL_STATE,
    GATES,
    INPUT_GATE,
    NORMS,
    OUTPUT_STATE,
    PEEPHOLES,
    PROJECTION,
    RECURRENT,
    by_gate,
    gates_of,
    has,
    is_fixed,
    is_integer,
    peephole_order,
    shape_rules,
    sizes_of,
)
from tflmgen.kernels.requests import Lstm
from tflmgen.kernels.specification.operator import BACKWARD, INTERMEDIATES, OperatorSpec, Options, Rule, Shape
from tflmgen.kernels.specification.option_fields import present
from tflmgen.kernels.specification.rules import input_is, input_type, scale

TANH = 4
"""The schema's number of the activation."""


@dataclass(frozen=True, slots=True)
class LstmAttributes:
    """Order of dimensions, direction, limits of cell and projection, and how a hybrid kernel quantises."""

    time_major: bool
    backward: bool
    cell_clip: float
    projection_clip: float
    asymmetric: bool
    intermediates: tuple[Quantization | None, ...]


def parse(options: Options | None) -> LstmAttributes:
    """Raises ValueError for the BASIC kind and for other activations than TANH."""
    options = present(options)
    if int(options.get("kernel_type", 0)) != 0:
        raise ValueError("the LSTM is of the BASIC kind (kernel_type 1), which only knows uint8")
    if int(options.get("fused_activation_function", 0)) != TANH:
        raise ValueError("the activation is not TANH")
    if options.get("diagonal_recurrent_tensors", False):
        raise ValueError("the recurrent weights are diagonal (diagonal_recurrent_tensors)")
    clips = [float(options.get(name, 0.0)) for name in ("cell_clip", "proj_clip")]
    if not all(np.isfinite(clip) and clip >= 0 for clip in clips):
        raise ValueError("cell_clip or proj_clip is negative or not finite")
    asymmetric = bool(options.get("asymmetric_quantize_inputs", False))
    time_major, backward = (bool(options.get(name, False)) for name in ("time_major", BACKWARD))
    return LstmAttributes(time_major, backward, clips[0], clips[1], asymmetric, tuple(options.get(INTERMEDIATES, ())))


def infer(op: OperatorInstance) -> tuple[Shape]:
    """[batches, steps, inputs], or steps first, to [batches, steps, outputs]."""
    return ((*input_type(op, 0).shape[:-1], sizes_of(op).outputs),)


def kernel(op: OperatorInstance, target: Target) -> Kernel | KernelChoice:
    """The fastest int8 kernel of the instruction set, or the C99 kernel of the layer's types."""
    sizes = sizes_of(op)
    sequence: ParamFields = (
        ("batches", sizes.batches),
        ("steps", sizes.steps),
        ("time_major", op.attributes.time_major),
        ("inputs", sizes.inputs),
        ("cells", sizes.cells),
    )
    in_place = (Overlap(OUTPUT_STATE, 1), Overlap(CELL_STATE, 2), *_input_overlaps(op))
    dtype = DType.FLOAT32 if input_type(op, INPUT_GATE + 1).dtype is DType.FLOAT32 else DType.INT8
    arrays = [
        ConstantArray.of(n, by_gate(op, i), dtype) for n, i in (("weights", INPUT_GATE), ("recurrent", RECURRENT))
    ]
    gates = Scratch(len(gates_of(op)) * sizes.cells * (2 if is_integer(op) else 4))
    macs = len(gates_of(op)) * sizes.cells * (sizes.inputs + sizes.outputs)
    macs = sizes.batches * sizes.steps * (macs + (sizes.cells * sizes.outputs if has(op, PROJECTION) else 0))
    if is_fixed(op):
        variant: ParamFields = (("outputs", sizes.outputs), ("coupled", not has(op, INPUT_GATE)))
        fields = Params("tflmgen_lstm_fixed_s8", (*sequence, *variant, *fixed_fields(op)))
        scratch = gates, Scratch(sizes.cells, 1)
        operands: tuple[Operand, ...] = (Input(0), *arrays, *fixed_numbers(op), *STATES, *scratch)
        return Kernel("tflmgen_lstm_fixed_s8", "lstm_fixed.h", operands, fields, in_place, Cost(macs))
    if is_integer(op):
        suffix = "s8" if input_type(op, 0).dtype is DType.INT8 else "s16"
        if suffix == "s8" and (kernels := fast_kernels(Lstm(op, target, sequence, in_place, macs))):
            return choose_fastest(kernels, target)
        fields = Params("tflmgen_lstm_integer", (*sequence, *multiplier_fields(op)))
        operands = (Input(0), *arrays, *numbers_of_gates(op), *STATES, gates)
        return Kernel(f"tflmgen_lstm_{suffix}", "lstm.h", operands, fields, in_place, Cost(macs))
    variant = (
        ("backward", op.attributes.backward),
        ("outputs", sizes.outputs),
        ("coupled", not has(op, INPUT_GATE)),
        ("cell_clip", op.attributes.cell_clip),
        ("projection_clip", op.attributes.projection_clip),
    )
    operands = (Input(0), *arrays, *_float_numbers(op), *STATES, gates)
    if dtype is DType.FLOAT32:
        fields = Params("tflmgen_lstm_f32", (*sequence, *variant))
        # The cost model knows nothing of the other variants.
        plain = not any(has(op, i) for i in (PEEPHOLES + 1, NORMS + 1, PROJECTION))
        family = "lstm_f32" if plain else ""
        kernel = on_fpu(Kernel("tflmgen_lstm_f32", "lstm.h", operands, fields, in_place, Cost(macs, family)), target)
        return choose_fastest([kernel], target) if plain else kernel
    fields = Params("tflmgen_lstm_hybrid", (*sequence, *variant, *_weight_scales(op)))
    quantized = Scratch(max(sizes.inputs, sizes.cells, sizes.outputs), 1)
    return Kernel("tflmgen_lstm_hybrid", "lstm_hybrid.h", (*operands, quantized), fields, in_place, Cost(macs))


def _input_overlaps(op: OperatorInstance) -> tuple[Overlap, ...]:
    """A row of the output is written once the input's is read, if rows follow one another in memory."""
    sizes, size = sizes_of(op), op.outputs[0].dtype.bits // 8
    if op.attributes.backward or (op.attributes.time_major and sizes.batches > 1 and sizes.steps > 1):
        return ()
    distance = max(0, (sizes.batches * sizes.steps - 1) * (sizes.outputs - sizes.inputs) * size)
    return (Overlap(0, 0, distance),)


def _weight_scales(op: OperatorInstance) -> ParamFields:
    """The scales of int8 weights beside float32 activations."""

    def scales(first: int) -> tuple[float, ...]:
        gate_scales = [scale(input_type(op, first + gate)) for gate in gates_of(op)]
        return (*gate_scales, *[0.0] * (len(GATES) - len(gate_scales)))

    return (
        ("asymmetric", op.attributes.asymmetric),
        ("scales", scales(INPUT_GATE)),
        ("recurrent_scales", scales(RECURRENT)),
        ("projection_scale", scale(input_type(op, PROJECTION)) if has(op, PROJECTION) else 0.0),
    )


def _float_numbers(op: OperatorInstance) -> tuple[Operand, ...]:
    """Biases, peepholes, norms, projection and its bias."""

    def array(name: str, values: NDArray[Any]) -> Operand:
        return ConstantArray.of(name, values, DType.FLOAT32)

    peepholes: Operand = Null()
    if has(op, PEEPHOLES + 1):
        peepholes = array("peepholes", np.concatenate([_real_values(op, i) for i in peephole_order(op)]))
    return (
        array("biases", by_gate(op, BIASES)),
        peepholes,
        array("norms", by_gate(op, NORMS)) if has(op, NORMS + 1) else Null(),
        Input(PROJECTION) if has(op, PROJECTION) else Null(),
        Input(PROJECTION + 1) if has(op, PROJECTION + 1) else Null(),
    )


def _real_values(op: OperatorInstance, index: int) -> NDArray[np.float32]:
    """A constant that is float32, or int8 and quantised as a whole."""
    values = np.asarray(op.constants[index]).astype(np.float32)
    if input_type(op, index).dtype is DType.FLOAT32:
        return values
    scaled: NDArray[np.float32] = values * np.float32(scale(input_type(op, index)))
    return scaled


FORWARD = Rule(
    "int8 and int16 sequences to run from the first step to the last",
    lambda op: not (op.attributes.backward and is_integer(op)),
)


def _operator(name: str, rank: int) -> OperatorSpec:
    rules: tuple[Rule, ...] = (*shape_rules(rank), FORWARD, *INTEGER_RULES)
    if rank == 2:
        rules = (*rules, input_is(0, "input of a single step", DType.FLOAT32, DType.INT8))
    return OperatorSpec(name, parse, (1, 24), 1, rules, infer, kernel, updates=(OUTPUT_STATE, CELL_STATE))


OPERATORS = (_operator("LSTM", 2), _operator("UNIDIRECTIONAL_SEQUENCE_LSTM", 3))


KERNEL = KernelDeclaration(
    "lstm.h", "portable", costs={"lstm_f32": lstm_cost("lstm float32", "time cell step mac", 1, 1, 8)}
)
