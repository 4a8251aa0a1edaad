"""What range analysis decides: values that are one number, clamps that can't act, branches that can't be taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tflmgen.ir import DType, If, Module, Node, Op, Removed, Rewriter, Value, While
from tflmgen.kernels import (
    Activation,
    Interval,
    activation_range,
    instance_of,
    output_ranges,
    table_of,
    traits_of,
)
from tflmgen.passes.constant_pool import Pool
from tflmgen.passes.fold import GROWTH_LIMIT
from tflmgen.passes.macs import macs_of
from tflmgen.passes.range_analysis import Ranges


def use_known_values(module: Module, ranges: Ranges) -> Module:
    """Replaces values that are the same for every input by constants, as long as these are small.

    An operator that leaves every element as it is that it can get (RELU of what is positive, MINIMUM with what no
    element exceeds, REQUANTIZE to the same numbers) is its input; fused activations of this kind go, too. An If whose
    condition is known gets it as a constant, a While that is never entered is its initial values.
    """
    known = _Known(module, ranges)
    rewritten = known.pool.into(known.run(module))
    return replace(rewritten, removed=(*module.removed, *known.removed))


class _Known(Rewriter):
    def __init__(self, module: Module, ranges: Ranges) -> None:
        super().__init__()
        self.pool = Pool(module)
        self.removed: list[Removed] = []
        self._ranges = ranges

    def node(self, node: Node) -> Sequence[Node]:
        if isinstance(node, Op):
            return self._op(node)
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

    def _op(self, op: Op) -> Sequence[Node]:
        replaced = [self._replace(value) for value in op.outputs]
        if replaced and all(replaced):
            first, *others = op.outputs
            self.removed.append(Removed("constant", first.name, op.origin, macs=macs_of(op)))
            self.removed += [Removed("constant", value.name, op.origin) for value in others]
            return ()
        same, free = self._same(op), self._without_activation(op)
        if same is None and free is None:
            return (op,)
        self.removed.append(Removed("clamp", op.outputs[0].name, op.origin))
        if same is None:
            return () if free is None else (free,)
        self.mapping[op.outputs[0]] = same
        return ()

    def _replace(self, value: Value) -> bool:
        """Maps a value to a constant if it is known and small."""
        interval, kind = self._ranges.of(value), value.type
        if interval is None or not interval.known.all() or not kind.is_static or kind.bytes > GROWTH_LIMIT:
            return False
        array = np.broadcast_to(interval.low, kind.max_shape) if kind.shape else interval.low.reshape(())
        self.mapping[value] = self.pool.add(array, value)
        return True

    def _same(self, op: Op) -> Value | None:
        """The input that an operator leaves as it is."""
        if op.operator in ("MAXIMUM", "MINIMUM"):
            return self._winner(op)
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
        """The operator without its activation, where that clamps nothing of what can come.

        Layers with weights keep theirs: they may well be slower without.
        """
        traits = traits_of(op.operator)
        if not traits.clamped or traits.channel_axis is not None or op.id not in self._ranges.operands:
            return None
        kind = op.outputs[0].type
        if kind.dtype not in (DType.INT8, DType.INT16) or kind.quantization is None:
            return None
        limits = activation_range(op.attributes.activation, kind.dtype, kind.quantization)
        free = replace(op, attributes=replace(op.attributes, activation=Activation.NONE))
        if free == op or limits == kind.dtype.limits:
            return None
        instance = instance_of(free.inputs, [kind], free.attributes, self.pool.constants)
        (interval,) = output_ranges(free.operator, instance, self._ranges.operands[op.id])
        return free if interval is not None and interval.within(*limits) else None

    def _winner(self, op: Op) -> Value | None:
        """The operand that is never less, or never more, than the other."""
        for index, one in enumerate(op.inputs):
            a, b = self._operand(op, index), self._operand(op, 1 - index)
            if one is None or a is None or b is None or one.type != op.outputs[0].type:
                continue
            if (a.low >= b.high if op.operator == "MAXIMUM" else a.high <= b.low).all():
                return one
        return None

    def _operand(self, op: Op, index: int) -> Interval | None:
        return self._ranges.operands.get(op.id, (None,) * len(op.inputs))[index]
