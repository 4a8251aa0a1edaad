"""Removes dead channels: those of constant value, and those that no result depends on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType, TensorType
from tflmgen.ir.graph import Module, Narrowed, Op, Removed, Value
from tflmgen.kernels import instance_of_op, traits_of
from tflmgen.kernels.ranges import Integers, channels_of
from tflmgen.passes.channel_links import cuts_constants
from tflmgen.passes.dead_channels import ChannelLiveness, known_inputs
from tflmgen.passes.def_use import input_at
from tflmgen.passes.macs import macs_of
from tflmgen.passes.operator_rewriter import OperatorRewriter, Replacement
from tflmgen.passes.permutation import view
from tflmgen.passes.range_analysis import Ranges


def drop_channels(module: Module, ranges: Ranges, channels: ChannelLiveness, multiple: int) -> Module:
    """Removes the dead channels (see dead_channels) of int8 and int16 tensors between layers.

    The bias of a layer takes in the contribution of constant channels. Bit-exact: integer sums do not depend on the
    order, and no sum can overflow.
    """
    remaining = channels.remaining(multiple)
    if not remaining:
        return module
    dropper = _Dropper(module, ranges, remaining)
    return replace(dropper.rewritten(), narrowed=dropper.narrowed, removed=(*module.removed, *dropper.removed))


class _Dropper(OperatorRewriter):
    def __init__(self, module: Module, ranges: Ranges, remaining: dict[Value, Integers]) -> None:
        super().__init__(module)
        self.narrowed = dict(module.narrowed)
        self.removed: list[Removed] = []
        self._ranges = ranges
        self._remaining = remaining
        self._before: dict[Value, Value] = {}

    def op(self, op: Op) -> Replacement:
        old = replace(op, inputs=tuple(None if v is None else self._before.get(v, v) for v in op.inputs))
        if not any(v in self._remaining for v in (*old.inputs, *old.outputs)):
            return None
        new = replace(op, outputs=tuple(self._narrow(v) for v in op.outputs))
        traits = traits_of(new.operator)
        if traits.channel_axis is not None:
            new = self._weighted(old, new)
        elif traits.view:
            assert new.inputs[0] is not None
            new = view(new, new.id, new.inputs[0], new.outputs[0])
        elif traits.concatenates:
            new = replace(new, inputs=self._parts(old, new))
        elif cuts_constants(new):
            new = replace(new, inputs=tuple(self._sliced(v, old.outputs[0]) for v in new.inputs))
        self._note(old, new)
        return new

    def _narrow(self, value: Value) -> Value:
        remaining = self._remaining.get(value)
        if remaining is None:
            return value
        type_ = value.type.with_shape((*value.type.shape[:-1], len(remaining)))
        new = Value(self.pool.ids.take(), value.name, type_)
        self.mapping[value], self._before[new] = new, value
        earlier = self.narrowed.pop(value.id, None)
        if earlier is None:
            self.narrowed[new.id] = Narrowed(tuple(remaining.tolist()), channels_of(value.type))
        else:
            self.narrowed[new.id] = replace(earlier, kept=tuple(earlier.kept[i] for i in remaining))
        return new

    def _channels(self, value: Value) -> Integers:
        """Indices of the remaining channels of a value."""
        return self._remaining.get(value, np.arange(channels_of(value.type)))

    def _sliced(self, value: Value | None, result: Value) -> Value | None:
        """Operand of an element-wise operator; a constant with the result's channels loses the dead ones."""
        array = self.pool.array(value)
        if value is None or array is None or not array.ndim or array.shape[-1] == 1 or result not in self._remaining:
            return value
        return self._constant(array[..., self._remaining[result]], value)

    def _parts(self, old: Op, new: Op) -> tuple[Value | None, ...]:
        """Operands of a concatenation: constants lose their dead channels; operands without channels are omitted."""
        remaining = self._channels(old.outputs[0])
        along = old.outputs[0].type.shape[-1] != (old.inputs[0] or old.outputs[0]).type.shape[-1]
        operands: list[Value | None] = []
        first = 0
        for before, value in zip(old.inputs, new.inputs, strict=True):
            assert before is not None
            channels = channels_of(before.type)
            array = self.pool.array(value)
            if array is not None and value is not None:
                local = remaining[(remaining >= first) & (remaining < first + channels)] - first
                value = self._constant(array[..., local], value) if len(local) else None
            operands += [value] if value is not None else []
            first += channels if along else 0
        return tuple(operands)

    def _constant(self, array: NDArray[Any], template: Value) -> Value:
        return self.pool.add(array, replace(template, type=replace(template.type, shape=array.shape)))

    def _weighted(self, old: Op, new: Op) -> Op:
        """A layer with the weights of the remaining output and input channels, and the adjusted bias."""
        traits = traits_of(old.operator)
        value, bias = input_at(old, traits.roles.weights), input_at(old, traits.roles.bias)
        axis, columns_axis = traits.channel_axis, traits.depth_axis
        array, source = self.pool.array(value), old.inputs[0]
        assert array is not None
        assert value is not None
        assert source is not None
        assert axis is not None
        instance = instance_of_op(old, self.pool.constants)
        rows = self._channels(old.outputs[0])
        bias_array = self.pool.array(bias)
        shift = np.zeros(len(rows), np.int64)
        if columns_axis is not None:
            is_known, gains = known_inputs(old, instance, self._ranges.of(source))
            columns = array.shape[columns_axis]
            is_kept = np.isin(np.arange(columns) % channels_of(source.type), self._channels(source))
            shift = (gains * (is_known & ~is_kept))[rows].sum(axis=1)
            array = np.compress(is_kept, array, axis=columns_axis)
        array = np.take(array, rows, axis=axis)
        weights = self.pool.add(array, replace(value, type=type_of_rows(value.type, array.shape, axis, rows)))
        values = shift if bias_array is None else np.ravel(bias_array)[rows].astype(np.int64) + shift
        if bias is None and not shift.any():
            return replace(new, inputs=(new.inputs[0], weights, *new.inputs[2:]))
        bias_dtype = DType.INT64 if source.type.dtype is DType.INT16 else DType.INT32
        bias_template = bias if bias is not None else Value(0, f"{value.name} bias", TensorType(bias_dtype, rows.shape))
        kind = type_of_rows(bias_template.type, rows.shape, 0, rows)
        return replace(new, inputs=(new.inputs[0], weights, self.pool.add(values, replace(bias_template, type=kind))))

    def _note(self, old: Op, new: Op) -> None:
        output, macs = old.outputs[0], macs_of(old) - macs_of(new)
        dead = np.setdiff1d(np.arange(channels_of(output.type)), self._channels(output))
        if not len(dead) and not macs:
            return
        interval = self._ranges.of(output)
        constant_count = 0 if interval is None else int(interval.known[dead].sum())
        earlier = self.narrowed.get(new.outputs[0].id)
        of = earlier.channels if earlier else channels_of(output.type)
        self.removed.append(Removed("channels", output.name, old.origin, len(dead), of, constant_count, macs))


def type_of_rows(kind: TensorType, shape: tuple[int, ...], axis: int, rows: Integers) -> TensorType:
    """Type of a constant after selecting `rows` along `axis`, per-channel quantisation included."""
    quantization = kind.quantization
    if quantization is not None and quantization.per_channel and quantization.axis == axis:
        points = quantization.zero_points
        quantization = replace(
            quantization,
            scales=tuple(quantization.scales[i] for i in rows),
            zero_points=tuple(points[i] for i in rows) if len(points) > 1 else points,
        )
    return replace(kind, shape=shape, quantization=quantization)
