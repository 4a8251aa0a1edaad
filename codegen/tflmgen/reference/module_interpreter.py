"""Evaluates a Module: its blocks walked in order, values by id, regions in place.

The operators are those of the file's interpreter; what differs is the walk. State is an input and a result of the
functions, and the contents of variables are kept here between invokes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tflmgen.ir import DType, Quantization, TensorType, elements_of
from tflmgen.ir.graph import Block, EntryPoint, If, Module, Node, Op, Value, While
from tflmgen.reference.attribute_options import options_of_attributes
from tflmgen.reference.definitions.evaluations import EVALUATIONS
from tflmgen.reference.operation import Array, CustomReferences, Operation, UnsupportedError
from tflmgen.reference.range_claims import Claims
from tflmgen.reference.work_budget import STEP, Budget

ObserveValue = Callable[[Value, Array], None]
"""Called with each value that a node has computed."""


@dataclass
class ModuleInterpreter:
    """A Module with the contents of its variables; see Interpreter for `wide`, `budget` and `custom`.

    claims     what is asserted along the way; ClaimError where it does not hold
    """

    module: Module
    wide: bool = False
    budget: Budget = field(default_factory=Budget)
    claims: Claims = field(default_factory=Claims)
    custom: CustomReferences = field(default_factory=dict)
    state: dict[str, Array] = field(default_factory=dict)
    _constants: dict[int, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """All variables as before the first invoke."""
        for name, variable in self.module.state.items():
            self.state[name] = self._float(elements_of(variable.home.type, self.module.constants[variable.initial]))

    def invoke(
        self, signature: EntryPoint, inputs: Sequence[Array], observe: ObserveValue | None = None
    ) -> tuple[Array, ...]:
        """Outputs of a signature in their shapes; inputs too have the shapes of this run.

        Raises UnsupportedError, RunTimeError and BudgetError as Interpreter does.
        """
        function = self.module.function(signature.function)
        types = [port.invoke_type if port.slide else port.type for port in signature.inputs]
        arguments = [self._port(a, type_) for a, type_ in zip(inputs, types, strict=True)]
        for array, port in zip(inputs, signature.inputs, strict=True):
            arguments += [np.array(extent, np.int32) for extent in port.type.dynamic_dims(array.shape)]
        results = self.call(function.name, [*arguments, *(self.state[name] for name in function.state)], observe)
        count = len(results) - len(function.state)
        self.state.update(zip(function.state, results[count:], strict=True))
        return tuple(_outputs(results[:count], signature))

    def call(self, name: str, inputs: Sequence[Array], observe: ObserveValue | None = None) -> tuple[Array, ...]:
        """Results of one function, those of its variables last."""
        function = self.module.function(name)
        values = {v.id: self._float(a) for v, a in zip(function.inputs, inputs, strict=True)}
        for value in function.inputs:
            self.claims.check_value(value, values[value.id])
        with np.errstate(all="ignore"):
            return self._block(function.body, values, observe)

    def _float(self, array: Array) -> Array:
        return array.astype(np.float64) if self.wide and array.dtype == np.float32 else array

    def _port(self, array: Array, type_: TensorType) -> Array:
        """A dense tensor of this run in memory for the largest one."""
        if type_.is_static:
            return array.reshape(type_.max_shape)
        room = np.zeros(type_.elements, array.dtype)
        room[: array.size] = array.reshape(-1)
        return room.reshape(type_.max_shape)

    def _read(self, value: Value, values: Mapping[int, Array]) -> Array:
        if value.constant is None:
            return values[value.id]
        array = self._constants.get(value.id)
        if array is None:
            array = self._constants[value.id] = elements_of(value.type, self.module.constants[value.constant])
        return array

    def _block(self, block: Block, values: dict[int, Array], observe: ObserveValue | None) -> tuple[Array, ...]:
        for node in block.nodes:
            self.budget.spend(STEP)
            for value, result in zip(node.outputs, self._node(node, values, observe), strict=True):
                values[value.id] = result
                self.claims.check_value(value, result)
                if observe is not None:
                    observe(value, result)
        return tuple(self._read(v, values) for v in block.results)

    def _node(self, node: Node, values: dict[int, Array], observe: ObserveValue | None) -> Sequence[Array]:
        if isinstance(node, Op):
            return self._op(node, values)
        if isinstance(node, If):
            taken = bool(self._read(node.condition, values).reshape(-1)[0])
            return self._block(node.then if taken else node.orelse, values, observe)
        if isinstance(node, While):
            return self._loop(node, values, observe)
        return self.call(node.function, [self._read(v, values) for v in node.inputs], observe)

    def _loop(self, node: While, values: dict[int, Array], observe: ObserveValue | None) -> Sequence[Array]:
        variables = [self._read(v, values) for v in node.inits]
        iteration = 0
        while True:
            values.update((v.id, a) for v, a in zip(node.variables, variables, strict=True))
            if iteration == node.trips:
                return variables
            # A counted loop has no condition that reads its variables once more after the last turn.
            for value, array in zip(node.variables, variables, strict=True):
                self.claims.check_value(value, array)
            test = self._block(node.condition, values, observe)
            if test and not test[0].reshape(-1)[0]:
                return variables
            self.claims.check_turn(node)
            variables = list(self._block(node.body, values, observe))
            iteration += 1

    def _op(self, node: Op, values: Mapping[int, Array]) -> Sequence[Array]:
        custom = self.custom.get(node.operator)
        evaluation = custom.evaluate if custom else EVALUATIONS.get(node.operator)
        if evaluation is None:
            raise UnsupportedError(node.operator)
        inputs = tuple(None if v is None else self._read(v, values) for v in node.inputs)
        self.claims.check_operands(node, inputs)
        types = tuple(None if v is None else v.type for v in node.inputs)
        options = options_of_attributes(node.attributes)
        inner = tuple(_inner_type(q) for q in options.get("intermediates", ()))
        outputs = tuple(v.type for v in node.outputs)
        operation = Operation(node.operator, inputs, types, outputs, options, inner, self.wide, node.attributes)
        self.budget.spend_on(operation)
        try:
            results = evaluation(operation)
        except (AttributeError, KeyError, TypeError) as error:
            raise UnsupportedError(f"{node.operator} ({type(error).__name__})") from error
        return [_shaped(node, result, v.type) for result, v in zip(results, node.outputs, strict=True)]


def _inner_type(quantization: object) -> TensorType | None:
    return TensorType(DType.INT16, (), quantization) if isinstance(quantization, Quantization) else None


def _shaped(node: Op, result: Array, type_: TensorType) -> Array:
    """The result in its value's shape. Raises ValueError if it has another number of elements."""
    if result.size != type_.elements:
        raise ValueError(f"{node.operator} gives {list(result.shape)} instead of {list(type_.max_shape)}")
    return result.reshape(type_.max_shape)


def _outputs(results: Sequence[Array], signature: EntryPoint) -> list[Array]:
    """Results of a function in the shapes of this run, without the extents after them."""
    count = len(signature.outputs)
    extents = iter(int(extent.reshape(-1)[0]) for extent in results[count:])
    outputs = []
    for array, port in zip(results[:count], signature.outputs, strict=True):
        shape = port.type.actual_shape([next(extents) for _ in port.type.dynamic_axes])
        outputs.append(array.reshape(-1)[: int(np.prod(shape, dtype=np.int64))].reshape(shape))
    return outputs
