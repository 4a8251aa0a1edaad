"""Folds multiplications and additions of constants into the weights and bias of adjacent float layers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType, TensorType
from tflmgen.ir.graph import Module, Op, Value
from tflmgen.kernels import traits_of
from tflmgen.kernels.numeric import Activation
from tflmgen.passes.def_use import input_at, is_legal
from tflmgen.passes.operator_rewriter import OperatorRewriter, Replacement
from tflmgen.passes.single_precision import cancels, fits_float32

Array = NDArray[Any]


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


class _Affine(OperatorRewriter):
    def op(self, op: Op) -> Replacement:
        return self._fold_reader(op) or self._fold_input_factor(op) or self._merge_constants(op)

    def _fold_reader(self, op: Op) -> Op | None:
        """The layer with the arithmetic of its only reader folded in; None if that is not possible."""
        reader = self.flow.only_reader(op.outputs[0]) if traits_of(op.operator).channel_axis is not None else None
        if (
            reader is None
            or not traits_of(reader.operator).is_arithmetic
            or op.attributes.activation is not Activation.NONE
        ):
            return None
        constant, is_first = self._operand(reader, op.outputs[0])
        factor_sign, addend_sign = traits_of(reader.operator).multiplies, traits_of(reader.operator).adds
        weights = self._weights(op, is_scaled=factor_sign != 0 or is_first)
        channels = op.outputs[0].type.max_shape[-1]
        array = None if constant is None else _per_channel(constant, channels)
        if weights is None or array is None or reader.outputs[0].type != op.outputs[0].type:
            return None
        (w, b), axis = weights, _channel_axis(op)
        if factor_sign:
            factors = _factors(array, factor_sign, is_first)
            if factors is None:
                return None
            w, b = _scaled(w, factors, axis), b * factors
        elif is_first and addend_sign < 0:
            w, b = -w, array - b
        else:
            if cancels(b, addend_sign * array):
                return None
            b = b + addend_sign * array
        attributes = replace(op.attributes, activation=reader.attributes.activation)
        return self._with_weights(replace(op, attributes=attributes, outputs=reader.outputs), w, b, reader)

    def _fold_input_factor(self, op: Op) -> Op | None:
        """The layer with a factor of its input folded in; None if that is not possible."""
        source = op.inputs[0] if traits_of(op.operator).channel_axis is not None else None
        producer = self.flow.producer(source, lambda traits: traits.multiplies)
        if producer is None or source is None or producer.id in self.absorbed or self.flow.only_reader(source) is None:
            return None
        if producer.attributes.activation is not Activation.NONE:
            return None
        read = producer.inputs[0] if self.flow.array(producer.inputs[0]) is None else producer.inputs[1]
        constant, is_first = self._operand(producer, read)
        weights = self._weights(op, is_scaled=True)
        array = None if constant is None else _per_channel(constant, source.type.max_shape[-1])
        if read is None or array is None or weights is None or read.type != source.type:
            return None
        factors = _factors(array, traits_of(producer.operator).multiplies, is_first)
        if factors is None:
            return None
        w, b = weights
        if not np.ptp(factors):
            w = w * factors[0]
        elif traits_of(op.operator).depth_axis is None:
            axis = _channel_axis(op)
            w = _scaled(w, np.repeat(factors, w.shape[axis] // len(factors)), axis)
        elif w.shape[-1] == len(factors):
            w = w * factors
        else:
            return None
        return self._with_weights(replace(op, inputs=(read, *op.inputs[1:])), w, b, None)

    def _merge_constants(self, op: Op) -> Op | None:
        """One MUL for two consecutive ones, one ADD for two; None if that is not possible."""
        traits = traits_of(op.operator)
        is_mergeable = traits.adds == 1 or traits.multiplies == 1
        reader = self.flow.only_reader(op.outputs[0]) if is_mergeable else None
        if reader is None or reader.operator != op.operator or reader.id in self.absorbed:
            return None
        read = op.inputs[0] if self.flow.array(op.inputs[0]) is None else op.inputs[1]
        first, _ = self._operand(op, read)
        second, _ = self._operand(reader, op.outputs[0])
        if read is None or first is None or second is None or op.attributes.activation is not Activation.NONE:
            return None
        joined = first + second if traits.adds else first * second
        if joined.size > max(first.size, second.size) or reader.outputs[0].type != op.outputs[0].type:
            return None
        if not fits_float32(joined) or (traits.adds and cancels(first, second)):
            return None
        self.absorbed.add(reader.id)
        return replace(reader, id=op.id, inputs=(read, self._constant(joined)))

    def _operand(self, op: Op, read: Value | None) -> tuple[Array | None, bool]:
        """Finite float constant that `op` combines with `read`, as float64, and whether it is the first operand."""
        for index in (0, 1):
            array = self.flow.array(op.inputs[index])
            operand = op.inputs[1 - index]
            if array is not None and array.dtype == np.float32 and operand == read and np.isfinite(array).all():
                return array.astype(np.float64), index == 0
        return None, False

    def _weights(self, op: Op, is_scaled: bool) -> tuple[Array, Array] | None:
        """Weights and bias of a layer as float64 if they are float constants; else None.

        is_scaled  the weights will change, so that they must have no other reader
        """
        roles = traits_of(op.operator).roles
        value, bias_value = input_at(op, roles.weights), input_at(op, roles.bias)
        w, b = self.flow.array(value), self.flow.array(bias_value)
        if value is None or w is None or w.dtype != np.float32 or (bias_value is not None and b is None):
            return None
        if is_scaled and self.flow.only_reader(value) is None:
            return None
        channels = w.shape[_channel_axis(op)]
        bias = np.zeros(channels) if b is None else b.astype(np.float64).reshape(-1)
        return w.astype(np.float64), bias

    def _with_weights(self, op: Op, w: Array, b: Array, reader: Op | None) -> Op | None:
        """The layer with new weights and bias, and without `reader`; None if it is not finite or not legal."""
        b = np.broadcast_to(b, (w.shape[_channel_axis(op)],))
        roles = traits_of(op.operator).roles
        value, bias_value = input_at(op, roles.weights), input_at(op, roles.bias)
        assert value is not None
        if _loses_digits(w, self.flow.array(value)) or _loses_digits(b, self.flow.array(bias_value)):
            return None
        bias = self._constant(b) if b.any() else None
        inputs = (op.inputs[0], self.pool.add(w, value), *([bias] if bias is not None else []))
        op = replace(op, inputs=inputs)
        if not is_legal(op, self.pool.constants):
            return None
        if reader is not None:
            self.absorbed.add(reader.id)
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


def _factors(constant: Array, sign: int, is_first: bool) -> Array | None:
    """Factors of an operand that is multiplied by a constant (sign 1) or divided by it (-1); None where these are none.

    is_first: the constant is the first operand, so that a quotient is no multiple of the other one.
    """
    if sign > 0:
        return constant
    return None if is_first or not constant.all() else 1.0 / constant


def _scaled(w: Array, factors: Array, axis: int) -> Array:
    shape = [1] * w.ndim
    shape[axis] = -1
    return w * factors.reshape(shape)
