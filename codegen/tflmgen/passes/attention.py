"""Fuses the operators around matrix products and softmaxes of attention: TRANSPOSEs into strides, MULs into beta."""

from __future__ import annotations

from dataclasses import replace

from tflmgen.ir.graph import Module, Op
from tflmgen.kernels import traits_of
from tflmgen.kernels.numeric import Activation
from tflmgen.kernels.operators import PERMUTATIONS, SoftmaxAttributes
from tflmgen.passes.operator_rewriter import OperatorRewriter, Replacement
from tflmgen.passes.permutation import Permutation, compose, is_identity, transposed, transposition
from tflmgen.passes.single_precision import fits_float32


def fuse_attention(module: Module) -> Module:
    """Removes TRANSPOSEs of the operands and the product of BATCH_MATMUL, and MULs by one number before float SOFTMAX.

    The kernel addresses its matrices by strides, so that attention heads need no TRANSPOSE to the front and back.
    """
    return _Attention(module).rewritten()


class _Attention(OperatorRewriter):
    def op(self, op: Op) -> Replacement:
        if isinstance(op.attributes, SoftmaxAttributes):
            return self._scaled(op)
        if traits_of(op.operator).products:
            return self._product(self._operand(self._operand(op, 0), 1))
        return None

    def _operand(self, op: Op, index: int) -> Op:
        """The product with operand `index` before its TRANSPOSE, if only products read the transposed value."""
        value = op.inputs[index]
        transpose = transposition(self.flow, value)
        readers = self.flow.readers(value) if transpose is not None and value is not None else None
        if transpose is None or readers is None or not all(traits_of(reader.operator).products for reader in readers):
            return op
        source, permutation = transpose
        axes = _composed_axes(permutation, getattr(op.attributes, PERMUTATIONS[index]))
        inputs = (source, op.inputs[1]) if index == 0 else (op.inputs[0], source)
        attributes = replace(op.attributes, **{PERMUTATIONS[index]: axes})
        return self.legal(replace(op, inputs=inputs, attributes=attributes)) or op

    def _product(self, op: Op) -> Op:
        """The product that writes its result transposed, if a TRANSPOSE is the result's only reader."""
        reader = self.flow.only_reader(op.outputs[0])
        transpose = transposed(self.flow, reader) if reader is not None else None
        if reader is None or transpose is None:
            return op
        before = op.attributes.output_axes or tuple(range(len(transpose[1])))
        attributes = replace(op.attributes, output_axes=_composed_axes(before, transpose[1]))
        fused = self.legal(replace(op, outputs=reader.outputs, attributes=attributes))
        if fused is not None:
            self.absorbed.add(reader.id)
        return fused or op

    def _scaled(self, op: Op) -> Op | None:
        """SOFTMAX with the factor of a preceding MUL in its beta."""
        source = op.inputs[0]
        scaling = self.flow.producer(source, lambda traits: traits.multiplies == 1)
        if scaling is None or source is None or self.flow.only_reader(source) is None:
            return None
        for read, factor_operand in (scaling.inputs, scaling.inputs[::-1]):
            factor = self.flow.number(factor_operand)
            if factor is None or read is None or read.type != source.type or not read.type.dtype.is_float:
                continue
            beta = op.attributes.beta * factor
            if factor > 0 and fits_float32(beta) and scaling.attributes.activation is Activation.NONE:
                return self.legal(replace(op, inputs=(read,), attributes=replace(op.attributes, beta=beta)))
        return None


def _composed_axes(first: Permutation, second: Permutation) -> Permutation:
    """Composition of two permutations; empty for the identity."""
    composed = compose(first, second or tuple(range(len(first))))
    return () if is_identity(composed) else composed
