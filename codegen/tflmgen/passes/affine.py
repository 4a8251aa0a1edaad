"""Folds multiplications and additions of constants into the weights and bias of adjacent float layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType, Module, Node, Op, TensorType, Value, resolve
from tflmgen.kernels import Activation, traits_of
from tflmgen.passes.def_use import is_legal
from tflmgen.passes.fusion import PatternRewriter
from tflmgen.passes.single_precision import cancels, fits_float32

Array = NDArray[Any]


FACTORS = ("DIV", "MUL")
NEGLIGIBLE = 2.0**-60
"""Weights that are smaller than this part of the greatest one change no sum in float32."""


def fold_affine(module: Module) -> Module:
    """Folds MUL, DIV, ADD and SUB by per-channel constants into a float layer's weights and bias.

    After the layer: all four (residues of batch normalisation). Before the layer: MUL and DIV only, since an addend
    could cancel in a sum of large numbers. Two consecutive MULs or ADDs become one. Weights with several readers are
    not changed.
    """
    return _Affine(module).rewritten()


def _channel_axis(op: Op) -> int:
    """Axis of the output channels in a layer's weights."""
    axis = traits_of(op.operator).channel_axis
    assert axis is not None
    return axis


class _Affine(PatternRewriter):
    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self._touched: set[int] = set()

    def node(self, node: Node) -> Sequence[Node]:
        if not isinstance(node, Op):
            return (self.regions(node),)
        if node.id in self._touched:
            return ()
        return (self._fold_reader(node) or self._fold_input_factor(node) or self._merge_constants(node) or node,)

    def _fold_reader(self, op: Op) -> Op | None:
        """The layer with the arithmetic of its only reader folded in; None if that is not possible."""
        reader = self._flow.only_reader(op.outputs[0]) if traits_of(op.operator).channel_axis is not None else None
        if (
            reader is None
            or not traits_of(reader.operator).is_arithmetic
            or op.attributes.activation is not Activation.NONE
        ):
            return None
        constant, is_first = self._operand(reader, op.outputs[0])
        weights = self._weights(op, is_scaled=reader.operator in FACTORS or is_first)
        channels = op.outputs[0].type.max_shape[-1]
        array = None if constant is None else _per_channel(constant, channels)
        if weights is None or array is None or reader.outputs[0].type != op.outputs[0].type:
            return None
        (w, b), axis = weights, _channel_axis(op)
        if reader.operator in FACTORS:
            if reader.operator == "DIV" and (is_first or not array.all()):
                return None
            array = 1.0 / array if reader.operator == "DIV" else array
            w, b = _scaled(w, array, axis), b * array
        elif is_first and reader.operator == "SUB":
            w, b = -w, array - b
        else:
            addend = array if reader.operator == "ADD" else -array
            if cancels(b, addend):
                return None
            b = b + addend
        attributes = replace(op.attributes, activation=reader.attributes.activation)
        return self._with_weights(replace(op, attributes=attributes, outputs=reader.outputs), w, b, reader)

    def _fold_input_factor(self, op: Op) -> Op | None:
        """The layer with a factor of its input folded in; None if that is not possible."""
        source = op.inputs[0] if traits_of(op.operator).channel_axis is not None else None
        producer = self._flow.producer_among(source, *FACTORS)
        if producer is None or source is None or producer.id in self._touched or self._flow.only_reader(source) is None:
            return None
        if producer.attributes.activation is not Activation.NONE:
            return None
        read = producer.inputs[0] if self._flow.array(producer.inputs[0]) is None else producer.inputs[1]
        constant, is_first = self._operand(producer, read)
        weights = self._weights(op, is_scaled=True)
        array = None if constant is None else _per_channel(constant, source.type.max_shape[-1])
        if read is None or array is None or weights is None or read.type != source.type:
            return None
        if producer.operator == "DIV":
            if is_first or not array.all():
                return None
            array = 1.0 / array
        w, b = weights
        if np.ptp(array):
            if op.operator == "DEPTHWISE_CONV_2D":
                w = _scaled(w, np.repeat(array, w.shape[3] // len(array)), 3)
            elif w.shape[-1] == len(array):
                w = w * array
            else:
                return None
        else:
            w = w * array[0]
        return self._with_weights(replace(op, inputs=(resolve(read, self.mapping), *op.inputs[1:])), w, b, None)

    def _merge_constants(self, op: Op) -> Op | None:
        """One MUL for two consecutive ones, one ADD for two; None if that is not possible."""
        reader = self._flow.only_reader(op.outputs[0]) if op.operator in ("ADD", "MUL") else None
        if reader is None or reader.operator != op.operator or reader.id in self._touched:
            return None
        read = op.inputs[0] if self._flow.array(op.inputs[0]) is None else op.inputs[1]
        first, _ = self._operand(op, read)
        second, _ = self._operand(reader, op.outputs[0])
        if read is None or first is None or second is None or op.attributes.activation is not Activation.NONE:
            return None
        joined = first * second if op.operator == "MUL" else first + second
        if joined.size > max(first.size, second.size) or reader.outputs[0].type != op.outputs[0].type:
            return None
        if not fits_float32(joined) or (op.operator == "ADD" and cancels(first, second)):
            return None
        self._touched.add(reader.id)
        return replace(reader, id=op.id, inputs=(read, self._constant(joined)))

    def _operand(self, op: Op, read: Value | None) -> tuple[Array | None, bool]:
        """Finite float constant that `op` combines with `read`, as float64, and whether it is the first operand."""
        for index in (0, 1):
            array = self._flow.array(op.inputs[index])
            operand = op.inputs[1 - index]
            if array is not None and array.dtype == np.float32 and operand == read and np.isfinite(array).all():
                return array.astype(np.float64), index == 0
        return None, False

    def _weights(self, op: Op, is_scaled: bool) -> tuple[Array, Array] | None:
        """Weights and bias of a layer as float64 if they are float constants; else None.

        is_scaled  the weights will change, so that they must have no other reader
        """
        value, bias_value = op.inputs[1], op.inputs[2] if len(op.inputs) > 2 else None
        w, b = self._flow.array(value), self._flow.array(bias_value)
        if value is None or w is None or w.dtype != np.float32 or (bias_value is not None and b is None):
            return None
        if is_scaled and self._flow.only_reader(value) is None:
            return None
        channels = w.shape[_channel_axis(op)]
        bias = np.zeros(channels) if b is None else b.astype(np.float64).reshape(-1)
        return w.astype(np.float64), bias

    def _with_weights(self, op: Op, w: Array, b: Array, reader: Op | None) -> Op | None:
        """The layer with new weights and bias, and without `reader`; None if it is not finite or not legal."""
        b = np.broadcast_to(b, (w.shape[_channel_axis(op)],))
        value = op.inputs[1]
        assert value is not None
        bias_value = op.inputs[2] if len(op.inputs) > 2 else None
        if _loses_digits(w, self._flow.array(value)) or _loses_digits(b, self._flow.array(bias_value)):
            return None
        bias = self._constant(b) if b.any() else None
        inputs = (op.inputs[0], self.pool.add(w, value), *([bias] if bias is not None else []))
        op = replace(op, inputs=inputs)
        if not is_legal(op, self.pool.constants):
            return None
        if reader is not None:
            self._touched.add(reader.id)
        return op

    def _constant(self, array: Array) -> Value:
        return self.pool.add(array, Value(0, "constant", TensorType(DType.FLOAT32, array.shape)))


def _loses_digits(scaled: Array, numbers: Array | None) -> bool:
    """Whether some of a layer's numbers overflow float32 when they are scaled, or get too small for it."""
    if numbers is None:
        return not np.isfinite(scaled.astype(np.float32)).all()
    mattered = np.abs(numbers) > np.abs(numbers).max(initial=0.0) * NEGLIGIBLE
    return not fits_float32(np.where(mattered.reshape(scaled.shape), scaled, 0.0))


def _per_channel(constant: Array, channels: int) -> Array | None:
    """A constant as one number per channel; None if it varies along another dimension than the last."""
    if constant.size == 1:
        return np.full(channels, constant.flat[0])
    return constant.reshape(-1) if constant.size == channels == constant.shape[-1] else None


def _scaled(w: Array, factors: Array, axis: int) -> Array:
    shape = [1] * w.ndim
    shape[axis] = -1
    return w * factors.reshape(shape)
