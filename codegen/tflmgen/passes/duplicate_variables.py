"""Merges loop variables that always hold the same value."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tflmgen.ir import (
    Block,
    Module,
    Node,
    Op,
    Rewriter,
    Value,
    While,
    keep,
    resolve,
    resolve_operands,
    substitute,
    with_regions,
)
from tflmgen.passes.common_subexpressions import expression


def merge_variables(module: Module) -> Module:
    """Merges loop variables with equal initial values and equal next values.

    Optimistic: variables with equal initial values are assumed equal until value numbering of the body under this
    assumption gives different next values (partition refinement: Alpern, Wegman and Zadeck, Detecting Equality of
    Variables in Programs, 1988).
    """
    return _Duplicates().run(module)


class _Duplicates(Rewriter):
    def node(self, node: Node) -> Sequence[Node]:
        node = self.regions(node)
        if not isinstance(node, While):
            return (node,)
        leader = _leaders(node)
        mapping = {v: equal for v, equal in leader.items() if v != equal}
        if not mapping:
            return (node,)
        output = dict(zip(node.variables, node.outputs, strict=True))
        self.mapping.update((output[v], output[equal]) for v, equal in mapping.items())
        node = with_regions(node, [substitute(block, mapping) for block in (node.condition, node.body)])
        assert isinstance(node, While)
        return (keep(node, [i for i, v in enumerate(node.variables) if v not in mapping]),)


def _leaders(node: While) -> dict[Value, Value]:
    """Variable -> the first variable that it equals."""
    leader = _first_of_each_key(node.variables, node.inits)
    while True:
        numbers = _numbers(node.body, leader)
        following = [resolve(v, numbers) for v in node.body.results]
        old = [leader[v] for v in node.variables]
        refined = _first_of_each_key(node.variables, list(zip(old, following, strict=True)))
        if refined == leader:
            return leader
        leader = refined


def _first_of_each_key(variables: Sequence[Value], keys: Sequence[Hashable]) -> dict[Value, Value]:
    first: dict[Hashable, Value] = {}
    return {v: first.setdefault((v.type, key), v) for v, key in zip(variables, keys, strict=True)}


def _numbers(body: Block, leader: dict[Value, Value]) -> dict[Value, Value]:
    """Value -> an equal value, assuming that each variable equals its leader. Nested control flow is never equal."""
    mapping = {v: equal for v, equal in leader.items() if v != equal}
    expressions: dict[Hashable, tuple[Value, ...]] = {}
    for node in body.nodes:
        node = resolve_operands(node, mapping)
        if isinstance(node, Op):
            equal_outputs = expressions.setdefault(expression(node), node.outputs)
            mapping.update((v, equal) for v, equal in zip(node.outputs, equal_outputs, strict=True) if v != equal)
    return mapping
