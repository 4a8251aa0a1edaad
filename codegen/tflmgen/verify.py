"""Checks that a Module is well formed; runs between passes, so that a bad pass is caught where it is."""

from __future__ import annotations

from tflmgen.errors import InternalError
from tflmgen.graph import Block, Call, If, Module, Node, Op, Value, While, operands_of


def verify(module: Module, after: str) -> Module:
    """Returns `module` if every value is defined once and before its uses, and every callee comes before its callers.

    Raises InternalError that names the pass `after` which broken graphs come from.
    """
    names: set[str] = set()
    defined: set[Value] = set()
    for function in module.functions:
        _Verifier(after, names, defined).block(function.body, set(function.inputs))
        names.add(function.name)
    for signature in module.signatures:
        function = module.function(signature.function)
        results = len(function.body.results) - len(function.state)
        if (function.ports, results) != signature.values:
            raise InternalError(f"after {after}: signature '{signature.key}' does not fit '{function.name}'")
    return module


class _Verifier:
    def __init__(self, after: str, functions: set[str], defined: set[Value]) -> None:
        self._after = after
        self._functions = functions
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
                self._same_count(node, len(branch.results), len(node.outputs))
        elif isinstance(node, While):
            inner = scope | set(node.variables)
            self.block(node.condition, inner)
            self.block(node.body, inner)
            self._same_count(node, len(node.condition.results), int(node.trips is None))
            for count in (len(node.inits), len(node.body.results), len(node.outputs)):
                self._same_count(node, count, len(node.variables))
        elif isinstance(node, Call) and node.function not in self._functions:
            raise InternalError(f"after {self._after}: '{node.function}' is called before it is defined")

    def _same_count(self, node: If | While, count: int, wanted: int) -> None:
        if count != wanted:
            raise InternalError(
                f"after {self._after}: {node.origin.operator_name} {node.id} carries {count} of {wanted}"
            )

    def _use(self, value: Value, scope: set[Value], node: Node | None) -> None:
        if not value.is_constant and value not in scope:
            where = node.origin.operator_name if isinstance(node, Op) else "a region"
            raise InternalError(f"after {self._after}: '{value.name}' is used by {where} before it is defined")
