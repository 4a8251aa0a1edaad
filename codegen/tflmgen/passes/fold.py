"""Constant folding: evaluates operators on constants at compile time, bit for bit as their kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tflmgen.ir import Module, Node, Op, Rewriter
from tflmgen.kernels import TUNING, Operators, fold, instance_of_op
from tflmgen.passes.constant_pool import Pool


def fold_pass(operators: Operators) -> Callable[[Module], Module]:
    """The pass that folds constants with the evaluators of the table `operators`."""

    def fold_constants(module: Module) -> Module:
        """Replaces outputs of operators on constants by constants.

        Operators with outputs much larger than their inputs (FILL, BROADCAST_TO) stay, since flash costs more than
        their run time.
        """
        pool = Pool(module)
        return pool.into(_Fold(pool, operators).run(module))

    return fold_constants


class _Fold(Rewriter):
    def __init__(self, pool: Pool, operators: Operators) -> None:
        super().__init__()
        self._pool = pool
        self._operators = operators

    def node(self, node: Node) -> Sequence[Node]:
        if not isinstance(node, Op):
            return (self.regions(node),)
        if not _is_small(node):
            return (node,)
        results = fold(node.operator, instance_of_op(node, self._pool.constants), self._operators)
        if results is None:
            return (node,)
        for output, array in zip(node.outputs, results, strict=True):
            self.mapping[output] = self._pool.add(array, output)
        return ()


def _is_small(op: Op) -> bool:
    """Whether the result takes at most TUNING.folded_bytes more than the constants that it replaces."""
    inputs = [v.type for v in op.inputs if v is not None and v.is_constant]
    outputs = [v.type for v in op.outputs]
    widens = sum(t.elements for t in outputs) <= sum(t.elements for t in inputs)
    return widens or sum(t.bytes for t in outputs) <= sum(t.bytes for t in inputs) + TUNING.folded_bytes
