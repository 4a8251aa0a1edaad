"""What a Module computes, by compile-time evaluation of its operators: to compare it before and after a pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tflmgen.ir.constants import constant_array
from tflmgen.ir.graph import Block, If, Module, Node, Op, Signature, Value, While
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels.folding.evaluate import fold

Array = NDArray[Any]

NODES_LIMIT = 20_000


class TooLongError(Exception):
    """The module runs more nodes than a test should."""


def evaluate(module: Module, function: str, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """The results of one function, those of its variables last. Raises TooLongError beyond NODES_LIMIT nodes."""
    return _Evaluator(module).function(function, inputs)


class Instance:
    """A module with its persistent variables, from their initial contents on."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._state = {
            name: np.frombuffer(module.constants[v.initial], v.home.type.dtype.numpy).reshape(v.home.type.max_shape)
            for name, v in module.state.items()
        }

    def run(self, signature: Signature, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """The outputs of one signature; the variables keep what it leaves in them."""
        names = self._module.function(signature.function).state
        results = evaluate(self._module, signature.function, [*inputs, *(self._state[name] for name in names)])
        count = len(results) - len(names)
        self._state.update(zip(names, results[count:], strict=True))
        return results[:count]


@dataclass
class _Evaluator:
    module: Module
    nodes: int = field(default=0)

    def function(self, name: str, inputs: Sequence[Array]) -> tuple[Array, ...]:
        function = self.module.function(name)
        return self._block(function.body, dict(zip(function.inputs, inputs, strict=True)))

    def _block(self, block: Block, scope: Mapping[Value, Array]) -> tuple[Array, ...]:
        values = dict(scope)
        for node in block.nodes:
            self.nodes += 1
            if self.nodes > NODES_LIMIT:
                raise TooLongError
            values.update(zip(node.outputs, self._node(node, values), strict=True))
        return tuple(self._read(v, values) for v in block.results)

    def _read(self, value: Value, values: Mapping[Value, Array]) -> Array:
        return np.asarray(constant_array(value, self.module.constants)) if value.is_constant else values[value]

    def _node(self, node: Node, values: dict[Value, Array]) -> Sequence[Array]:
        if isinstance(node, Op):
            arrays = tuple(None if v is None else self._read(v, values) for v in node.inputs)
            types = tuple(None if v is None else v.type for v in node.inputs)
            outputs = tuple(v.type for v in node.outputs)
            results = fold(node.operator, OperatorInstance(types, outputs, arrays, node.attributes))
            assert results is not None, f"{node.operator} cannot be evaluated"
            return results
        if isinstance(node, If):
            return self._block(node.then if self._read(node.condition, values).item() else node.orelse, values)
        if isinstance(node, While):
            variables = tuple(self._read(v, values) for v in node.inits)
            iterations = count()
            while True:
                iteration = next(iterations)
                inner = {**values, **dict(zip(node.variables, variables, strict=True))}
                test = self._block(node.condition, inner)
                if iteration == node.trips or (test and not test[0].item()):
                    return variables
                variables = self._block(node.body, inner)
        return self.function(node.function, [self._read(v, values) for v in node.inputs])
