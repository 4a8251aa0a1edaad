"""Fuses the operators around matrix products and softmaxes of attention: TRANSPOSEs into strides, MULs into beta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.ir import Module, Node, Op, Value
from tflmgen.kernels import PERMUTATIONS, Activation
from tflmgen.passes.def_use import is_legal
from tflmgen.passes.fusion import Fuser
from tflmgen.passes.permutation import Permutation, compose, is_identity, transposed, transposition
from tflmgen.passes.single_precision import fits_float32


def fuse_attention(module: Module) -> Module:
    """Removes TRANSPOSEs of the operands and the product of BATCH_MATMUL, and MULs by one number before float SOFTMAX.

    The kernel addresses its matrices by strides, so that attention heads need no TRANSPOSE to the front and back.
    """
    return _Attention(module).run(module)


class _Attention(Fuser):
    def op(self, op: Op) -> Sequence[Node]:
        if op.operator == "SOFTMAX":
            return (self._scaled(op),)
        if op.operator == "BATCH_MATMUL":
            for index in range(2):
                op = self._operand(op, index)
            op = self._product(op)
        return (op,)

    def _operand(self, op: Op, index: int) -> Op:
        """The product with operand `index` before its TRANSPOSE, if only products read the transposed value."""
        value = op.inputs[index]
        transpose = transposition(self._flow, value)
        readers = self._flow.readers(value) if transpose is not None and value is not None else None
        if transpose is None or readers is None or any(reader.operator != "BATCH_MATMUL" for reader in readers):
            return op
        source, permutation = transpose
        axes = _composed_axes(permutation, getattr(op.attributes, PERMUTATIONS[index]))
        inputs = (source, op.inputs[1]) if index == 0 else (op.inputs[0], source)
        return self._legal(
            replace(op, inputs=inputs, attributes=replace(op.attributes, **{PERMUTATIONS[index]: axes})), op
        )

    def _product(self, op: Op) -> Op:
        """The product that writes its result transposed, if a TRANSPOSE is the result's only reader."""
        reader = self._flow.only_reader(op.outputs[0])
        transpose = transposed(self._flow, reader) if reader is not None and reader.operator == "TRANSPOSE" else None
        if reader is None or transpose is None:
            return op
        before = op.attributes.output_axes or tuple(range(len(transpose[1])))
        attributes = replace(op.attributes, output_axes=_composed_axes(before, transpose[1]))
        fused = self._legal(replace(op, outputs=reader.outputs, attributes=attributes), op)
        if fused is not op:
            self._absorbed.add(reader.id)
        return fused

    def _scaled(self, op: Op) -> Op:
        """SOFTMAX with the factor of a preceding MUL in its beta."""
        source = op.inputs[0]
        scaling = self._flow.producer_among(source, "MUL")
        if scaling is None or source is None or self._flow.only_reader(source) is None:
            return op
        for read, factor_operand in (scaling.inputs, scaling.inputs[::-1]):
            factor = self._flow.number(factor_operand)
            if factor is None or read is None or read.type != source.type or not _is_float(read):
                continue
            beta = op.attributes.beta * factor
            if factor > 0 and fits_float32(beta) and scaling.attributes.activation is Activation.NONE:
                fused = replace(op, inputs=(read,), attributes=replace(op.attributes, beta=beta))
                return self._legal(fused, op)
        return op

    def _legal(self, fused: Op, op: Op) -> Op:
        return fused if is_legal(fused, self._constants) else op


def _is_float(value: Value) -> bool:
    return value.type.dtype.is_float


def _composed_axes(first: Permutation, second: Permutation) -> Permutation:
    """Composition of two permutations; empty for the identity."""
    composed = compose(first, second or tuple(range(len(first))))
    return () if is_identity(composed) else composed
