"""Row-wise decomposition of operators: the input rows of each output row, and the operator on these rows only.

Tensors are [1, height, width, channels]; a row is [1, 1, width, channels]. An operator runs in ticks: tick j computes
output row j or, if the operator reduces its whole input to one row, accumulates input row j.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tflmgen.explore.streams.push_rows import PUSH
from tflmgen.ir import TensorType
from tflmgen.ir.graph import Op, Value
from tflmgen.ir.kernel import Input, Kernel, KernelChoice, OperatorInstance, Output, Target
from tflmgen.kernels import OPERATORS, Sliding, instance_of, traits_of
from tflmgen.kernels.operators import pool_by_rows, reduces_rows
from tflmgen.kernels.specification import Steps, Window, four, is_hybrid


@dataclass(frozen=True, slots=True)
class RowOperator:
    """One operator of a stream.

    data           indices of the inputs that arrive by rows; the others are constant
    reduces        all input rows are reduced to one output row, complete after the last tick
    height         rows of the output
    input_height   rows of every data input
    needs          input rows [first, end) that each tick reads, the same for every data input
    begins         the row at which the window of each tick begins, negative in the padding; empty without a window
    """

    op: Op
    instance: OperatorInstance
    data: tuple[int, ...]
    window: Window | None
    reduces: bool
    height: int
    input_height: int
    needs: tuple[tuple[int, int], ...]
    begins: tuple[int, ...] = ()

    @property
    def output(self) -> TensorType:
        """Type of the whole output."""
        return self.instance.outputs[0]

    @property
    def ticks(self) -> int:
        """Number of ticks, each of which reads some rows of the inputs."""
        return len(self.needs)

    def borders(self, tick: int) -> tuple[int, int]:
        """Rows of the window above and below the input; for a reduction: whether the tick is its first, its last."""
        if self.reduces:
            return int(tick == 0), int(tick == self.ticks - 1)
        if self.window is None:
            return 0, 0
        first = self.begins[tick]
        return max(-first, 0), max(first + self.window.reach[0] - self.input_height, 0)

    def kernel(self, tick: int, target: Target) -> KernelChoice | None:
        """Kernels of one tick; Input(i) is the operator's input i, for data inputs from row needs[tick] on."""
        if self.op.operator == PUSH:
            return KernelChoice.of(Kernel("", "", (Input(0), Output(0))))
        if self.reduces:
            return KernelChoice.of(pool_by_rows(self.instance, tick))
        first, end = self.needs[tick]
        inputs = tuple(
            _rows(type_, end - first) if type_ is not None and index in self.data else type_
            for index, type_ in enumerate(self.instance.inputs)
        )
        attributes = self.instance.attributes
        if self.window is not None:
            attributes = replace(attributes, steps=self._steps(self.window, tick))
        instance = replace(self.instance, inputs=inputs, outputs=(_rows(self.output, 1),), attributes=attributes)
        computation = OPERATORS[self.op.operator].kernel(instance, target)
        choice = KernelChoice.of(computation) if isinstance(computation, Kernel) else computation
        return choice if isinstance(choice, KernelChoice) and not choice.kernel.error else None

    def _steps(self, window: Window, tick: int) -> Steps:
        """The window with the explicit padding of this tick."""
        steps, width = window.steps, window.width
        above, below = self.borders(tick)
        right = (width.output - 1) * steps.stride_width + window.reach[1] - window.input[2] - width.padding
        return replace(steps, same=False, before=(above, width.padding), after=(below, max(right, 0)))


def row_operator(op: Op, constants: Mapping[str, bytes]) -> RowOperator | None:
    """The operator decomposed into rows; None if it cannot be."""
    if op.operator == PUSH:
        instance = instance_of(op.inputs, [op.outputs[0].type], None, constants)
        height = four(op.outputs[0].type.max_shape)[1]
        return RowOperator(op, instance, (0,), None, False, height, 1, ((0, 1),) * height)
    traits = traits_of(op.operator)
    if len(op.outputs) != 1 or not op.inputs or not traits.by_rows:
        return None
    data = tuple(i for i, value in enumerate(op.inputs) if value is not None and not value.is_constant)
    types = [value.type for value in (*(op.inputs[i] for i in data), op.outputs[0]) if value is not None]
    if not data or not all(_is_image(type_) for type_ in types):
        return None
    instance = instance_of(op.inputs, [op.outputs[0].type], op.attributes, constants)
    if traits.window is not None:
        taps = _taps(op)
        if data != (0,) or taps is None or _quantizes_as_a_whole(op, instance):
            return None
        window = Window(op.attributes.steps, four(types[0].max_shape), taps)
        return _row_operator(op, instance, data, window, reduces_rows(op.operator, instance))
    if any(type_.max_shape != types[-1].max_shape for type_ in types) or not _broadcasts_over_rows(op):
        return None
    return _row_operator(op, instance, data, None, False)


def _row_operator(
    op: Op, instance: OperatorInstance, data: tuple[int, ...], window: Window | None, reduces: bool
) -> RowOperator:
    source = instance.inputs[data[0]]
    assert source is not None
    above, height = four(source.max_shape)[1], four(instance.outputs[0].max_shape)[1]
    needs = [(row, row + 1) for row in range(above)]
    begins: list[int] = []
    if window is not None:
        ticks, stride, padding = above if reduces else height, window.steps.stride_height, window.height.padding
        begins = [tick * stride - padding for tick in range(ticks)]
        if not reduces:
            needs = [(max(first, 0), min(first + window.reach[0], above)) for first in begins]
    return RowOperator(op, instance, data, window, reduces, height, above, tuple(needs), tuple(begins))


def _taps(op: Op) -> tuple[int, int] | None:
    if traits_of(op.operator).window is Sliding.POOL:
        taps: tuple[int, int] = op.attributes.taps
        return taps
    weights = op.inputs[1]
    if weights is None or not weights.is_constant or len(weights.type.shape) != 4:
        return None
    return four(weights.type.max_shape)[1:3]


def _quantizes_as_a_whole(op: Op, instance: OperatorInstance) -> bool:
    """Whether the operator quantises its input at run time by the range of the whole input."""
    return traits_of(op.operator).window is Sliding.FILTER and is_hybrid(instance)


def _broadcasts_over_rows(op: Op) -> bool:
    """Whether the constant inputs are equal for every row."""
    fixed = [v.type.max_shape for v in op.inputs if v is not None and v.is_constant]
    return all(len(shape) < 3 or shape[-3] == 1 for shape in fixed)


def _is_image(type_: TensorType) -> bool:
    return len(type_.shape) == 4 and type_.is_static and type_.shape[0] == 1 and type_.elements > 0


def _rows(type_: TensorType, count: int) -> TensorType:
    return type_.with_shape((1, count, *type_.shape[2:]))


def row_bytes(value: Value) -> int:
    """Bytes of one row of a value."""
    return value.type.bytes // four(value.type.max_shape)[1]
