"""Verifier of Modules; runs between passes, so that a faulty pass is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tflmgen.errors import InternalError
from tflmgen.ir.graph.module import Block, Call, Function, If, Module, Node, Op, Value, While, operands_of


def verify(module: Module, after: str) -> Module:
    """Returns `module` if it is well formed; else raises InternalError with the name of the pass `after`.

    Every value is defined once, before its uses. Every callee precedes its callers. Values that are assigned to each
    other at a boundary (of a branch, a loop, a call) have the same element type and shape.
    """
    callees: dict[str, Function] = {}
    defined: set[Value] = set()
    for function in module.functions:
        _Verifier(after, callees, defined).block(function.body, set(function.inputs))
        callees[function.name] = function
    for signature in module.signatures:
        function = module.function(signature.function)
        results = len(function.body.results) - len(function.state)
        if (function.ports, results) != signature.values:
            raise InternalError(f"after {after}: signature '{signature.key}' does not fit '{function.name}'")
    return module


class _Verifier:
    def __init__(self, after: str, callees: Mapping[str, Function], defined: set[Value]) -> None:
        self._after = after
        self._callees = callees
        self._defined = defined

    def block(self, block: Block, scope: set[Value]) -> None:
        scope = set(scope)
        for node in block.nodes:
            for value in operands_of(node):
                self._use(value, scope, node)
            self._regions(node, scope)
            for value in node.outputs:
                if value in self._defined or value in scope:
                    raise InternalError(f"after {self._after}: value '{value.name}' is defined twice")
                self._defined.add(value)
            scope.update(node.outputs)
        for value in block.results:
            self._use(value, scope, None)

    def _regions(self, node: Node, scope: set[Value]) -> None:
        if isinstance(node, If):
            for branch in (node.then, node.orelse):
                self.block(branch, scope)
                self._agree(node, branch.results, node.outputs)
        elif isinstance(node, While):
            inner = scope | set(node.variables)
            self.block(node.condition, inner)
            self.block(node.body, inner)
            self._same_count(node, len(node.condition.results), int(node.trips is None))
            for values in (node.inits, node.body.results, node.outputs):
                self._agree(node, values, node.variables)
        elif isinstance(node, Call):
            callee = self._callees.get(node.function)
            if callee is None:
                raise InternalError(f"after {self._after}: '{node.function}' is called before it is defined")
            self._agree(node, node.inputs, callee.inputs)
            self._agree(node, node.outputs, callee.body.results)

    def _agree(self, node: If | While | Call, values: Sequence[Value], targets: Sequence[Value]) -> None:
        self._same_count(node, len(values), len(targets))
        for value, target in zip(values, targets, strict=True):
            if (value.type.dtype, value.type.shape) != (target.type.dtype, target.type.shape):
                types = f"{value.type} and {target.type}"
                raise InternalError(f"after {self._after}: {node.origin.operator_name} {node.id} takes {types} for one")

    def _same_count(self, node: If | While | Call, count: int, expected: int) -> None:
        if count != expected:
            raise InternalError(
                f"after {self._after}: {node.origin.operator_name} {node.id} carries {count} of {expected}"
            )

    def _use(self, value: Value, scope: set[Value], node: Node | None) -> None:
        if not value.is_constant and value not in scope:
            reader = node.origin.operator_name if isinstance(node, Op) else "a region"
            raise InternalError(f"after {self._after}: '{value.name}' is used by {reader} before it is defined")
