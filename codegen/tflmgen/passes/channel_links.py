"""Links between channels of an operator's tensors: linked channels can only be dropped together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.graph import Op, Value
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels import traits_of
from tflmgen.kernels.operators import axes, axis_of, paddings
from tflmgen.kernels.ranges import Integers, channels_of
from tflmgen.kernels.specification import input_type

Link = tuple[Value, Integers, Value, Integers]
"""(value, a, value, b): channel a[i] of the first value is linked to channel b[i] of the second."""


def links_of(op: Op, instance: OperatorInstance) -> list[Link] | None:
    """Links between an operator's data inputs and its output; None if none of its channels can be dropped."""
    values = [v for v in (*op.inputs, *op.outputs) if v is not None]
    if len(op.outputs) != 1 or not all(v.type.is_static and v.type.elements and v.type.shape for v in values):
        return None
    make, source = _rule(op), op.inputs[0] if op.inputs else None
    if make is None or source is None or (source.is_constant and not cuts_constants(op)):
        return None
    return make(op, instance)


def cuts_constants(op: Op) -> bool:
    """Whether constant operands must drop the same channels as the output."""
    traits = traits_of(op.operator)
    return traits.concatenates or (traits.elementwise and traits.channelwise and len(op.inputs) > 1)


def _equal(source: Value, result: Value) -> list[Link] | None:
    channels = np.arange(channels_of(source.type))
    return [(source, channels, result, channels)] if len(channels) == channels_of(result.type) else None


def _equal_links(op: Op, instance: OperatorInstance) -> list[Link] | None:
    del instance
    return None if op.inputs[0] is None else _equal(op.inputs[0], op.outputs[0])


def _reduction(op: Op, instance: OperatorInstance) -> list[Link] | None:
    last = len(input_type(instance, 0).shape) - 1
    return _equal_links(op, instance) if last not in (axes(instance) or frozenset()) else None


def _pad(op: Op, instance: OperatorInstance) -> list[Link] | None:
    return _equal_links(op, instance) if not any(paddings(instance)[-1]) else None


def _view(op: Op, instance: OperatorInstance) -> list[Link] | None:
    """Links of a view: the same elements with another last dimension."""
    del instance
    source, result = op.inputs[0], op.outputs[0]
    if source is None:
        return None
    before, after = channels_of(source.type), channels_of(result.type)
    if before % after and after % before:
        return None
    longer = np.arange(max(before, after))
    return [(source, longer % before, result, longer % after)]


def _channelwise(op: Op, instance: OperatorInstance) -> list[Link] | None:
    del instance
    links: list[Link] = []
    for value in op.inputs:
        if value is not None and not value.is_constant:
            link = _equal(value, op.outputs[0])
            if link is None:
                return None
            links += link
    return links


def _depthwise(op: Op, instance: OperatorInstance) -> list[Link] | None:
    source, result = op.inputs[0], op.outputs[0]
    if source is None or not _is_known(op, instance):
        return None
    outputs = np.arange(channels_of(result.type))
    if channels_of(source.type) == 1:
        return []
    return [(source, outputs // (len(outputs) // channels_of(source.type)), result, outputs)]


def _concatenation(op: Op, instance: OperatorInstance) -> list[Link] | None:
    result = op.outputs[0]
    along_channels = axis_of(instance) == len(result.type.shape) - 1
    links: list[Link] = []
    first_channel = 0
    for value in op.inputs:
        assert value is not None
        channels = np.arange(channels_of(value.type))
        if not value.is_constant:
            links.append((value, channels, result, channels + first_channel))
        first_channel += len(channels) if along_channels else 0
    return links


def _is_known(op: Op, instance: OperatorInstance) -> bool:
    """Whether the operator is an integer layer with constant weights and bias."""
    integers = input_type(instance, 0).dtype in (DType.INT8, DType.INT16)
    return integers and all(v is None or v.is_constant for v in op.inputs[1:])


def _weighted(op: Op, instance: OperatorInstance) -> list[Link] | None:
    weights, source = instance.constants[1], input_type(instance, 0)
    if weights is None or not _is_known(op, instance):
        return None
    channels, depth = channels_of(source), weights.shape[-1]
    return [] if channels == depth or (traits_of(op.operator).reshapes_rows and depth % channels == 0) else None


def _rule(op: Op) -> Callable[[Op, OperatorInstance], list[Link] | None] | None:
    traits = traits_of(op.operator)
    rules = (
        (traits.concatenates, _concatenation),
        (traits.channelwise, _channelwise),
        (traits.view, _view),
        (traits.depth_axis is not None, _weighted),
        (traits.channel_axis is not None, _depthwise),
        (traits.reduces, _reduction),
        (traits.pads, _pad),
    )
    return next((rule for holds, rule in rules if holds), None)
