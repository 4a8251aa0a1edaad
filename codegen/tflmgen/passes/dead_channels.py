"""Finds dead channels: those with a known constant value, and those that no result depends on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir.graph import Block, Module, Op, Value, While, blocks_of, operands_of, walk
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels import instance_of_op, reaches_out, traits_of, weights_of
from tflmgen.kernels.ranges import Integers, Interval, channels_of
from tflmgen.kernels.specification import input_type, is_int16, zero_point
from tflmgen.passes.channel_links import links_of
from tflmgen.passes.range_analysis import Ranges

SUM_LIMIT = {False: 2**31, True: 2**46}
"""Is int16 -> limit on the magnitude of a bias: 32-bit accumulators of int8 layers, 48-bit ones of int16 layers."""


def known_inputs(op: Op, instance: OperatorInstance, interval: Interval | None) -> tuple[NDArray[np.bool_], Integers]:
    """Columns of a layer's weights with a constant input, bool [columns], and their contributions [outputs, columns].

    The bias can take in the contributions of constant columns. A column is an input channel; of FULLY_CONNECTED, an
    element of a row. For windows that reach into the padding, only inputs equal to the zero point count as constant.
    """
    traits = traits_of(op.operator)
    weights = weights_of(traits, instance)
    assert weights is not None
    columns = weights.rows.shape[2]
    nothing = np.zeros(columns, np.bool_), np.broadcast_to(np.int64(0), (weights.outputs, columns))
    if interval is None:
        return nothing
    channels = np.arange(columns) % len(interval.low)
    centred = (interval.low - zero_point(input_type(instance, 0)))[channels]
    is_known = interval.known[channels]
    if reaches_out(traits, instance):
        is_known &= centred == 0
    if not is_known.any():
        return nothing
    gains = weights.rows.sum(axis=1) * np.where(is_known, centred, 0)
    bias = instance.constants[2] if len(instance.constants) > 2 else None
    largest_sum = np.abs(gains).sum(axis=1) + (
        0 if bias is None else np.abs(np.asarray(bias).astype(np.int64).reshape(-1))
    )
    if largest_sum.max(initial=0) >= SUM_LIMIT[is_int16(instance)]:
        return nothing
    return is_known, gains


class ChannelLiveness:
    """Live channels of a module's values.

    Least fixed point of: channels read by results, by control flow and by other operators are live; an input channel
    of a layer is live if a live output depends on it; linked channels are live together.
    """

    def __init__(self, module: Module, ranges: Ranges) -> None:
        self._ranges = ranges
        self._channels: dict[Value, Integers] = {}
        self._count = 0
        self._links: list[tuple[Integers, Integers]] = []
        self._pinned: list[Integers] = []
        self._layers: list[tuple[Op, NDArray[np.bool_]]] = []
        for function in module.functions:
            for value in function.inputs:
                self._pin(value)
            self._results(function.body)
            for node in walk(function.body):
                if isinstance(node, Op):
                    self._op(node, instance_of_op(node, module.constants))
                else:
                    for value in (*operands_of(node), *node.outputs):
                        self._pin(value)
                    for region in blocks_of(node):
                        self._results(region)
                    if isinstance(node, While):
                        for value in node.variables:
                            self._pin(value)
        self._classes = self._equivalence_classes()

    def _numbers(self, value: Value) -> Integers:
        """Global indices of a value's channels."""
        if value not in self._channels:
            first, self._count = self._count, self._count + max(1, channels_of(value.type))
            self._channels[value] = np.arange(first, self._count)
        return self._channels[value]

    def _pin(self, value: Value) -> None:
        if not value.is_constant:
            self._pinned.append(self._numbers(value))

    def _results(self, block: Block) -> None:
        for value in block.results:
            self._pin(value)

    def _op(self, op: Op, instance: OperatorInstance) -> None:
        links = links_of(op, instance)
        if links is not None and traits_of(op.operator).depth_axis is not None:
            uses = self._uses(op, instance)
            links = None if uses is None else links
            if uses is not None:
                self._layers.append((op, uses))
        if links is None:
            for value in (*op.inputs, *op.outputs):
                if value is not None:
                    self._pin(value)
            return
        # Operands that are no data, such as a size, are live as a whole.
        data = {source for source, _, _, _ in links} | {op.inputs[0]}
        for value in (*op.inputs, *op.outputs):
            if value is not None and not value.is_constant:
                self._numbers(value)
                if value not in data and value not in op.outputs:
                    self._pin(value)
        for source, channels, target, target_channels in links:
            self._links.append((self._numbers(source)[channels], self._numbers(target)[target_channels]))

    def _uses(self, op: Op, instance: OperatorInstance) -> NDArray[np.bool_] | None:
        """Bool [outputs, input channels]: whether an output depends on a channel; None unless int8 or int16."""
        source, weights = op.inputs[0], weights_of(traits_of(op.operator), instance)
        if source is None or weights is None:
            return None
        is_known, _ = known_inputs(op, instance, self._ranges.of(source))
        uses = weights.rows.any(axis=1) & ~is_known
        return np.asarray(uses.reshape(weights.outputs, -1, channels_of(source.type)).any(axis=1))

    def _equivalence_classes(self) -> Integers:
        """Smallest channel of each channel's equivalence class under the links (union by repeated minimum)."""
        classes = np.arange(self._count)
        while True:
            before = classes.copy()
            for first, second in self._links:
                smallest = np.minimum(classes[first], classes[second])
                np.minimum.at(classes, first, smallest)
                np.minimum.at(classes, second, smallest)
            classes = classes[classes]
            if np.array_equal(classes, before):
                return classes

    def remaining(self, multiple: int) -> dict[Value, Integers]:
        """Indices of the remaining channels, for each value with dead channels.

        Some dead channels remain so that each tensor has at least one channel, and a multiple of `multiple` where
        possible.
        """
        live = np.zeros(self._count, np.bool_)
        for numbers in self._pinned:
            live[self._classes[numbers]] = True
        self._propagate(live)
        self._keep_multiples(live, multiple)
        remaining = {}
        for value in self._channels:
            is_live = live[self._classes[self._numbers(value)]]
            if not is_live.all():
                remaining[value] = np.flatnonzero(is_live)
        return remaining

    def _propagate(self, live: NDArray[np.bool_]) -> None:
        """Marks the input channels of live outputs until a fixed point; `live` is indexed by class."""
        while True:
            live_count = int(live.sum())
            # From the results backwards, as liveness goes: a chain of layers takes one round, not one for each layer.
            for op, uses in reversed(self._layers):
                source = op.inputs[0]
                assert source is not None
                outputs = live[self._classes[self._numbers(op.outputs[0])]]
                live[self._classes[self._numbers(source)[uses[outputs].any(axis=0)]]] = True
            if int(live.sum()) == live_count:
                return

    def _keep_multiples(self, live: NDArray[np.bool_], multiple: int) -> None:
        """Marks dead channels as live until each value has a multiple of `multiple` channels, at least one."""
        while True:
            live_count = int(live.sum())
            for value in self._channels:
                classes = self._classes[self._numbers(value)]
                is_live = live[classes]
                dead_classes = np.flatnonzero(np.bincount(classes[~is_live]))
                lacking = multiple - int(is_live.sum()) % multiple if is_live.any() else multiple
                if (len(dead_classes) and lacking % multiple) or not is_live.any():
                    live[dead_classes[:lacking]] = True
                    self._propagate(live)
            if int(live.sum()) == live_count:
                return
