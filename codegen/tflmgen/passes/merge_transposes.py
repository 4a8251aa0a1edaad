"""TRANSPOSEs after one another are one; one that moves no element is a view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.ir import Module, Node, Op, Rewriter, Value, resolve
from tflmgen.passes.constant_pool import Pool
from tflmgen.passes.def_use import Dataflow
from tflmgen.passes.permutation import Permutation, compose, is_identity, moves_nothing, transposed, transposition, view


def fuse_transposes(module: Module) -> Module:
    """Replaces TRANSPOSE of TRANSPOSE by one or none, and one that only moves dimensions of size 1 by a RESHAPE."""
    passed = _Transposes(module)
    return passed.pool.into(passed.run(module))


class _Transposes(Rewriter):
    def __init__(self, module: Module) -> None:
        super().__init__()
        self.pool = Pool(module)
        self._flow = Dataflow(module)

    def node(self, node: Node) -> Sequence[Node]:
        if not isinstance(node, Op) or node.operator != "TRANSPOSE":
            return (self.regions(node),)
        found = transposed(self._flow, node)
        if found is None:
            return (node,)
        source, permutation = found
        inner = self._inner(source, permutation)
        if inner is not None:
            source, permutation = inner
        if is_identity(permutation):
            self.mapping[node.outputs[0]] = source
            return ()
        if moves_nothing(source.type.shape, permutation):
            return (view(node, node.id, source, node.outputs[0]),)
        if inner is None:
            return (node,)
        return (replace(node, inputs=(source, self.pool.table(permutation))),)

    def _inner(self, source: Value, permutation: Permutation) -> tuple[Value, Permutation] | None:
        """Both TRANSPOSEs in one, where that leaves one less."""
        found = transposition(self._flow, source)
        if found is None:
            return None
        first, whole = resolve(found[0], self.mapping), compose(found[1], permutation)
        free = is_identity(whole) or moves_nothing(first.type.shape, whole)
        return (first, whole) if free or self._flow.only_reader(source) else None
