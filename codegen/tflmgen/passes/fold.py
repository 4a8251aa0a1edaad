"""Constant folding: evaluates operators on constants at compile time, bit for bit as their kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from tflmgen.ir.graph import Module, Op
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels import fold, instance_of_op
from tflmgen.kernels.costs import TUNING
from tflmgen.kernels.specification import Operators
from tflmgen.passes.operator_rewriter import OperatorRewriter, Replacement

Folding = Callable[[OperatorInstance], Sequence[NDArray[Any]] | None]
"""Evaluates an operator on constants, as OperatorSpec.fold."""


def fold_pass(operators: Operators) -> Callable[[Module], Module]:
    """The pass that folds constants with the evaluators of the table `operators`."""

    def fold_constants(module: Module) -> Module:
        """Replaces outputs of operators on constants by constants.

        Operators with outputs much larger than their inputs (FILL, BROADCAST_TO) stay, since flash costs more than
        their run time.
        """
        return _Fold(module, operators).rewritten()

    return fold_constants


class _Fold(OperatorRewriter):
    def __init__(self, module: Module, operators: Operators) -> None:
        super().__init__(module)
        self._operators = operators

    def op(self, op: Op) -> Replacement:
        is_small = _is_small(op)
        results = fold(op.operator, instance_of_op(op, self.pool.constants), self._operators) if is_small else None
        if results is None:
            return None
        for output, array in zip(op.outputs, results, strict=True):
            self.mapping[output] = self.pool.add(array, output)
        return ()


def _is_small(op: Op) -> bool:
    """Whether the result takes at most TUNING.folded_bytes more than the constants that it replaces."""
    inputs = [v.type for v in op.inputs if v is not None and v.is_constant]
    outputs = [v.type for v in op.outputs]
    widens = sum(t.elements for t in outputs) <= sum(t.elements for t in inputs)
    return widens or sum(t.bytes for t in outputs) <= sum(t.bytes for t in inputs) + TUNING.folded_bytes


def folding_compactly(operators: Operators) -> Operators:
    """The table for a flash that is short: no operator is evaluated whose results take more bytes than its constants.

    Weights of float16 stay as they are, and are widened in the arena in front of the layer that reads them.
    """
    return {
        name: replace(entry, fold=_compact(entry.fold)) if entry.fold else entry for name, entry in operators.items()
    }


def _compact(fold_operator: Folding) -> Folding:
    def fold_compactly(op: OperatorInstance) -> Sequence[NDArray[Any]] | None:
        constant_bytes = sum(
            t.bytes for t, array in zip(op.inputs, op.constants, strict=True) if t and array is not None
        )
        is_larger = sum(t.bytes for t in op.outputs) > constant_bytes + TUNING.folded_bytes
        return None if is_larger else fold_operator(op)

    return fold_compactly
