"""Loop variables that always hold the same value become one."""

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
    """Merges loop variables that begin equal and stay equal.

    Optimistic: variables with equal initial values are taken for equal until the body, numbered under that assumption,
    gives them different next values (partition refinement: Alpern, Wegman and Zadeck, Detecting Equality of Variables
    in Programs, 1988).
    """
    return _Duplicates().run(module)


class _Duplicates(Rewriter):
    def node(self, node: Node) -> Sequence[Node]:
        node = self.regions(node)
        if not isinstance(node, While):
            return (node,)
        leader = _leaders(node)
        mapping = {v: one for v, one in leader.items() if v != one}
        if not mapping:
            return (node,)
        output = dict(zip(node.variables, node.outputs, strict=True))
        self.mapping.update((output[v], output[one]) for v, one in mapping.items())
        node = with_regions(node, [substitute(block, mapping) for block in (node.condition, node.body)])
        assert isinstance(node, While)
        return (keep(node, [i for i, v in enumerate(node.variables) if v not in mapping]),)


def _leaders(node: While) -> dict[Value, Value]:
    """Each variable's first equal one."""
    leader = _first(node.variables, node.inits)
    while True:
        numbers = _numbers(node.body, leader)
        following = [resolve(v, numbers) for v in node.body.results]
        old = [leader[v] for v in node.variables]
        refined = _first(node.variables, list(zip(old, following, strict=True)))
        if refined == leader:
            return leader
        leader = refined


def _first(variables: Sequence[Value], keys: Sequence[Hashable]) -> dict[Value, Value]:
    first: dict[Hashable, Value] = {}
    return {v: first.setdefault((v.type, key), v) for v, key in zip(variables, keys, strict=True)}


def _numbers(body: Block, leader: dict[Value, Value]) -> dict[Value, Value]:
    """Value -> an equal one, given that each variable equals its leader. Control flow inside is never found equal."""
    mapping = {v: one for v, one in leader.items() if v != one}
    known: dict[Hashable, tuple[Value, ...]] = {}
    for node in body.nodes:
        node = resolve_operands(node, mapping)
        if isinstance(node, Op):
            first = known.setdefault(expression(node), node.outputs)
            mapping.update((v, one) for v, one in zip(node.outputs, first, strict=True) if v != one)
    return mapping
