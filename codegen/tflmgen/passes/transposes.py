"""TRANSPOSEs: merged with others, replaced by views, and sunk below operators until they meet their inverse."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tflmgen.ir import with_regions
from tflmgen.ir.graph import Block, Module, Node, Op, Value, blocks_of, operands_of, uses_in
from tflmgen.passes.constant_pool import Pool
from tflmgen.passes.def_use import Dataflow
from tflmgen.passes.operator_rewriter import OperatorRewriter, Replacement
from tflmgen.passes.permutation import (
    Permutation,
    compose,
    is_identity,
    is_transpose,
    moves_nothing,
    transpose,
    transposed,
    transposition,
    view,
)
from tflmgen.passes.permuted import Moved, Untransposed, move_before


def fuse_transposes(module: Module) -> Module:
    """Replaces two TRANSPOSEs by one or none, and a TRANSPOSE that only moves dimensions of size 1 by a RESHAPE."""
    return _Transposes(module).rewritten()


class _Transposes(OperatorRewriter):
    def op(self, op: Op) -> Replacement:
        transpose = transposed(self.flow, op)
        if transpose is None:
            return None
        source, permutation = transpose
        inner = self._inner(source, permutation)
        if inner is not None:
            source, permutation = inner
        if is_identity(permutation):
            return source
        if moves_nothing(source.type.shape, permutation):
            return view(op, op.id, source, op.outputs[0])
        return None if inner is None else replace(op, inputs=(source, self.pool.table(permutation)))

    def _inner(self, source: Value, permutation: Permutation) -> tuple[Value, Permutation] | None:
        """Source and composed permutation of two TRANSPOSEs if merging them removes one; else None."""
        inner = transposition(self.flow, source)
        if inner is None:
            return None
        source_value, composed = inner[0], compose(inner[1], permutation)
        is_free = is_identity(composed) or moves_nothing(source_value.type.shape, composed)
        return (source_value, composed) if is_free or self.flow.only_reader(source) else None


def sink_transposes(module: Module) -> Module:
    """Computes on untransposed values where that reduces the total of transposed elements.

    Element-wise operators, reductions, PAD and CONCATENATION accept any order of dimensions, so that the TRANSPOSEs
    that converters put around them (channels first or last) disappear. Integer results do not change; a float sum over
    several dimensions may add in another order.
    """
    sinking = _Sinking(module)
    functions = tuple(replace(f, body=sinking.block(f.body)) for f in module.functions)
    return sinking.pool.into(replace(module, functions=functions))


@dataclass
class _Web:
    """A set of TRANSPOSEs to remove, with its consequences.

    values            transposed value -> the same contents before the TRANSPOSE
    moved             id of an operator -> its version on untransposed values
    absorbed          id of a TRANSPOSE -> its composed source
    transposed_again  values that must be transposed after all, for their readers
    """

    values: dict[Value, Untransposed] = field(default_factory=dict)
    moved: dict[int, Moved] = field(default_factory=dict)
    absorbed: dict[int, Untransposed] = field(default_factory=dict)
    transposed_again: set[Value] = field(default_factory=set)

    def require(self, values: Iterable[Value]) -> None:
        self.transposed_again.update(v for v in values if v in self.values)


class _Sinking:
    def __init__(self, module: Module) -> None:
        self.pool = Pool(module)
        self._flow = Dataflow(module)

    def block(self, block: Block) -> Block:
        nodes = tuple(with_regions(node, [self.block(region) for region in blocks_of(node)]) for node in block.nodes)
        block = replace(block, nodes=nodes)
        for node in nodes:
            if isinstance(node, Op) and is_transpose(node):
                web = self._web(block, node)
                if web is not None:
                    return self._rebuilt(block, web)
        return block

    def _web(self, block: Block, root: Op) -> _Web | None:
        """Consequences of removing the TRANSPOSE `root`; None if as many elements are transposed afterwards."""
        roots = {root.id: root}
        while True:
            web = self._closure(block, roots)
            partners = [op for op in self._partners(block, web) if op.id not in roots]
            if not partners:
                break
            roots.update((op.id, op) for op in partners)
        before = sum(self._cost(op) for op in block.nodes if isinstance(op, Op) and self._is_removed(op, roots, web))
        after = sum(_elements(web.values[v], v) for v in web.transposed_again)
        after += sum(_elements(untransposed, op.outputs[0]) for op, untransposed in _absorbed(block, web))
        return web if after < before else None

    def _is_removed(self, op: Op, roots: dict[int, Op], web: _Web) -> bool:
        return op.id in roots or op.id in web.absorbed

    def _cost(self, op: Op) -> int:
        own = transposed(self._flow, op)
        return 0 if own is None else _elements(Untransposed(*own), op.outputs[0])

    def _closure(self, block: Block, roots: dict[int, Op]) -> _Web:
        web = _Web()
        for node in block.nodes:
            reads = set(operands_of(node)) & web.values.keys()
            if node.id in roots:
                self._root(web, node)
            elif not reads or not isinstance(node, Op):
                web.require(reads)
            elif (own := transposed(self._flow, node)) is not None:
                inner = web.values[own[0]]
                web.absorbed[node.id] = Untransposed(inner.value, compose(inner.permutation, own[1]))
            elif (moved := move_before(node, web.values, self._flow, self.pool)) is not None:
                web.moved[node.id] = moved
                if not is_identity(moved.permutation):
                    web.values[node.outputs[0]] = Untransposed(moved.value, moved.permutation)
            else:
                web.require(reads)
            for region in blocks_of(node):
                web.require(uses_in(region))
        web.require(block.results)
        return web

    def _root(self, web: _Web, node: Node) -> None:
        own = transposition(self._flow, node.outputs[0])
        if own is not None:
            source, permutation = own
            if source in web.values:
                inner = web.values[source]
                source, permutation = inner.value, compose(inner.permutation, permutation)
            web.values[node.outputs[0]] = Untransposed(source, permutation)

    def _partners(self, block: Block, web: _Web) -> Iterable[Op]:
        """TRANSPOSEs whose output meets a value of the web in an operator that still needs transposed operands."""
        operands = {
            v for node in block.nodes for v in operands_of(node) if web.transposed_again & set(operands_of(node))
        }
        return [
            node
            for node in block.nodes
            if isinstance(node, Op) and is_transpose(node) and operands & set(node.outputs) - web.values.keys()
        ]

    def _rebuilt(self, block: Block, web: _Web) -> Block:
        nodes: list[Node] = []
        for node in block.nodes:
            if node.id in web.moved:
                nodes += web.moved[node.id].nodes
            elif node.id in web.absorbed:
                nodes.append(self._transposed(node, web.absorbed[node.id], node.outputs[0]))
            elif not (is_transpose(node) and node.outputs[0] in web.values):
                nodes.append(node)
            nodes += [self._transposed(node, web.values[v], v) for v in node.outputs if v in web.transposed_again]
        return replace(block, nodes=tuple(nodes))

    def _transposed(self, node: Node, source: Untransposed, result: Value) -> Op:
        return transpose(node, self.pool.ids.take(), source.value, source.permutation, result, self.pool)


def _absorbed(block: Block, web: _Web) -> Iterable[tuple[Op, Untransposed]]:
    return [(n, web.absorbed[n.id]) for n in block.nodes if isinstance(n, Op) and n.id in web.absorbed]


def _elements(source: Untransposed, result: Value) -> int:
    """Number of elements moved by transposing `source` to `result`."""
    return 0 if moves_nothing(source.value.type.shape, source.permutation) else result.type.elements
