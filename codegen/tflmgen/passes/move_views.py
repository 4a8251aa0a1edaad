"""Sinks views below element-wise operators, so that these are adjacent to operators that can absorb them."""

from __future__ import annotations

from dataclasses import replace

from tflmgen.ir import TensorType
from tflmgen.ir.graph import Module, Op, Value
from tflmgen.kernels import traits_of
from tflmgen.kernels.numeric import is_per_channel
from tflmgen.passes.operator_rewriter import OperatorRewriter, Replacement


def delay_views(module: Module) -> Module:
    """Exchanges a view with its only reader if that is an activation or arithmetic with a constant.

    Only below an operator that can absorb the reader, and only for constants that are scalar or per channel of it.
    """
    return _Views(module).rewritten()


class _Views(OperatorRewriter):
    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self._vectors: dict[tuple[str | None, TensorType], Value] = {}

    def op(self, op: Op) -> Replacement:
        return self._exchanged(op) if traits_of(op.operator).view else None

    def _exchanged(self, view: Op) -> tuple[Op, Op] | None:
        source, reader = view.inputs[0], self.flow.only_reader(view.outputs[0])
        if source is None or reader is None or not self._follows(source, view):
            return None
        if source.type.quantization != view.outputs[0].type.quantization:
            return None
        if not self._is_free(reader, view.outputs[0], source):
            return None
        result = reader.outputs[0]
        before = Value(self.pool.ids.take(), result.name, result.type.with_shape(source.type.shape))
        inputs = tuple(source if v == view.outputs[0] else v and self._as_vector(v) for v in reader.inputs)
        moved = replace(reader, inputs=inputs, outputs=(before,))
        if self.legal(moved) is None:
            return None
        self.absorbed.add(reader.id)
        return moved, replace(view, inputs=(before, *view.inputs[1:]), outputs=(result,))

    def _follows(self, source: Value, view: Op) -> bool:
        """Whether the view is the only reader of an operator that can absorb others."""
        producer = self.flow.producers.get(source)
        return producer is not None and traits_of(producer.operator).clamped and self.flow.only_reader(source) == view

    def _is_free(self, reader: Op, viewed: Value, source: Value) -> bool:
        """Whether an operator computes the same elements before and after the view."""
        if reader.outputs[0].type.shape != viewed.type.shape:
            return False
        traits = traits_of(reader.operator)
        if traits.clamp is not None:
            return True
        if not (traits.is_arithmetic or traits.extreme):
            return False
        constants = [v for v in reader.inputs if v != viewed]
        channels = source.type.max_shape[-1] if source.type.max_shape else 1
        return len(constants) == 1 and all(
            v is not None
            and v.is_constant
            and (v.type.elements == 1 or is_per_channel(v.type.max_shape, viewed.type.max_shape, channels))
            for v in constants
        )

    def _as_vector(self, constant: Value) -> Value:
        """The constant without dimensions of size 1, which the view may have added or dropped."""
        if len(constant.type.shape) <= 1 or not constant.is_constant:
            return constant
        vector = replace(constant, id=self.pool.ids.take(), type=constant.type.with_shape((constant.type.elements,)))
        return self._vectors.setdefault((constant.constant, vector.type), vector)
