"""Replaces a loop variable that is a reshaped copy of another one by a view after the loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.ir import Ids, Module, Node, Op, Rewriter, Value, While, keep, uses_in
from tflmgen.kernels import traits_of
from tflmgen.passes.constant_pool import Pool


def view_after_loop(module: Module) -> Module:
    """Drops variables that the loop only writes, with a view of another variable's next value and an equal start."""
    return _ViewVariables(module).run(module)


class _ViewVariables(Rewriter):
    def __init__(self, module: Module) -> None:
        super().__init__()
        self._pool = Pool(module)
        self._ids = Ids(module)

    def node(self, node: Node) -> Sequence[Node]:
        node = self.regions(node)
        if not isinstance(node, While):
            return (node,)
        inner = [*node.condition.nodes, *node.body.nodes]
        read = set(uses_in(replace(node.condition, nodes=tuple(inner))))
        views = {n.outputs[0]: n for n in node.body.nodes if isinstance(n, Op) and traits_of(n.operator).view}
        carried, after = [], []
        for index, variable in enumerate(node.variables):
            view = views.get(node.body.results[index])
            original = self._original(node, index, view) if view is not None and variable not in read else None
            if view is None or original is None:
                carried.append(index)
                continue
            inputs = (node.outputs[original], *view.inputs[1:])
            after.append(replace(view, id=self._ids.take(), inputs=inputs, outputs=(node.outputs[index],)))
        return (keep(node, carried), *after) if after else (node,)

    def _original(self, node: While, index: int, view: Op) -> int | None:
        """Index of the variable that variable `index` is a reshaped copy of; else None."""
        for candidate, following in enumerate(node.body.results):
            if candidate != index and following == view.inputs[0]:
                init, candidate_init = node.inits[index], node.inits[candidate]
                if self._equal(init, candidate_init):
                    return candidate
        return None

    def _equal(self, first: Value, second: Value) -> bool:
        if first.constant is None or second.constant is None:
            return False
        return self._pool.constants[first.constant] == self._pool.constants[second.constant]
