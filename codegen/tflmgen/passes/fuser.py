"""What passes share that look at the operators around each operator."""

from __future__ import annotations

from collections.abc import Sequence

from tflmgen.graph import Module, Node, Op
from tflmgen.passes.dataflow import Dataflow
from tflmgen.passes.rewrite import Ids, Rewriter


class Fuser(Rewriter):
    """Rewrites operator by operator. `_gone` are the ids of those that are part of an earlier one by now."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self._constants = module.constants
        self._flow = Dataflow(module)
        self._ids = Ids(module)
        self._gone: set[int] = set()

    def node(self, node: Node) -> Sequence[Node]:
        if not isinstance(node, Op):
            return (self.regions(node),)
        return () if node.id in self._gone else self.op(node)

    def op(self, op: Op) -> Sequence[Node]:
        """What stands in the place of an operator, whose operands are resolved."""
        raise NotImplementedError
