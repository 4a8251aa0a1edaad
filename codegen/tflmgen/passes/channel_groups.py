"""Layers computed by groups of their output channels, each with weights of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tflmgen.ir.graph import Module, Node, Op, Value
from tflmgen.kernels import OPERATORS, traits_of
from tflmgen.kernels.ranges import Integers, channels_of
from tflmgen.passes.def_use import input_at
from tflmgen.passes.drop_channels import type_of_rows
from tflmgen.passes.operator_rewriter import OperatorRewriter, Replacement

JOIN = next(operator for operator in OPERATORS.values() if operator.traits.concatenates)
"""Operator that joins the groups' results."""

GROUP = 4
"""Channels that a group is a multiple of, where the layer has as many: kernels compute so many at a time."""


def split_channels(module: Module, groups: Mapping[int, int]) -> Module:
    """Splits layers by output channels: the parts are computed one after the other, and concatenated. Bit-exact.

    groups: id of an operator with weights -> number of parts, at most. Operators that cannot be split stay.
    """
    return _Splitter(module, groups).rewritten()


class _Splitter(OperatorRewriter):
    def __init__(self, module: Module, groups: Mapping[int, int]) -> None:
        super().__init__(module)
        self._groups = groups

    def op(self, op: Op) -> Replacement:
        if op.id not in self._groups or not self._is_splittable(op):
            return None
        channels = channels_of(op.outputs[0].type)
        size = -(-channels // self._groups[op.id] // GROUP) * GROUP
        rows = [np.arange(first, min(first + size, channels)) for first in range(0, channels, size)]
        if len(rows) < 2:
            return None
        parts = [self._part(op, group) for group in rows]
        results = tuple(part.outputs[0] for part in parts)
        attributes = JOIN.attributes({"axis": len(op.outputs[0].type.shape) - 1})
        nodes: Sequence[Node] = [
            *parts,
            replace(op, operator=JOIN.name, attributes=attributes, inputs=results, outputs=op.outputs),
        ]
        return nodes if all(isinstance(node, Op) and self.legal(node) for node in nodes) else None

    def _is_splittable(self, op: Op) -> bool:
        """Whether each output channel depends on all input channels, by constants that are the layer's own."""
        traits, source = traits_of(op.operator), op.inputs[0]
        weights, bias = (input_at(op, place) for place in (traits.roles.weights, traits.roles.bias))
        if traits.channel_axis is None or traits.depth_axis is None or weights is None or source is None:
            return False
        shape = op.outputs[0].type.shape
        is_whole = len(source.type.shape) != len(weights.type.shape) or (
            weights.type.shape[traits.depth_axis] == source.type.shape[-1]
        )
        return weights.is_constant and (bias is None or bias.is_constant) and bool(shape) and is_whole

    def _part(self, op: Op, rows: Integers) -> Op:
        traits, output = traits_of(op.operator), op.outputs[0]
        inputs = list(op.inputs)
        for place, axis in ((traits.roles.weights, traits.channel_axis), (traits.roles.bias, 0)):
            value = input_at(op, place)
            array = self.pool.array(value)
            if value is not None and array is not None and place is not None and axis is not None:
                cut = np.take(array, rows, axis=axis)
                inputs[place] = self.pool.add(cut, replace(value, type=type_of_rows(value.type, cut.shape, axis, rows)))
        kind = output.type.with_shape((*output.type.shape[:-1], len(rows)))
        name = f"{output.name} channels {rows[0]} to {rows[-1]}"
        part = Value(self.pool.ids.take(), name, kind)
        return replace(op, id=self.pool.ids.take(), inputs=tuple(inputs), outputs=(part,))
