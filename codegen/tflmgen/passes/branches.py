"""Simplifies control flow: Ifs on a constant, Whiles that never run, branches with equal results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.ir import Rewriter
from tflmgen.ir.graph import If, Module, Node, Value, While
from tflmgen.passes.constant_pool import Pool


def fold_branches(module: Module) -> Module:
    """Replaces an If on a constant by its branch, and a While whose condition is false by its initial values.

    Inside a branch, and inside a loop whose condition is one of its variables, the condition is a constant. An output
    with the same value in both branches is that value. Two outputs that are equal in both branches are merged.
    """
    pool = Pool(module)
    return pool.into(_Branches(pool).run(module))


class _Branches(Rewriter):
    def __init__(self, pool: Pool) -> None:
        super().__init__()
        self._pool = pool

    def node(self, node: Node) -> Sequence[Node]:
        if isinstance(node, If):
            return self._if(node)
        if isinstance(node, While):
            return self._while(node)
        return (node,)

    def _if(self, node: If) -> Sequence[Node]:
        decided = self._pool.truth(node.condition)
        if decided is not None:
            block = self.block(node.then if decided else node.orelse)
            self.mapping.update(zip(node.outputs, block.results, strict=True))
            return block.nodes
        regions = []
        for truth, block in ((True, node.then), (False, node.orelse)):
            self.mapping[node.condition] = self._pool.boolean(truth, node.condition)
            regions.append(self.block(block))
            del self.mapping[node.condition]
        node = replace(node, then=regions[0], orelse=regions[1])
        first_of_pair: dict[tuple[Value, Value], Value] = {}
        for output, then_result, else_result in zip(node.outputs, node.then.results, node.orelse.results, strict=True):
            if then_result == else_result:
                equal = then_result
            elif self._pool.truth(then_result) is True and self._pool.truth(else_result) is False:
                equal = node.condition
            else:
                equal = first_of_pair.setdefault((then_result, else_result), output)
            if equal != output and equal.type == output.type:
                self.mapping[output] = equal
        return (node,)

    def _while(self, node: While) -> Sequence[Node]:
        if node.trips is not None:
            return (self.regions(node),)
        condition = self.block(node.condition)
        test = condition.results[0]
        if self._pool.truth(test) is False:
            self.mapping.update(zip(node.outputs, node.inits, strict=True))
            return ()
        is_variable = test in node.variables
        if is_variable:
            self.mapping[test] = self._pool.boolean(True, test)
        body = self.block(node.body)
        if is_variable:
            del self.mapping[test]
            output = node.outputs[node.variables.index(test)]
            self.mapping[output] = self._pool.boolean(False, test)
        return (replace(node, condition=condition, body=body),)
