"""Removes operators that return one of their inputs unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tflmgen.ir.graph import If, Module, Node, Op, Value
from tflmgen.kernels import Connective, Traits, traits_of
from tflmgen.kernels.numeric import Activation
from tflmgen.passes.operator_rewriter import OperatorRewriter, Replacement


def drop_identities(module: Module) -> Module:
    """Replaces x AND x, x AND true, MAXIMUM(x, x), SELECT(c, x, x), x + 0, views back to an earlier shape and similar
    by x.

    An If on NOT x becomes an If on x with exchanged branches.
    """
    return _Identities(module).rewritten()


class _Identities(OperatorRewriter):
    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self._viewed: dict[Value, Value] = {}
        self._negated: dict[Value, Value] = {}

    def node(self, node: Node) -> Sequence[Node]:
        if isinstance(node, If) and node.condition in self._negated:
            condition = self._negated[node.condition]
            node = replace(node, condition=condition, then=node.orelse, orelse=node.then)
        return super().node(node)

    def op(self, op: Op) -> Replacement:
        same = self._equal_value(op)
        return same if same is not None and same.type == op.outputs[0].type else None

    def _equal_value(self, op: Op) -> Value | None:
        """Value that the output equals (its type may still differ); else None."""
        first, *others = op.inputs or (None,)
        if first is None:
            return None
        traits = traits_of(op.operator)
        if traits.view:
            self._viewed[op.outputs[0]] = self._viewed.get(first, first)
            return self._viewed[op.outputs[0]]
        if traits.connective is Connective.NOT:
            if first.type == op.outputs[0].type:
                self._negated[op.outputs[0]] = first
            return self._negated.get(first)
        if traits.same_if_typed:
            return first if first.type.is_static else None
        if traits.cuts and first.type == op.outputs[0].type and first.type.is_static:
            instance = self.flow.instance(op)
            return first if all(traits.row_wise(instance, axis) for axis in range(len(first.type.shape))) else None
        if traits.same_if_equal and len({op.inputs[place] for place in traits.same_if_equal}) == 1:
            return first
        if traits.selects:
            return self._selected(first, others)
        return self._neutral(op, traits)

    def _neutral(self, op: Op, traits: Traits) -> Value | None:
        """Operand that the result equals, as the other one is neutral or it is itself absorbing; not if quantised."""
        fused = getattr(op.attributes, "activation", Activation.NONE)
        if not traits.elementwise or fused is not Activation.NONE or op.outputs[0].type.quantization is not None:
            return None
        first, second = op.inputs[0], op.inputs[-1]
        for operand, constant in ((first, second), (second, first))[: 2 if traits.commutative else 1]:
            array = self.pool.array(constant)
            if array is None or not array.size:
                continue
            if traits.neutral is not None and (array == traits.neutral).all():
                return operand
            if traits.absorbing is not None and (array == traits.absorbing).all():
                return constant
        return None

    def _selected(self, condition: Value, choices: Sequence[Value | None]) -> Value | None:
        decided = self._uniform(condition)
        if choices[0] == choices[1] or decided is not None:
            return choices[0] if decided is not False else choices[1]
        return None

    def _uniform(self, value: Value | None) -> bool | None:
        """The common element of a bool constant; else None."""
        array = self.pool.array(value)
        if array is None or not array.size or not (array.all() or not array.any()):
            return None
        return bool(np.ravel(array)[0])
