"""Applies value-range analysis: constant values, redundant clamps, branches that can't be taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.graph import If, Module, Node, Op, Removed, Value, While
from tflmgen.kernels import instance_of, output_ranges, table_of, traits_of
from tflmgen.kernels.costs import TUNING
from tflmgen.kernels.numeric import Activation, activation_range
from tflmgen.kernels.ranges import Interval
from tflmgen.passes.macs import macs_of
from tflmgen.passes.operator_rewriter import OperatorRewriter, Replacement
from tflmgen.passes.range_analysis import Ranges


def use_known_values(module: Module, ranges: Ranges) -> Module:
    """Replaces values that are equal for every model input by constants, up to TUNING.folded_bytes.

    An operator that changes no element in its input's range (RELU of positive values, MINIMUM with a number that no
    element exceeds, REQUANTIZE to the same numbers) is replaced by its input; such fused activations are removed. An
    If gets its known condition as a constant. A While that is never entered is replaced by its initial values.
    """
    rewriter = _RangeRewriter(module, ranges)
    return replace(rewriter.rewritten(), removed=(*module.removed, *rewriter.removed))


class _RangeRewriter(OperatorRewriter):
    def __init__(self, module: Module, ranges: Ranges) -> None:
        super().__init__(module)
        self.removed: list[Removed] = []
        self._ranges = ranges

    def node(self, node: Node) -> Sequence[Node]:
        if isinstance(node, Op):
            return super().node(node)
        if isinstance(node, While) and node.id in self._ranges.never:
            self.mapping.update(zip(node.outputs, node.inits, strict=True))
            self.removed.append(Removed("loop", node.body.name, node.origin))
            return ()
        if isinstance(node, While):
            for value in node.variables:
                self._replace(value)
        for value in node.outputs:
            self._replace(value)
        return (self.regions(self._decided(node) if isinstance(node, If) else node),)

    def _decided(self, node: If) -> If:
        interval = self._ranges.of(node.condition)
        if interval is None or node.condition.is_constant or not interval.known.all():
            return node
        truth = bool(interval.low[0])
        self.removed.append(Removed("branch", (node.orelse if truth else node.then).name, node.origin))
        return replace(node, condition=self.pool.boolean(truth, node.condition))

    def op(self, op: Op) -> Replacement:
        replaced = [self._replace(value) for value in op.outputs]
        if replaced and all(replaced):
            first, *further = op.outputs
            self.removed.append(Removed("constant", first.name, op.origin, macs=macs_of(op)))
            self.removed += [Removed("constant", value.name, op.origin) for value in further]
            return ()
        source, unclamped = self._equal_operand(op), self._without_activation(op)
        if source is not None or unclamped is not None:
            self.removed.append(Removed("clamp", op.outputs[0].name, op.origin))
        return source or unclamped

    def _replace(self, value: Value) -> bool:
        """Maps a value to a constant if it is constant for every input and small; whether it did."""
        interval, kind = self._ranges.of(value), value.type
        if interval is None or not interval.known.all() or not kind.is_static or kind.bytes > TUNING.folded_bytes:
            return False
        array = np.broadcast_to(interval.low, kind.max_shape) if kind.shape else interval.low.reshape(())
        self.mapping[value] = self.pool.add(array, value)
        return True

    def _equal_operand(self, op: Op) -> Value | None:
        """Input that equals the operator's output for every element in range; else None."""
        if traits_of(op.operator).extreme:
            return self._dominant_operand(op)
        source, output = op.inputs[0] if op.inputs else None, op.outputs[0]
        interval = self._operand(op, 0)
        if source is None or interval is None or source.type != output.type:
            return None
        table = table_of(op.operator, instance_of(op.inputs, [output.type], op.attributes, self.pool.constants))
        if table is None:
            return None
        low, high = interval.hull
        possible = np.arange(low, high + 1)
        return source if np.array_equal(table[possible - source.type.dtype.limits[0]], possible) else None

    def _without_activation(self, op: Op) -> Op | None:
        """The operator without its activation if that never clamps; else None.

        Layers with weights keep it: their kernels may be slower without.
        """
        traits = traits_of(op.operator)
        if not traits.clamped or traits.channel_axis is not None or op.id not in self._ranges.operands:
            return None
        kind = op.outputs[0].type
        if kind.dtype not in (DType.INT8, DType.INT16) or kind.quantization is None:
            return None
        limits = activation_range(op.attributes.activation, kind.dtype, kind.quantization)
        unclamped = replace(op, attributes=replace(op.attributes, activation=Activation.NONE))
        if unclamped == op or limits == kind.dtype.limits:
            return None
        instance = instance_of(unclamped.inputs, [kind], unclamped.attributes, self.pool.constants)
        (interval,) = output_ranges(unclamped.operator, instance, self._ranges.operands[op.id])
        return unclamped if interval is not None and interval.within(*limits) else None

    def _dominant_operand(self, op: Op) -> Value | None:
        """Operand of MAXIMUM or MINIMUM that the result always equals; else None."""
        is_maximum = traits_of(op.operator).extreme > 0
        for index, operand in enumerate(op.inputs):
            a, b = self._operand(op, index), self._operand(op, 1 - index)
            if operand is None or a is None or b is None or operand.type != op.outputs[0].type:
                continue
            if (a.low >= b.high if is_maximum else a.high <= b.low).all():
                return operand
        return None

    def _operand(self, op: Op, index: int) -> Interval | None:
        return self._ranges.operands.get(op.id, (None,) * len(op.inputs))[index]
