"""RNN and UNIDIRECTIONAL_SEQUENCE_RNN: simple recurrent layers, float32 and float32 by int8 weights.

Inputs: 0 input, 1 weights [units, channels], 2 recurrent weights [units, units], 3 bias [units], 4 state
[batch, units].
"""

from __future__ import annotations

from dataclasses import dataclass

from tflmgen.ir import DType
from tflmgen.ir.kernel import (
    Cost,
    Input,
    Kernel,
    KernelChoice,
    Operand,
    OperatorInstance,
    Output,
    Overlap,
    Params,
    ParamValue,
    Scratch,
    Target,
)
from tflmgen.kernels.choice import choose_fastest, on_fpu
from tflmgen.kernels.numeric.quantize_math import Activation, parse_activation
from tflmgen.kernels.specification.operator import BACKWARD, OperatorSpec, Options, Rule, Shape
from tflmgen.kernels.specification.option_fields import present
from tflmgen.kernels.specification.rules import COMMON, input_shape, input_type, per_tensor, scale, zero_point

HEADER = "rnn.h"
TANH = 4
"""The schema's number of the activation."""
STATE = 4
"""The input that holds the state."""
WEIGHTS = (1, 2)
"""The inputs with the weights of the data and of the state."""


@dataclass(frozen=True, slots=True)
class RnnAttributes:
    """`activation` is None for tanh()."""

    time_major: bool
    backward: bool
    activation: Activation | None
    asymmetric: bool


def parse(options: Options | None) -> RnnAttributes:
    """Activation, order of dimensions, direction, and how a hybrid kernel quantises."""
    options = present(options)
    code = int(options.get("fused_activation_function", 0))
    activation = None if code == TANH else parse_activation(code)
    asymmetric = bool(options.get("asymmetric_quantize_inputs", False))
    time_major, backward = (bool(options.get(name, False)) for name in ("time_major", BACKWARD))
    return RnnAttributes(time_major, backward, activation, asymmetric)


def _extents(op: OperatorInstance) -> tuple[int, int, int]:
    """Batches, steps, channels; an input of 2 dimensions is one step."""
    *lead, channels = input_shape(op)
    if len(lead) == 1:
        return lead[0], 1, channels
    first, second = lead
    return (second, first, channels) if op.attributes.time_major else (first, second, channels)


def _units(op: OperatorInstance) -> int:
    return input_shape(op, 1)[0]


def infer(op: OperatorInstance) -> tuple[Shape]:
    """[batches, steps, inputs], or steps first, to the same with units in place of inputs."""
    return ((*input_type(op, 0).shape[:-1], _units(op)),)


def kernel(op: OperatorInstance, target: Target) -> KernelChoice:
    """The C99 kernel of the layer's types."""
    batches, steps, channels = _extents(op)
    units, activation = _units(op), op.attributes.activation
    least, greatest = (activation or Activation.NONE).bounds
    fields: tuple[tuple[str, ParamValue], ...] = (
        ("batches", batches),
        ("steps", steps),
        ("time_major", op.attributes.time_major),
        ("backward", op.attributes.backward),
        ("inputs", channels),
        ("units", units),
        ("tangent", activation is None),
        ("output_min", least),
        ("output_max", greatest),
    )
    operands: tuple[Operand, ...] = (*(Input(i) for i in range(5)), Output(0), Output(1), Scratch(units * 4))
    macs = batches * steps * units * (channels + units)
    function = "tflmgen_rnn_f32"
    if _is_hybrid(op):
        function = "tflmgen_rnn_hybrid"
        scales = (("scale", scale(input_type(op, 1))), ("recurrent_scale", scale(input_type(op, 2))))
        fields = (*fields, ("asymmetric", op.attributes.asymmetric), *scales)
        operands = (*operands, Scratch(max(channels, units), 1))
    kernel = Kernel(function, HEADER, operands, Params(function, fields), (Overlap(STATE, 1),), Cost(macs))
    return choose_fastest([on_fpu(kernel, target)], target)


def _is_hybrid(op: OperatorInstance) -> bool:
    return input_type(op, 1).dtype is DType.INT8


def _types_fit(op: OperatorInstance) -> bool:
    others = all(input_type(op, i).dtype is DType.FLOAT32 for i in (0, 3, STATE))
    if not others or op.outputs[0].dtype is not DType.FLOAT32:
        return False
    weights = input_type(op, WEIGHTS[0]).dtype
    return weights in (DType.FLOAT32, DType.INT8) and all(input_type(op, i).dtype is weights for i in WEIGHTS)


def _shapes_fit(op: OperatorInstance) -> bool:
    batches, _, channels = _extents(op)
    units = _units(op)
    return (
        input_type(op, 1).shape == (units, channels)
        and input_type(op, 2).shape == (units, units)
        and input_type(op, 3).shape == (units,)
        and input_type(op, STATE).elements == batches * units
    )


def _weights_fit(op: OperatorInstance) -> bool:
    weights = [input_type(op, i) for i in WEIGHTS]
    return not _is_hybrid(op) or all(per_tensor(t) and zero_point(t) == 0 for t in weights)


def _operator(name: str, rank: int) -> OperatorSpec:
    rules = (
        *COMMON,
        Rule("float32 tensors; the weights may be int8", _types_fit),
        Rule(
            f"an input of {rank} dimensions and weights of 2, none of them 0",
            lambda op: (
                len(input_type(op, 0).shape) == rank
                and len(input_type(op, 1).shape) == 2
                and input_type(op, 0).elements * input_type(op, 1).elements > 0
            ),
        ),
        Rule(
            "weights, a bias and a state of the shapes that follow from the input and the number of units", _shapes_fit
        ),
        Rule("one scale and zero point 0 for each tensor of int8 weights", _weights_fit),
    )
    return OperatorSpec(name, parse, (5, 5), 1, rules, infer, kernel, updates=(STATE,))


OPERATORS = (_operator("RNN", 2), _operator("UNIDIRECTIONAL_SEQUENCE_RNN", 3))
