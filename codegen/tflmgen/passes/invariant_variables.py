"""Replaces loop variables that never change by their initial value, which may be a constant."""

from __future__ import annotations

from collections.abc import Sequence

from tflmgen.ir import Module, Node, Rewriter, While, keep, substitute, with_regions


def substitute_invariants(module: Module) -> Module:
    """Drops each variable whose next value is itself or its initial value, and uses the initial value instead."""
    return _Invariants().run(module)


class _Invariants(Rewriter):
    def node(self, node: Node) -> Sequence[Node]:
        node = self.regions(node)
        if not isinstance(node, While):
            return (node,)
        mapping = {}
        for variable, init, following, output in zip(
            node.variables, node.inits, node.body.results, node.outputs, strict=True
        ):
            if following in (variable, init) and init.type == variable.type == output.type:
                mapping[variable] = mapping[output] = init
        if not mapping:
            return (node,)
        self.mapping.update(mapping)
        regions = [substitute(block, mapping) for block in (node.condition, node.body)]
        node = with_regions(node, regions)
        assert isinstance(node, While)
        return (keep(node, [i for i, v in enumerate(node.variables) if v not in mapping]),)
