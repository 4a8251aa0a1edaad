"""Merges depthwise convolutions over the parts of a channel SPLIT into one depthwise convolution.

Mixed depthwise convolution (Tan & Le, "MixConv: Mixed Depthwise Convolutional Kernels", 2019) uses filters of
different sizes for groups of channels. Streaming networks slice each group to the last rows that its filter needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np

from tflmgen.ir import DType, Quantization, TensorType
from tflmgen.ir.graph import Module, Node, Op, Value
from tflmgen.kernels import Traits, instance_of, traits_of
from tflmgen.kernels.operators import OUTPUT_CHANNELS, rows_cut
from tflmgen.passes.def_use import input_at
from tflmgen.passes.operator_rewriter import OperatorRewriter, Replacement


def merge_mixed_depthwise(module: Module) -> Module:
    """Merges SPLIT -> DEPTHWISE_CONV_2D (each perhaps over a slice of rows) -> CONCATENATION, along the channels.

    Shorter filters get rows of zeros, which do not change integer sums. The merge is done if it adds at most one
    multiplication per byte whose copying it saves.
    """
    return _Mixed(module).rewritten()


@dataclass(frozen=True, slots=True)
class _Group:
    """The convolution of one group of channels.

    part    the output of the SPLIT that it reads
    start   first row of `part` that it reads
    copied  bytes copied for the group without the merge
    """

    convolution: Op
    part: Value
    start: int
    copied: int


class _Mixed(OperatorRewriter):
    def op(self, op: Op) -> Replacement:
        groups = self._groups(op) if traits_of(op.operator).concatenates else None
        merged = self._convolution(op, *groups) if groups else None
        if groups is None or merged is None:
            return None
        nodes: list[Node] = [merged]
        first = 0
        for group in groups[1]:
            result = group.convolution.outputs[0]
            if result in self.flow.returned:
                nodes.append(self._slice(op, result, first))
                self.mapping[result] = nodes[-1].outputs[0]
            first += _channel_count(group.convolution)
        return nodes

    def _slice(self, op: Op, result: Value, first: int) -> Op:
        """SLICE of the merged result from channel `first`, for a group's result that is read on its own."""
        bounds = TensorType(DType.INT32, (4,))
        begin = self.pool.add(np.array([0, 0, 0, first]), Value(0, "", bounds))
        size = self.pool.add(np.array(result.type.max_shape), Value(0, "", bounds))
        inputs = (op.outputs[0], begin, size)
        output = replace(result, id=self.pool.ids.take())
        return replace(op, id=self.pool.ids.take(), operator="SLICE", inputs=inputs, outputs=(output,), attributes=None)

    def _groups(self, op: Op) -> tuple[Value, Sequence[_Group]] | None:
        """Source of the SPLIT, and the convolutions of its parts; None if the pattern does not match."""
        groups = [self._group(value) for value in op.inputs]
        valid_groups = [group for group in groups if group is not None]
        if len(valid_groups) < len(groups) or len(valid_groups) < 2 or op.attributes.axis not in (-1, 3):
            return None
        split = self.flow.producer(valid_groups[0].part, lambda traits: traits.splits)
        if split is None or split.outputs != tuple(g.part for g in valid_groups):
            return None
        source = split.inputs[traits_of(split.operator).roles.data]
        if source is None or not _along_channels(source.type, valid_groups):
            return None
        return source, valid_groups

    def _group(self, value: Value | None) -> _Group | None:
        convolution = self._used_once(value, _is_depthwise)
        if convolution is None:
            return None
        part, start, copied = convolution.inputs[0], 0, 0
        cut = self._used_once(part, lambda traits: traits.cuts)
        if part is not None and cut is not None:
            rows = rows_cut(instance_of(cut.inputs, [part.type], cut.attributes, self.pool.constants))
            if rows is None:
                return None
            start, copied, part = rows, part.type.bytes, cut.inputs[0]
        if part is None or not self.flow.is_read_once(part) or not _is_plain(convolution):
            return None
        return _Group(convolution, part, start, copied + part.type.bytes)

    def _used_once(self, value: Value | None, is_wanted: Callable[[Traits], Any]) -> Op | None:
        """Producer of a value that is read once, if its traits are those that are wanted; else None."""
        return self.flow.producer(value, is_wanted) if value is not None and self.flow.is_read_once(value) else None

    def _convolution(self, op: Op, source: Value, groups: Sequence[_Group]) -> Op | None:
        first = groups[0].convolution
        filters = [self.pool.array(g.convolution.inputs[1]) for g in groups]
        arrays = [np.asarray(f) for f in filters if f is not None]
        if len(arrays) < len(groups) or any(g.convolution.attributes != first.attributes for g in groups):
            return None
        widths = {f.shape[2] for f in arrays}
        multipliers = {f.shape[3] // g.part.type.max_shape[3] for g, f in zip(groups, arrays, strict=True)}
        if len(widths) > 1 or len(multipliers) > 1:
            return None
        rows = max(g.start + f.shape[1] for g, f in zip(groups, arrays, strict=True))
        height, stride = source.type.max_shape[1], first.attributes.steps.stride_height
        if (height - rows) // stride + 1 != op.outputs[0].type.max_shape[1]:
            return None
        joined = np.zeros((1, rows, arrays[0].shape[2], sum(f.shape[3] for f in arrays)), np.int8)
        ends = accumulate(f.shape[3] for f in arrays)
        for group, array, end in zip(groups, arrays, ends, strict=True):
            joined[:, group.start : group.start + array.shape[1], :, end - array.shape[3] : end] = array
        positions = op.outputs[0].type.elements // joined.shape[3]
        if (joined.size - sum(f.size for f in arrays)) * positions > sum(g.copied for g in groups):
            return None
        bias = self._bias(groups)
        if bias is None:
            return None
        weights = self.pool.add(joined, _constant(first.inputs[1], joined.shape, _per_channel(groups)))
        return replace(first, id=op.id, inputs=(source, weights, bias), outputs=op.outputs)

    def _bias(self, groups: Sequence[_Group]) -> Value | None:
        """Concatenated biases of the groups, zeros for a group without one; None if one is not constant."""
        parts, template = [], None
        for group in groups:
            convolution = group.convolution
            bias = input_at(convolution, traits_of(convolution.operator).roles.bias)
            array = self.pool.array(bias)
            if bias is not None and (
                array is None or (template is not None and template.type.dtype is not bias.type.dtype)
            ):
                return None
            template = bias or template
            parts.append(np.zeros(_channel_count(convolution), np.int64) if array is None else np.ravel(array))
        joined = np.concatenate(parts)
        if template is None:
            return self.pool.add(joined, Value(0, "", TensorType(DType.INT32, joined.shape)))
        return self.pool.add(joined, _constant(template, joined.shape, None))


def _is_depthwise(traits: Traits) -> bool:
    return traits.channel_axis is not None and traits.depth_axis is None


def _is_plain(convolution: Op) -> bool:
    """Whether an integer convolution's filter may be extended by zeros: no padding or dilation, constant weights."""
    steps, weights, data = convolution.attributes.steps, convolution.inputs[1], convolution.inputs[0]
    return (
        data is not None
        and data.type.dtype in (DType.INT8, DType.INT16)
        and data.type.is_static
        and weights is not None
        and weights.is_constant
        and weights.type.dtype is DType.INT8
        and weights.type.quantization is not None
        and not (steps.pads or steps.dilation_height > 1 or steps.dilation_width > 1)
    )


def _along_channels(source: TensorType, groups: Sequence[_Group]) -> bool:
    """Whether the parts are consecutive channels of `source`, and all results have one type."""
    first = groups[0].convolution.outputs[0].type
    if any(g.part.type.max_shape[:3] != source.max_shape[:3] for g in groups) or len(source.shape) != 4:
        return False
    return all(
        g.part.type.quantization == source.quantization
        and g.convolution.outputs[0].type.quantization == first.quantization
        for g in groups
    )


def _channel_count(convolution: Op) -> int:
    return convolution.outputs[0].type.max_shape[3]


def _per_channel(groups: Sequence[_Group]) -> Quantization:
    """Per-channel quantisation of the concatenated filters."""
    scales: list[float] = []
    for group in groups:
        value = group.convolution.inputs[1]
        own_scales = value.type.quantization.scales if value is not None and value.type.quantization is not None else ()
        count = _channel_count(group.convolution)
        scales += own_scales if len(own_scales) == count else [*own_scales] * count
    return Quantization(tuple(scales), (0,) * len(scales), OUTPUT_CHANNELS)


def _constant(template: Value | None, shape: tuple[int, ...], quantization: Quantization | None) -> Value:
    """`template` with another shape and quantisation, as the template of a new constant."""
    assert template is not None
    return Value(0, template.name, replace(template.type, shape=shape, quantization=quantization))
