"""Merges consecutive TRANSPOSEs, and replaces those that move no element by views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.ir import Module, Node, Op, Value, resolve
from tflmgen.passes.fusion import PatternRewriter
from tflmgen.passes.permutation import Permutation, compose, is_identity, moves_nothing, transposed, transposition, view


def fuse_transposes(module: Module) -> Module:
    """Replaces two TRANSPOSEs by one or none, and a TRANSPOSE that only moves dimensions of size 1 by a RESHAPE."""
    return _Transposes(module).rewritten()


class _Transposes(PatternRewriter):
    def node(self, node: Node) -> Sequence[Node]:
        if not isinstance(node, Op) or node.operator != "TRANSPOSE":
            return (self.regions(node),)
        transpose = transposed(self._flow, node)
        if transpose is None:
            return (node,)
        source, permutation = transpose
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
        """Source and composed permutation of two TRANSPOSEs if merging them removes one; else None."""
        inner = transposition(self._flow, source)
        if inner is None:
            return None
        source_value, composed = resolve(inner[0], self.mapping), compose(inner[1], permutation)
        is_free = is_identity(composed) or moves_nothing(source_value.type.shape, composed)
        return (source_value, composed) if is_free or self._flow.only_reader(source) else None
