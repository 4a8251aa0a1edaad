"""Inlines functions where that costs no code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tflmgen.ir import Call, Function, Ids, Module, Node, Op, Rewriter, clone, substitute, walk
from tflmgen.kernels import TUNING


def inline(module: Module) -> Module:
    """Replaces Calls by the function's body, for functions with one call site and no signature, and for tiny ones."""
    sites = Counter(node.function for f in module.functions for node in walk(f.body) if isinstance(node, Call))
    entries = {s.function for s in module.signatures}
    moved = {name for name, count in sites.items() if count == 1 and name not in entries}
    inlinable = {f.name for f in module.functions if f.name in moved or _is_tiny(f)}
    if not inlinable & sites.keys():
        return module
    inlined = _Inline(Ids(module), inlinable, moved).run(module)
    # A moved body must not be defined twice.
    return replace(inlined, functions=tuple(f for f in inlined.functions if f.name not in moved))


def _is_tiny(function: Function) -> bool:
    """Whether copies take little code. One that calls others is not tiny: inlining chains would grow exponentially."""
    nodes = function.body.nodes
    return len(nodes) <= TUNING.copied_operators and all(isinstance(node, Op) for node in nodes)


class _Inline(Rewriter):
    def __init__(self, ids: Ids, inlinable: set[str], moved: set[str]) -> None:
        super().__init__()
        self._ids = ids
        self._inlinable = inlinable
        self._moved = moved
        self._functions: dict[str, Function] = {}

    def function(self, function: Function) -> Function:
        function = super().function(function)
        self._functions[function.name] = function
        return function

    def node(self, node: Node) -> Sequence[Node]:
        if not isinstance(node, Call) or node.function not in self._inlinable:
            return (self.regions(node),)
        callee = self._functions[node.function]
        arguments = dict(zip(callee.inputs, node.inputs, strict=True))
        body = substitute(callee.body, arguments)
        if node.function not in self._moved:
            body = clone(body, {}, self._ids)
        self.mapping.update(zip(node.outputs, body.results, strict=True))
        return body.nodes
