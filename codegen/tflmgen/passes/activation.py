"""Fuses RELU and other clamps into the operator before them."""

from __future__ import annotations

import math
from dataclasses import replace

from tflmgen.ir import DType, TensorType
from tflmgen.ir.graph import Module, Op, Value
from tflmgen.kernels import OPERATORS, traits_of
from tflmgen.kernels.numeric import FLOAT_MAX, Activation, activation_range
from tflmgen.passes.operator_rewriter import OperatorRewriter, Replacement

AS_OPERATOR = {operator.traits.clamp: name for name, operator in OPERATORS.items() if operator.traits.clamp is not None}
"""Activation -> name of the operator that computes only this activation."""

Range = tuple[float, float]


def fuse_activation(module: Module) -> Module:
    """Fuses RELU, RELU6, RELU_N1_TO_1, and MAXIMUM and MINIMUM with constants, into the operator before them.

    Bit-exact: quantised elements are fused only if both clamps have the same quantisation. NaN stays NaN, which MAXIMUM
    and MINIMUM may replace by their bound.
    """
    return _Activation(module).rewritten()


def _limits(kind: TensorType) -> Range:
    """Smallest and largest element of a type; infinities of floats."""
    return (-math.inf, math.inf) if kind.dtype.is_float else kind.dtype.limits


def _range(activation: Activation, kind: TensorType, is_fused: bool) -> Range:
    """Smallest and largest element after an activation, which makes infinities finite where it is fused."""
    if kind.quantization is not None and kind.dtype in (DType.INT8, DType.UINT8, DType.INT16):
        return activation_range(activation, kind.dtype, kind.quantization)
    (type_low, type_high), (low, high) = _limits(kind), activation.bounds
    if kind.dtype.is_float and not is_fused:
        low, high = (low if low > -FLOAT_MAX else -math.inf), (high if high < FLOAT_MAX else math.inf)
    return max(type_low, low), min(type_high, high)


class _Activation(OperatorRewriter):
    def op(self, op: Op) -> Replacement:
        if self._is_redundant(op):
            return op.inputs[0]
        reader = self.flow.only_reader(op.outputs[0]) if len(op.outputs) == 1 else None
        fused = None if reader is None or reader.id in self.absorbed else self._fused(op, reader)
        if fused is not None and reader is not None:
            self.absorbed.add(reader.id)
        return fused

    def _is_redundant(self, op: Op) -> bool:
        """Whether the operator clamps an input that already lies within its range."""
        clamp = self._clamp(op)
        producer = self.flow.producers.get(op.inputs[0]) if clamp and op.inputs[0] is not None else None
        if clamp is None or producer is None or op.inputs[0] != clamp[0]:
            return False
        produced = self._output_range(producer)
        return produced is not None and _intersection(produced, clamp[1]) == produced

    def _fused(self, op: Op, reader: Op) -> Op | None:
        """One operator that computes `op` and then the clamp `reader`; None if there is none."""
        clamp, produced = self._clamp(reader), self._output_range(op)
        if clamp is None or produced is None or clamp[0] != op.outputs[0]:
            return None
        kind = op.outputs[0].type
        target_range = _intersection(produced, clamp[1])
        is_fused = traits_of(op.operator).clamped
        for activation in Activation if is_fused else AS_OPERATOR:
            if target_range is not None and _range(activation, kind, is_fused) == target_range:
                return self.legal(replace(self._with_activation(op, activation), outputs=reader.outputs))
        return None

    def _with_activation(self, op: Op, activation: Activation) -> Op:
        if traits_of(op.operator).clamped:
            return replace(op, attributes=replace(op.attributes, activation=activation))
        clamp = self._clamp(op)
        assert clamp is not None
        return replace(op, operator=AS_OPERATOR[activation], inputs=(clamp[0],), attributes=None)

    def _output_range(self, op: Op) -> Range | None:
        """Range of the output of an operator that has an activation or is a clamp; else None."""
        if traits_of(op.operator).clamped and hasattr(op.attributes, "activation"):
            return _range(op.attributes.activation, op.outputs[0].type, is_fused=True)
        clamp = self._clamp(op)
        return clamp[1] if clamp is not None else None

    def _clamp(self, op: Op) -> tuple[Value, Range] | None:
        """Input and range of a clamp; None for any other operator."""
        source, kind = op.inputs[0] if op.inputs else None, op.outputs[0].type
        clamp = traits_of(op.operator).clamp
        if clamp is not None:
            return None if source is None or source.type != kind else (source, _range(clamp, kind, is_fused=False))
        extreme = traits_of(op.operator).extreme
        if not extreme:
            return None
        for source_operand, bound_operand in (op.inputs, op.inputs[::-1]):
            bound = self.flow.number(bound_operand)
            if (
                source_operand is None
                or bound_operand is None
                or bound is None
                or math.isnan(bound)
                or source_operand.type != kind
                or _differ(bound_operand.type, kind)
            ):
                continue
            type_low, type_high = _limits(kind)
            return source_operand, (bound, type_high) if extreme > 0 else (type_low, bound)
        return None


def _differ(constant: TensorType, kind: TensorType) -> bool:
    return constant.dtype is not kind.dtype or constant.quantization != kind.quantization


def _intersection(first: Range, second: Range) -> Range | None:
    """Intersection of two ranges; None if it is empty."""
    low, high = max(first[0], second[0]), min(first[1], second[1])
    return (low, high) if low <= high else None
