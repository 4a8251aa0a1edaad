"""The whole-window twin of a streaming model: the same weights over all rows at once, without variables.

A streaming model keeps the last rows of each layer in a variable, puts new rows behind them (CONCATENATION), and slides
the variable on (STRIDED_SLICE). The twin has the rows of all time in their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from tflmgen.ir.graph.module import Block, Function, Module, Op, Value
from tflmgen.ir.rewrite import Ids
from tflmgen.ir.types import DType, TensorType
from tflmgen.kernels.operators import Dimensions

TIME = 1
"""The axis of time of every tensor with rows."""


def window_twin(module: Module) -> Module:
    """The twin with the fewest rows for which its last layers see what the streaming model's do."""
    first = module.signatures[0].inputs[0].type.max_shape[TIME]
    for rows in range(first, 512):
        twin = _Twin(module).of_rows(rows)
        if twin is not None:
            return twin
    raise ValueError("no window has the rows that the last layers read")


class _Twin:
    def __init__(self, module: Module) -> None:
        self._module, self._ids = module, Ids(module)
        self._function = module.function(module.signatures[0].function)
        self._constants = dict(module.constants)
        ports = len(module.signatures[0].inputs)
        self._states = set(self._function.inputs[ports:])
        self._next = set(self._function.body.results[len(module.signatures[0].outputs) :])
        self._values: dict[Value, Value] = {}
        self._nodes: list[Op] = []

    def of_rows(self, rows: int) -> Module | None:
        """The twin over so many rows; None if a tensor that is read flat would have another number of rows."""
        (port,), (window, *_) = self._module.signatures[0].inputs, self._function.inputs
        self._values[window] = self._with_rows(window, rows)
        for node in self._function.body.nodes:
            assert isinstance(node, Op)
            if not self._add(node):
                return None
        outputs = len(self._module.signatures[0].outputs)
        results = tuple(self._values[value] for value in self._function.body.results[:outputs])
        if any(new.type != old.type for old, new in zip(self._function.body.results, results, strict=False)):
            return None
        body = Block(tuple(self._nodes), results, self._function.body.name)
        function = Function(self._function.name, (self._values[window],), body)
        wide = replace(port, type=self._values[window].type)
        signature = replace(self._module.signatures[0], inputs=(wide,))
        return replace(
            self._module, functions=(function,), signatures=(signature,), state={}, constants=self._constants
        )

    def _with_rows(self, value: Value, rows: int) -> Value:
        shape = value.type.max_shape
        return replace(value, id=self._ids.take(), type=value.type.with_shape((shape[0], rows, *shape[2:])))

    def _add(self, op: Op) -> bool:
        """Adds the operator over all rows; whether its rows are those that it must have."""
        data = [value for value in op.inputs if value is not None and not value.is_constant]
        if any(value in self._states for value in data):
            streamed = [value for value in data if value not in self._states]
            if streamed:
                self._values[op.outputs[0]] = self._values[streamed[0]]
            else:
                self._states.add(op.outputs[0])
            return True
        if op.operator == "STRIDED_SLICE":
            return self._without_first_rows(op)
        source = self._values[data[0]]
        if op.operator == "FULLY_CONNECTED" or len(op.outputs[0].type.max_shape) < 4:
            if source.type.max_shape != data[0].type.max_shape:
                return False
            self._append(op, op.outputs)
            return True
        before, after = data[0].type.max_shape[TIME], op.outputs[0].type.max_shape[TIME]
        rows = min(self._values[value].type.max_shape[TIME] for value in data)
        for value in data:
            self._values[value] = self._newest(self._values[value], rows, op)
        if op.operator in ("CONV_2D", "DEPTHWISE_CONV_2D"):
            weights = op.inputs[1]
            assert weights is not None
            rows = (rows - weights.type.max_shape[TIME]) // op.attributes.steps.stride_height + 1
        elif before != after:
            return False
        if rows < 1:
            return False
        outputs = tuple(self._with_rows(value, rows) for value in op.outputs)
        self._values.update(zip(op.outputs, outputs, strict=True))
        self._append(op, outputs)
        return True

    def _without_first_rows(self, op: Op) -> bool:
        """A slice of the newest rows; those that become the next contents of a variable are not needed."""
        value, output = op.inputs[0], op.outputs[0]
        assert value is not None
        if output in self._next:
            return True
        source = self._values[value]
        rows = source.type.max_shape[TIME] - (value.type.max_shape[TIME] - output.type.max_shape[TIME])
        if rows < 1:
            return False
        self._values[output] = self._newest(source, rows, op)
        return True

    def _newest(self, value: Value, rows: int, op: Op) -> Value:
        """The last rows of a tensor; branches of an operator reach back differently far, and end alike."""
        first = value.type.max_shape[TIME] - rows
        if not first:
            return value
        begin, size = (self._constant(numbers) for numbers in ([0, first, 0, 0], [-1] * 4))
        newest = self._with_rows(value, rows)
        self._nodes.append(Op(self._ids.take(), "SLICE", (value, begin, size), (newest,), None, op.origin))
        return newest

    def _append(self, op: Op, outputs: Sequence[Value]) -> None:
        self._values.update({v: v for v in outputs if v in op.outputs})
        inputs = tuple(self._values.get(v, v) if v is not None else None for v in op.inputs)
        attributes = op.attributes
        if op.operator == "RESHAPE":
            shape = outputs[0].type.max_shape
            inputs, attributes = (inputs[0], self._constant(shape)), Dimensions(shape)
        self._nodes.append(replace(op, inputs=inputs, outputs=tuple(outputs), attributes=attributes))

    def _constant(self, numbers: Sequence[int]) -> Value:
        array = np.array(numbers, np.int32)
        key = f"twin.{self._ids.take()}"
        self._constants[key] = array.tobytes()
        return Value(self._ids.take(), key, TensorType(DType.INT32, array.shape), constant=key)
