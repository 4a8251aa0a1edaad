"""TflmgenGru, an operator of tflmgen's own: a gated recurrent unit over a sequence, which Circle's GRU becomes.

Inputs: float32 [steps, 1, inputs]; weights of the input [3 * units, inputs] and their bias [3 * units]; weights of
the state [3 * units, units] and their bias; the first state, [1, units].
Output: float32, the last state. firmware/kernels/gru.h has the formula. There is no state between calls.
"""

from __future__ import annotations

from tflmgen.ir import DType
from tflmgen.ir.kernel import Cost, Input, Kernel, OperatorInstance, Output, Params, Scratch, Target
from tflmgen.kernels.operators.custom import CustomOperator
from tflmgen.kernels.specification.operator import Rule, Shape
from tflmgen.kernels.specification.rules import COMMON, input_is, input_shape, input_type, output_is

INPUT, WEIGHTS, BIAS, STATE_WEIGHTS, STATE_BIAS, STATE = range(6)
NAMES = ("input", "tensor of weights", "bias", "tensor of the state's weights", "state's bias", "state")


def _units(op: OperatorInstance) -> int:
    return input_shape(op, STATE_WEIGHTS)[-1]


def _shapes_fit(op: OperatorInstance) -> bool:
    units, inputs = _units(op), input_shape(op, INPUT)[-1]
    biases = [input_type(op, place).elements for place in (BIAS, STATE_BIAS)]
    return (
        input_shape(op, WEIGHTS) == (3 * units, inputs)
        and input_shape(op, STATE_WEIGHTS) == (3 * units, units)
        and biases == [3 * units, 3 * units]
        and input_type(op, STATE).elements == op.outputs[0].elements == units > 0
    )


class Gru(CustomOperator):
    """Gated recurrent unit, whose reset gate acts on the product with the state."""

    name = "TflmgenGru"
    inputs = (6, 6)
    rules = (
        *COMMON,
        *(input_is(place, name, DType.FLOAT32) for place, name in enumerate(NAMES)),
        output_is(DType.FLOAT32),
        Rule(
            "an input of 3 dimensions (time, a batch of one, elements) and weights of 2",
            lambda op: (
                [len(input_shape(op, place)) for place in (INPUT, WEIGHTS, STATE_WEIGHTS)] == [3, 2, 2]
                and input_shape(op, INPUT)[1] == 1
            ),
        ),
        Rule(
            "weights, biases and a state of the shapes that follow from the input and the number of units", _shapes_fit
        ),
    )

    def infer(self, op: OperatorInstance) -> tuple[Shape | None]:
        del op
        return (None,)

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel:
        del target
        units, (steps, _, inputs) = _units(op), input_shape(op, INPUT)
        fields = (("steps", steps), ("inputs", inputs), ("units", units))
        operands = (
            *(Input(INPUT), Input(WEIGHTS), Input(BIAS), Input(STATE_WEIGHTS), Input(STATE_BIAS), Input(STATE)),
            *(Output(0), Scratch(24 * units)),
        )
        cost = Cost(3 * steps * units * (inputs + units))
        return Kernel("tflmgen_gru_f32", "gru.h", operands, Params("tflmgen_gru", fields), cost=cost)


OPERATORS = (Gru().row(),)
