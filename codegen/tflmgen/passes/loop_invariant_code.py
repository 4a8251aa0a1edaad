"""Moves loop-invariant code before its loop where that takes no memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tflmgen.ir import with_regions
from tflmgen.ir.graph import Block, If, Module, Node, Op, Value, While, blocks_of, definitions_in, operands_of, uses_in
from tflmgen.kernels import traits_of
from tflmgen.kernels.costs import TUNING


def hoist(module: Module) -> Module:
    """Moves operators with loop-invariant inputs out of a loop's condition and body.

    Operators move in groups: one that the rest of the loop reads, with the invariant operators that only it needs. A
    group moves if the bytes live through the loop grow by at most TUNING.loop_invariant_bytes. Operators that may
    return an error stay; other kernels never trap, so that running them before a loop without iterations is harmless.
    """
    return replace(module, functions=tuple(replace(f, body=_block(f.body, frozenset())) for f in module.functions))


def _block(block: Block, live_after: frozenset[Value]) -> Block:
    live = live_after.union(block.results)
    nodes: list[Node] = []
    for node in reversed(block.nodes):
        reads = _reads(node)
        inner = live.union(reads, node.variables) if isinstance(node, While) else live
        node = with_regions(node, [_block(region, inner) for region in blocks_of(node)])
        moved: Sequence[Node] = ()
        if isinstance(node, While):
            moved, node = _hoist(node, live)
        nodes += [node, *reversed(moved)]
        live = live.union(reads)
    return replace(block, nodes=tuple(reversed(nodes)))


def _reads(node: Node) -> set[Value]:
    """Values that a node and its regions read, including those defined inside."""
    return {*operands_of(node), *(v for region in blocks_of(node) for v in uses_in(region))}


def _hoist(node: While, live_after: frozenset[Value]) -> tuple[list[Node], While]:
    """Nodes to run before the loop, in order, and the loop without them."""
    inside = {*node.variables, *definitions_in(node.condition), *definitions_in(node.body)}
    candidates: list[Node] = []
    for candidate in (*node.condition.nodes, *node.body.nodes):
        if _may_move(candidate) and inside.isdisjoint(_free(candidate)):
            candidates.append(candidate)
            inside.difference_update(candidate.outputs)
    before = _through(node, (), live_after)
    moved: set[int] = set()
    for last in candidates:
        group = moved | _needs(last, candidates)
        nodes = [candidate for candidate in candidates if candidate.id in group]
        if group != moved and _through(node, nodes, live_after) <= before + TUNING.loop_invariant_bytes:
            moved = group
    hoisted = [candidate for candidate in candidates if candidate.id in moved]
    condition, body = (
        replace(block, nodes=tuple(candidate for candidate in block.nodes if candidate.id not in moved))
        for block in (node.condition, node.body)
    )
    return hoisted, replace(node, condition=condition, body=body)


def _may_move(node: Node) -> bool:
    """Whether the node is straight-line code or an If of it. A While, run without its loop, might never end."""
    return (isinstance(node, Op) and not traits_of(node.operator).may_fail) or (
        isinstance(node, If) and all(_may_move(inner) for block in blocks_of(node) for inner in block.nodes)
    )


def _free(node: Node) -> set[Value]:
    return _reads(node).difference(*(definitions_in(region) for region in blocks_of(node)))


def _needs(node: Node, candidates: Sequence[Node]) -> set[int]:
    """Ids of `node` and of the candidates that it depends on, transitively."""
    ids = {node.id}
    reads = _free(node)
    for candidate in reversed(candidates):
        if not reads.isdisjoint(candidate.outputs):
            ids.add(candidate.id)
            reads |= _free(candidate)
    return ids


def _through(loop: While, moved: Sequence[Node], live_after: Iterable[Value]) -> int:
    """Bytes of outer values live through the loop after `moved` has been placed before it."""
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
