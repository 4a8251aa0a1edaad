"""Loop-invariant code moves before its loop where that takes no memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tflmgen.ir import (
    Block,
    If,
    Module,
    Node,
    Op,
    Value,
    While,
    blocks_of,
    definitions_in,
    operands_of,
    uses_in,
    with_regions,
)
from tflmgen.kernels import traits_of

SLACK = 16
"""Bytes by which the code moved out of one loop may enlarge what lives through it: a few scalars."""


def hoist(module: Module) -> Module:
    """Moves operators whose inputs a loop doesn't change before the loop, out of its condition and its body.

    Only groups that leave no more bytes live through the loop than before (and SLACK): a group is an operator that the
    rest of the loop reads, with the invariant operators that it alone needs. No kernel traps, so that it does no harm
    to run what a loop without iterations would not have run; what may return an error stays.
    """
    return replace(module, functions=tuple(replace(f, body=_block(f.body, frozenset())) for f in module.functions))


def _block(block: Block, live_after: frozenset[Value]) -> Block:
    live = live_after.union(block.results)
    kept: list[Node] = []
    for node in reversed(block.nodes):
        reads = _reads(node)
        inner = live.union(reads, node.variables) if isinstance(node, While) else live
        node = with_regions(node, [_block(region, inner) for region in blocks_of(node)])
        moved: Sequence[Node] = ()
        if isinstance(node, While):
            moved, node = _hoist(node, live)
        kept += [node, *reversed(moved)]
        live = live.union(reads)
    return replace(block, nodes=tuple(reversed(kept)))


def _reads(node: Node) -> set[Value]:
    """The values that a node and its regions read, those that they define themselves included."""
    return {*operands_of(node), *(v for region in blocks_of(node) for v in uses_in(region))}


def _hoist(node: While, live_after: frozenset[Value]) -> tuple[list[Node], While]:
    """The nodes to run before the loop, in order, and the loop without them."""
    inside = {*node.variables, *definitions_in(node.condition), *definitions_in(node.body)}
    candidates: list[Node] = []
    for one in (*node.condition.nodes, *node.body.nodes):
        if _may_move(one) and inside.isdisjoint(_free(one)):
            candidates.append(one)
            inside.difference_update(one.outputs)
    before = _through(node, (), live_after)
    moved: set[int] = set()
    for last in candidates:
        group = moved | _needs(last, candidates)
        nodes = [one for one in candidates if one.id in group]
        if group != moved and _through(node, nodes, live_after) <= before + SLACK:
            moved = group
    hoisted = [one for one in candidates if one.id in moved]
    condition, body = (
        replace(block, nodes=tuple(one for one in block.nodes if one.id not in moved))
        for block in (node.condition, node.body)
    )
    return hoisted, replace(node, condition=condition, body=body)


def _may_move(node: Node) -> bool:
    """Straight code and Ifs of straight code; a While before a loop without iterations could run for ever."""
    return (isinstance(node, Op) and not traits_of(node.operator).may_fail) or (
        isinstance(node, If) and all(_may_move(inner) for block in blocks_of(node) for inner in block.nodes)
    )


def _free(node: Node) -> set[Value]:
    return _reads(node).difference(*(definitions_in(region) for region in blocks_of(node)))


def _needs(node: Node, candidates: Sequence[Node]) -> set[int]:
    """The ids of `node` and of the candidates that it reads, directly or not."""
    needed = {node.id}
    reads = _free(node)
    for one in reversed(candidates):
        if not reads.isdisjoint(one.outputs):
            needed.add(one.id)
            reads |= _free(one)
    return needed


def _through(loop: While, moved: Sequence[Node], live_after: Iterable[Value]) -> int:
    """Bytes from outside that live through the loop once `moved` stands before it."""
    ids = {node.id for node in moved}
    roots: dict[Value, Value] = {}
    for node in moved:
        if isinstance(node, Op) and traits_of(node.operator).view and node.inputs[0] is not None:
            roots[node.outputs[0]] = roots.get(node.inputs[0], node.inputs[0])
    inside = {*loop.variables, *definitions_in(loop.condition), *definitions_in(loop.body)}
    inside.difference_update(v for node in moved for v in node.outputs)
    through = {v for v in live_after if v not in loop.outputs}
    for block in (loop.condition, loop.body):
        through.update(block.results)
        for node in block.nodes:
            if node.id not in ids:
                through.update(_reads(node))
    through = {roots.get(v, v) for v in through if not v.is_constant and v not in inside}
    return sum(v.type.bytes for v in through)
