"""What passes share that look at the operators around each operator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from tflmgen.ir import Ids, Module, Node, Op, Rewriter
from tflmgen.passes.def_use import Dataflow
from tflmgen.passes.fused_regions import Region, Regions


class Fuser(Rewriter, ABC):
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

    @abstractmethod
    def op(self, op: Op) -> Sequence[Node]:
        """What stands in the place of an operator, whose operands are resolved."""


class RegionFuser(Fuser):
    """Rewrites the largest region of operators that ends with an operator and that `_fused` makes one of."""

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self._regions = Regions(module, self._flow, self._takes)

    def op(self, op: Op) -> Sequence[Node]:
        for region in reversed(list(self._regions.ending_with(op))):
            fused = self._fused(op, region)
            if fused is not None:
                return (fused,)
        return (op,)

    @abstractmethod
    def _takes(self, op: Op) -> bool:
        """Whether an operator may be part of a region."""

    @abstractmethod
    def _fused(self, op: Op, region: Region) -> Op | None:
        """The operator that computes what a region does, which ends with `op`."""
