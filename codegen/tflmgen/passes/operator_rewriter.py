"""Rewriter of passes that replace operators, one after the other, with their producers and readers in view."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

from tflmgen.ir import Rewriter, resolve_operands
from tflmgen.ir.graph import Module, Node, Op, Value
from tflmgen.passes.constant_pool import Pool
from tflmgen.passes.def_use import Dataflow, is_legal
from tflmgen.passes.fused_regions import FusedRegion, Regions

Replacement = Op | Value | Sequence[Node] | None
"""Replacement of an operator: another one, a value that its only output equals, or nodes; None: it stays."""


class OperatorRewriter(Rewriter, ABC):
    """Rewrites a module operator by operator.

    pool      the module's constants, and those that the pass adds
    flow      producers and readers of the module's values, as they are before the pass
    absorbed  ids of operators that the replacement of an earlier one computes as well, and that are therefore left out
    """

    def __init__(self, module: Module) -> None:
        super().__init__()
        self._module = module
        self.pool = Pool(module)
        self.absorbed: set[int] = set()

    @cached_property
    def flow(self) -> Dataflow:
        """Producers and readers before the pass."""
        return Dataflow(self._module)

    def rewritten(self) -> Module:
        """The module rebuilt, with the pool's constants."""
        return self.pool.into(self.run(self._module))

    def node(self, node: Node) -> Sequence[Node]:
        """An operator's replacement; any other node with its regions rewritten."""
        if not isinstance(node, Op):
            return (self.regions(node),)
        if node.id in self.absorbed:
            return ()
        replacement = self.op(node)
        if replacement is None:
            return (node,)
        if isinstance(replacement, Value):
            self.mapping[node.outputs[0]] = replacement
            return ()
        nodes = (replacement,) if isinstance(replacement, Op) else replacement
        # Values that a pass takes from `flow` may have been replaced meanwhile.
        return [resolve_operands(new, self.mapping) for new in nodes]

    @abstractmethod
    def op(self, op: Op) -> Replacement:
        """Replacement of an operator, whose operands are resolved."""

    def legal(self, op: Op | None) -> Op | None:
        """The operator if it satisfies its support rules; else None."""
        return op if op is not None and is_legal(op, self.pool.constants) else None


class RegionRewriter(OperatorRewriter):
    """Replaces the largest region that ends with an operator and that `fused` accepts by one operator."""

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self._regions = Regions(module, self.flow, self.is_fusible)

    def op(self, op: Op) -> Replacement:
        """The operator in place of the largest region that has one."""
        regions = self._regions.ending_with(op, lambda source: self.is_source(source, op))
        return next((fused for region in regions if (fused := self.fused(op, region)) is not None), None)

    @abstractmethod
    def is_fusible(self, op: Op) -> bool:
        """Whether an operator may be part of a region."""

    @abstractmethod
    def is_source(self, source: Value, op: Op) -> bool:
        """Whether a region from a value to an operator may be fused, as far as these two tell."""

    @abstractmethod
    def fused(self, op: Op, region: FusedRegion) -> Op | None:
        """One operator for the region that ends with `op`; None if there is none."""
