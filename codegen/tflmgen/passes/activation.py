"""RELU and its like become part of the operator before them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.ir import DType, Module, Node, Op, TensorType, Value
from tflmgen.kernels import FLOAT_MAX, OPERATORS, Activation, activation_range, traits_of
from tflmgen.passes.def_use import is_legal
from tflmgen.passes.fusion import Fuser

AS_OPERATOR = {operator.traits.clamp: name for name, operator in OPERATORS.items() if operator.traits.clamp is not None}
"""Activations that are operators, too."""

Range = tuple[float, float]


def fuse_activation(module: Module) -> Module:
    """Clamps at an operator's output what a RELU, RELU6, RELU_N1_TO_1, or MAXIMUM and MINIMUM with constants clamp.

    Exact, as quantised elements are clamped in one and the same quantisation, or else stay as they are. Of floats,
    infinities become the greatest finite number, as they do in every operator with an activation.
    """
    return _Activation(module).run(module)


def _limits(kind: TensorType) -> Range:
    return (-FLOAT_MAX, FLOAT_MAX) if kind.dtype.is_float else kind.dtype.limits


def _range(activation: Activation, kind: TensorType) -> Range:
    """Least and greatest element that an activation leaves."""
    if kind.quantization is not None and kind.dtype in (DType.INT8, DType.UINT8, DType.INT16):
        return activation_range(activation, kind.dtype, kind.quantization)
    (least, greatest), (low, high) = _limits(kind), activation.bounds
    return max(least, low), min(greatest, high)


class _Activation(Fuser):
    def op(self, op: Op) -> Sequence[Node]:
        if self._is_idle(op):
            self.mapping[op.outputs[0]] = op.inputs[0] or op.outputs[0]
            return ()
        reader = self._flow.only_reader(op.outputs[0]) if len(op.outputs) == 1 else None
        fused = None if reader is None or reader.id in self._gone else self._fused(op, reader)
        if fused is None or reader is None:
            return (op,)
        self._gone.add(reader.id)
        return (fused,)

    def _is_idle(self, op: Op) -> bool:
        """Whether it clamps what is clamped."""
        found = self._clamp(op)
        maker = self._flow.maker.get(op.inputs[0]) if found and op.inputs[0] is not None else None
        if found is None or maker is None or op.inputs[0] != found[0]:
            return False
        before = self._made(maker)
        return before is not None and _meet(before, found[1]) == before

    def _fused(self, op: Op, reader: Op) -> Op | None:
        """What computes `op` and then `reader`."""
        clamp, made = self._clamp(reader), self._made(op)
        if clamp is None or made is None or clamp[0] != op.outputs[0]:
            return None
        kind = op.outputs[0].type
        wanted = _meet(made, clamp[1])
        for activation in Activation if traits_of(op.operator).clamped else AS_OPERATOR:
            if wanted is not None and _range(activation, kind) == wanted:
                fused = replace(self._with(op, activation), outputs=reader.outputs)
                return fused if is_legal(fused, self._constants) else None
        return None

    def _with(self, op: Op, activation: Activation) -> Op:
        if traits_of(op.operator).clamped:
            return replace(op, attributes=replace(op.attributes, activation=activation))
        clamp = self._clamp(op)
        assert clamp is not None
        return replace(op, operator=AS_OPERATOR[activation], inputs=(clamp[0],), attributes=None)

    def _made(self, op: Op) -> Range | None:
        """The range of what `op` gives, if it is one that clamps or could."""
        if traits_of(op.operator).clamped and hasattr(op.attributes, "activation"):
            return _range(op.attributes.activation, op.outputs[0].type)
        clamp = self._clamp(op)
        return clamp[1] if clamp is not None else None

    def _clamp(self, op: Op) -> tuple[Value, Range] | None:
        """The value that `op` clamps, and to what; None if it does anything else."""
        source, kind = op.inputs[0] if op.inputs else None, op.outputs[0].type
        clamp = traits_of(op.operator).clamp
        if clamp is not None:
            return None if source is None or source.type != kind else (source, _range(clamp, kind))
        if op.operator not in ("MAXIMUM", "MINIMUM"):
            return None
        for one, other in (op.inputs, op.inputs[::-1]):
            bound = self._flow.number(other)
            if one is None or other is None or bound is None or one.type != kind or _differ(other.type, kind):
                continue
            least, greatest = _limits(kind)
            return one, (bound, greatest) if op.operator == "MAXIMUM" else (least, bound)
        return None


def _differ(constant: TensorType, kind: TensorType) -> bool:
    return constant.dtype is not kind.dtype or constant.quantization != kind.quantization


def _meet(one: Range, other: Range) -> Range | None:
    """What is left after clamping to one range and then to the other; None where they have nothing in common."""
    least, greatest = max(one[0], other[0]), min(one[1], other[1])
    return (least, greatest) if least <= greatest else None
