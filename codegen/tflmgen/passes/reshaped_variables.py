"""A loop variable that repeats another one under another shape is not carried: it is a view made after the loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.ir import Ids, Module, Node, Op, Rewriter, Value, While, keep, uses_in
from tflmgen.kernels import traits_of
from tflmgen.passes.constant_pool import Pool


def view_after_loop(module: Module) -> Module:
    """Drops variables that the loop only writes, always a view of what another variable gets, from equal beginnings."""
    return _Echo(module).run(module)


class _Echo(Rewriter):
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
        kept, after = [], []
        for index, variable in enumerate(node.variables):
            view = views.get(node.body.results[index])
            original = self._original(node, index, view) if view is not None and variable not in read else None
            if view is None or original is None:
                kept.append(index)
                continue
            inputs = (node.outputs[original], *view.inputs[1:])
            after.append(replace(view, id=self._ids.take(), inputs=inputs, outputs=(node.outputs[index],)))
        return (keep(node, kept), *after) if after else (node,)

    def _original(self, node: While, index: int, view: Op) -> int | None:
        """The variable that variable `index` repeats."""
        for other, following in enumerate(node.body.results):
            if other != index and following == view.inputs[0]:
                one, two = node.inits[index], node.inits[other]
                if self._equal(one, two):
                    return other
        return None

    def _equal(self, one: Value, other: Value) -> bool:
        if one.constant is None or other.constant is None:
            return False
        return self._pool.constants[one.constant] == self._pool.constants[other.constant]
