"""Functions become part of their caller where that costs nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tflmgen.ir import Call, Function, Ids, Module, Node, Op, Rewriter, clone, substitute, walk

TINY = 2
"""Operators in a function that is copied to a few call sites."""
FEW = 4
"""Call sites that such a function may have."""


def inline(module: Module) -> Module:
    """Replaces Calls of a function that has one call site and no signature, or that is tiny, by its body."""
    sites = Counter(node.function for f in module.functions for node in walk(f.body) if isinstance(node, Call))
    entries = {s.function for s in module.signatures}
    moved = {name for name, count in sites.items() if count == 1 and name not in entries}
    chosen = {f.name for f in module.functions if f.name in moved or _is_cheap(f, sites[f.name])}
    if not chosen & sites.keys():
        return module
    inlined = _Inline(Ids(module), chosen, moved).run(module)
    # The values of a body that was moved must not stay behind.
    return replace(inlined, functions=tuple(f for f in inlined.functions if f.name not in moved))


def _is_cheap(function: Function, sites: int) -> bool:
    """Functions that call others aren't: chains of them would grow exponentially."""
    nodes = function.body.nodes
    return len(nodes) <= TINY and sites <= FEW and all(isinstance(node, Op) for node in nodes)


class _Inline(Rewriter):
    def __init__(self, ids: Ids, chosen: set[str], moved: set[str]) -> None:
        super().__init__()
        self._ids = ids
        self._chosen = chosen
        self._moved = moved
        self._functions: dict[str, Function] = {}

    def function(self, function: Function) -> Function:
        function = super().function(function)
        self._functions[function.name] = function
        return function

    def node(self, node: Node) -> Sequence[Node]:
        if not isinstance(node, Call) or node.function not in self._chosen:
            return (self.regions(node),)
        callee = self._functions[node.function]
        arguments = dict(zip(callee.inputs, node.inputs, strict=True))
        body = substitute(callee.body, arguments)
        if node.function not in self._moved:
            body = clone(body, {}, self._ids)
        self.mapping.update(zip(node.outputs, body.results, strict=True))
        return body.nodes
