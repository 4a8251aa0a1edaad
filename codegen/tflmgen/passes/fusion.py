"""Base classes of passes that replace patterns of operators, or fuse operators with their neighbours."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from tflmgen.ir import Ids, Module, Node, Op, Rewriter, Value
from tflmgen.passes.constant_pool import Pool
from tflmgen.passes.def_use import Dataflow
from tflmgen.passes.fused_regions import Region, Regions


class PatternRewriter(Rewriter):
    """Rewrites a module whose producers and readers it knows; new constants go into `pool`."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.pool = Pool(module)
        self._module = module
        self._flow = Dataflow(module)

    def rewritten(self) -> Module:
        """The module rebuilt, with the pool's constants."""
        return self.pool.into(self.run(self._module))


class Fuser(Rewriter, ABC):
    """Rewrites operator by operator; `_absorbed` holds the ids of operators that an earlier one has absorbed."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self._constants = module.constants
        self._flow = Dataflow(module)
        self._ids = Ids(module)
        self._absorbed: set[int] = set()

    def node(self, node: Node) -> Sequence[Node]:
        """Nodes in place of this one: its regions rewritten, what `op` returns for it, or none if it was absorbed."""
        if not isinstance(node, Op):
            return (self.regions(node),)
        return () if node.id in self._absorbed else self.op(node)

    @abstractmethod
    def op(self, op: Op) -> Sequence[Node]:
        """Replacement of an operator, whose operands are resolved."""


class RegionFuser(Fuser):
    """Replaces the largest region that ends with an operator and that `_fused` accepts by one operator."""

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self._regions = Regions(module, self._flow, self._is_fusible)

    def op(self, op: Op) -> Sequence[Node]:
        for region in self._regions.ending_with(op, lambda source: self._is_source(source, op)):
            fused = self._fused(op, region)
            if fused is not None:
                return (fused,)
        return (op,)

    @abstractmethod
    def _is_fusible(self, op: Op) -> bool:
        """Whether an operator may be part of a region."""

    @abstractmethod
    def _is_source(self, source: Value, op: Op) -> bool:
        """Whether a region from a value to an operator may be fused, as far as these two tell."""

    @abstractmethod
    def _fused(self, op: Op, region: Region) -> Op | None:
        """One operator for the region that ends with `op`; None if there is none."""
