"""Turns loops with a known number of iterations into counted loops without a condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tflmgen.frontend import counters, trip_count
from tflmgen.ir import Rewriter
from tflmgen.ir.graph import Block, Module, Node, While
from tflmgen.passes.constant_pool import Pool


def count_trips(module: Module) -> Module:
    """Sets the number of iterations of loops, and replaces the final value of a counter by a constant.

    A counter that the body does not read is dead afterwards. A loop without iterations becomes its initial values.
    """
    pool = Pool(module)
    return pool.into(_Count(pool).run(module))


class _Count(Rewriter):
    def __init__(self, pool: Pool) -> None:
        super().__init__()
        self._pool = pool

    def node(self, node: Node) -> Sequence[Node]:
        node = self.regions(node)
        if not isinstance(node, While):
            return (node,)
        trips = trip_count(node, self._pool.constants)
        if trips is None:
            return (node,)
        if trips == 0:
            self.mapping.update(zip(node.outputs, node.inits, strict=True))
            return ()
        counting = counters(node, self._pool.constants)
        for variable, output in zip(node.variables, node.outputs, strict=True):
            if variable in counting and counting[variable].fits(trips):
                self.mapping[output] = self._pool.add(np.full(1, counting[variable].after(trips)), output)
        return (replace(node, condition=Block((), (), node.condition.name), trips=trips),)
