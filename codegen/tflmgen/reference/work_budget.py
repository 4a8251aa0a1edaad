"""Work of an evaluation, estimated from shapes alone, and the budget of work that may still be done.

The unit is the nanosecond of a desktop-class machine. What a budget admits depends on the model and its inputs, not on
the machine: the same build is validated as far everywhere.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass

from tflmgen.reference.definitions.evaluations import MOVES
from tflmgen.reference.operation import Operation

STEP = 10_000.0
"""Nanoseconds of each operator for the walk and the look-up of operands."""
MOVING = (5_000.0, 2.0)
"""Nanoseconds (per operator, per element) where elements are only moved."""
FLOATS = (10_000.0, 10.0)
"""Nanoseconds (per operator, per element) of floats, computed element by element."""
FIXED_POINT = (60_000.0, 20.0)
"""Nanoseconds (per operator, per element) of integers that are requantised."""
ITERATED = (200_000.0, 300.0)
"""Nanoseconds (per operator, per element) of integer functions by gemmlowp's polynomials and Newton's iterations."""
ITERATIONS = frozenset({"LOGISTIC", "TANH", "SOFTMAX", "LOG_SOFTMAX", "RSQRT", "L2_NORMALIZATION"})
ONE_BY_ONE = (60_000.0, 500.0)
"""Nanoseconds (per operator, per element) of custom operators, whose elements Python takes one by one."""
TRANSFORMED = (100_000.0, 5_000.0)
"""Nanoseconds (per operator, per element) of Fourier transforms."""
TRANSFORMS = frozenset({"CUSTOM:SignalRfft", "CUSTOM:SignalIrfft"})

PRODUCT = (0.5, 1.2)
"""Nanoseconds of a multiply-accumulate in a product of matrices (of floats, of integers)."""
TAP = 4.0
"""Nanoseconds of a tap in depthwise layers and pools, whose taps numpy takes one by one."""
RECURRENT = 20.0
"""Nanoseconds of a multiply-accumulate in a recurrent layer, whose steps numpy takes one by one."""
LAYER_STEP = (30_000.0, 300_000.0)
"""Nanoseconds of a step of a recurrent layer (in floats, in integers)."""
RECURRENT_LAYERS = ("SVDF", "RNN", "LSTM")


class WorkError(Exception):
    """The work that an evaluation may do is done."""


class ClockError(WorkError):
    """The deadline is over, before the work is done."""


@dataclass
class Budget:
    """Work that may still be done.

    nanoseconds  estimated
    deadline     time.process_time() from which on nothing more is done
    whole        the budget that this one is a share of
    """

    nanoseconds: float = math.inf
    deadline: float = math.inf
    whole: Budget | None = None

    def share(self, parts: int) -> Budget:
        """One of this many equal parts of what is left; what it spends is spent here as well."""
        return Budget(self.nanoseconds / parts, self.deadline, self)

    @property
    def is_exhausted(self) -> bool:
        """Whether the work is used up."""
        return self.nanoseconds < 0

    def spend(self, nanoseconds: float) -> None:
        """Raises BudgetError if less than that is left, and ClockError after the deadline."""
        self.nanoseconds -= nanoseconds
        if self.whole is not None:
            self.whole.spend(nanoseconds)
        if self.is_exhausted:
            raise WorkError
        if time.process_time() > self.deadline:
            raise ClockError

    def spend_on(self, op: Operation) -> None:
        """Spends what an operator's evaluation takes."""
        self.spend(estimated(op))


def estimated(op: Operation) -> float:
    """Nanoseconds of an evaluation, from the operator's name, types and shapes."""
    shapes = [value.shape for value in op.inputs if value is not None]
    output_size = sum(_size(type_.max_shape) for type_ in op.output_types)
    products = _products(op, shapes, output_size)
    elements = output_size + sum(math.prod(shape) for shape in (shapes[:1] if products else shapes))
    is_fixed_point = _is_fixed_point(op)
    if op.name in MOVES:
        once, each = MOVING
    elif op.name.startswith("CUSTOM:"):
        once, each = TRANSFORMED if op.name in TRANSFORMS else ONE_BY_ONE
    elif not is_fixed_point:
        once, each = FLOATS
    else:
        once, each = ITERATED if op.name in ITERATIONS else FIXED_POINT
    return once + each * elements + products


def _products(op: Operation, shapes: list[tuple[int, ...]], output_size: int) -> float:
    """Nanoseconds of an operator's multiply-accumulates; 0: it has none."""
    name, product = op.name.removesuffix("_IN_USE"), PRODUCT[_is_fixed_point(op)]
    if name.endswith(RECURRENT_LAYERS):
        steps = math.prod(shapes[0][:-1])
        weights = sum(math.prod(shape) for shape in shapes[1:])
        return float(steps * (LAYER_STEP[_is_fixed_point(op)] + RECURRENT * weights))
    if name.endswith("POOL_2D"):
        return output_size * TAP * int(op.options.get("filter_height", 1)) * int(op.options.get("filter_width", 1))
    of_output = _OUTPUT_AXIS.get(name)
    if of_output is not None and len(shapes) > 1 and shapes[1]:
        taps = math.prod(shapes[1]) / max(shapes[1][of_output], 1)
        return output_size * taps * (TAP if name == "DEPTHWISE_CONV_2D" else product)
    if name == "TRANSPOSE_CONV":
        return product * math.prod(shapes[2]) * math.prod(shapes[1]) / max(shapes[1][-1], 1)
    if name == "BATCH_MATMUL":
        return product * output_size * shapes[0][-2 if op.options.get("adj_x") else -1]
    return 0.0


_OUTPUT_AXIS: Mapping[str, int] = {"CONV_2D": 0, "FULLY_CONNECTED": 0, "DEPTHWISE_CONV_2D": -1, "CONV_3D": -1}
"""Axis of the weights that has the output's channels."""


def _is_fixed_point(op: Operation) -> bool:
    return any(t.quantization is not None and not t.dtype.is_float for t in op.output_types)


def _size(shape: tuple[int, ...]) -> int:
    """Elements of a declared shape; dimensions that are unknown count once."""
    return math.prod(max(extent, 1) for extent in shape)
