"""Which channels a module can do without: those that every reader knows, and those that no reader makes anything of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import Block, Module, Op, OperatorInstance, Value, While, blocks_of, operands_of, walk
from tflmgen.kernels import (
    Integers,
    Interval,
    channels_of,
    input_type,
    instance_of,
    is_int16,
    reaches_out,
    traits_of,
    weights_of,
    zero_point,
)
from tflmgen.passes.channel_links import links_of
from tflmgen.passes.range_analysis import Ranges

SUM_LIMIT = {False: 2**31, True: 2**46}
"""Magnitude that a bias stays below, of int8 layers and of int16 ones."""


def known_inputs(op: Op, instance: OperatorInstance, interval: Interval | None) -> tuple[NDArray[np.bool_], Integers]:
    """Which columns of a layer's weights a bias can stand for, and what each output gets for every column.

    Columns are channels of the input, in a matrix those of every pixel of a row. A number other than the zero point is
    no constant to windows that reach beyond the input, where zeros are.
    """
    traits = traits_of(op.operator)
    weights = weights_of(traits, instance)
    assert weights is not None
    sums = weights.rows.sum(axis=1)
    columns = sums.shape[1]
    if interval is None:
        return np.zeros(columns, np.bool_), np.zeros_like(sums)
    channels = np.arange(columns) % len(interval.low)
    centred = (interval.low - zero_point(input_type(instance, 0)))[channels]
    known = interval.known[channels]
    if reaches_out(traits, instance):
        known &= centred == 0
    gains = sums * np.where(known, centred, 0)
    bias = instance.constants[2] if len(instance.constants) > 2 else None
    most = np.abs(gains).sum(axis=1) + (0 if bias is None else np.abs(np.asarray(bias).astype(np.int64).reshape(-1)))
    if most.max(initial=0) >= SUM_LIMIT[is_int16(instance)]:
        return np.zeros(columns, np.bool_), np.zeros_like(sums)
    return known, gains


def kept_channels(module: Module, ranges: Ranges, multiple: int) -> dict[Value, Integers]:
    """The channels that stay of each value that can lose some.

    The least solution of: what results, other operators and control flow read is needed; of what a layer reads, the
    channels that a needed output depends on. Channels of tensors that go together are needed together. Of what is not
    needed, some stays where else a tensor would have none, or no `multiple` of channels.
    """
    return _Channels(module, ranges).kept(multiple)


class _Channels:
    def __init__(self, module: Module, ranges: Ranges) -> None:
        self._ranges = ranges
        self._base: dict[Value, int] = {}
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
                    types = [v.type for v in node.outputs]
                    self._op(node, instance_of(node.inputs, types, node.attributes, module.constants))
                else:
                    for value in (*operands_of(node), *node.outputs):
                        self._pin(value)
                    for region in blocks_of(node):
                        self._results(region)
                    if isinstance(node, While):
                        for value in node.variables:
                            self._pin(value)
        self._classes = self._joined()

    def _numbers(self, value: Value) -> Integers:
        """The numbers of a value's channels among all."""
        if value not in self._base:
            self._base[value] = self._count
            self._count += max(1, channels_of(value.type))
        return self._base[value] + np.arange(max(1, channels_of(value.type)))

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
        # What is read besides the data, such as a size, is needed as it is.
        data = {one for one, _, _, _ in links} | {op.inputs[0]}
        for value in (*op.inputs, *op.outputs):
            if value is not None and not value.is_constant:
                self._numbers(value)
                if value not in data and value not in op.outputs:
                    self._pin(value)
        for one, channels, other, others in links:
            self._links.append((self._numbers(one)[channels], self._numbers(other)[others]))

    def _uses(self, op: Op, instance: OperatorInstance) -> NDArray[np.bool_] | None:
        """[o, c]: whether output o depends on channel c of the input; None for other types than int8 and int16."""
        source, weights = op.inputs[0], weights_of(traits_of(op.operator), instance)
        if source is None or weights is None:
            return None
        known, _ = known_inputs(op, instance, self._ranges.of(source))
        uses = weights.rows.any(axis=1) & ~known
        return np.asarray(uses.reshape(weights.outputs, -1, channels_of(source.type)).any(axis=1))

    def _joined(self) -> Integers:
        """The class of each channel, by its least member: linked ones have one (union by repeated minimum)."""
        classes = np.arange(self._count)
        while True:
            before = classes.copy()
            for one, other in self._links:
                least = np.minimum(classes[one], classes[other])
                np.minimum.at(classes, one, least)
                np.minimum.at(classes, other, least)
            classes = classes[classes]
            if np.array_equal(classes, before):
                return classes

    def kept(self, multiple: int) -> dict[Value, Integers]:
        needed = np.zeros(self._count, np.bool_)
        for numbers in self._pinned:
            needed[self._classes[numbers]] = True
        self._spread(needed)
        self._fill(needed, multiple)
        found = {}
        for value in self._base:
            stays = needed[self._classes[self._numbers(value)]]
            if not stays.all():
                found[value] = np.flatnonzero(stays)
        return found

    def _spread(self, needed: NDArray[np.bool_]) -> None:
        """Adds what needed outputs of layers depend on, until nothing is added; `needed` is by class."""
        while True:
            before = int(needed.sum())
            for op, uses in self._layers:
                source = op.inputs[0]
                assert source is not None
                outputs = needed[self._classes[self._numbers(op.outputs[0])]]
                needed[self._classes[self._numbers(source)[uses[outputs].any(axis=0)]]] = True
            if int(needed.sum()) == before:
                return

    def _fill(self, needed: NDArray[np.bool_], multiple: int) -> None:
        """Keeps channels that could go, so that each value has a multiple of channels, and one at least."""
        while True:
            before = int(needed.sum())
            for value in self._base:
                classes = self._classes[self._numbers(value)]
                stays = needed[classes]
                spare = np.unique(classes[~stays])
                lacking = multiple - int(stays.sum()) % multiple if stays.any() else multiple
                if (len(spare) and lacking % multiple) or not stays.any():
                    needed[spare[:lacking]] = True
                    self._spread(needed)
            if int(needed.sum()) == before:
                return
