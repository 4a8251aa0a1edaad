"""Around products of matrices and softmaxes, as in attention: TRANSPOSEs become strides, scales become beta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.ir import Module, Node, Op, Value
from tflmgen.kernels import PERMUTATIONS, Activation
from tflmgen.passes.def_use import is_legal
from tflmgen.passes.fusion import Fuser
from tflmgen.passes.permutation import Permutation, compose, is_identity, transposed, transposition


def fuse_attention(module: Module) -> Module:
    """Removes TRANSPOSEs of operands and product of BATCH_MATMUL, and MULs by one number before float SOFTMAX.

    The kernel walks through its matrices by strides, so that heads need not be moved to the front and back again.
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
        """The product of what operand `index` is a TRANSPOSE of, if products are all that read it."""
        value = op.inputs[index]
        found = transposition(self._flow, value)
        readers = self._flow.readers(value) if found is not None and value is not None else None
        if found is None or readers is None or any(reader.operator != "BATCH_MATMUL" for reader in readers):
            return op
        source, permutation = found
        axes = _after(permutation, getattr(op.attributes, PERMUTATIONS[index]))
        inputs = (source, op.inputs[1]) if index == 0 else (op.inputs[0], source)
        return self._legal(
            replace(op, inputs=inputs, attributes=replace(op.attributes, **{PERMUTATIONS[index]: axes})), op
        )

    def _product(self, op: Op) -> Op:
        """The product already transposed, if it is only read for that."""
        reader = self._flow.only_reader(op.outputs[0])
        found = transposed(self._flow, reader) if reader is not None and reader.operator == "TRANSPOSE" else None
        if reader is None or found is None:
            return op
        before = op.attributes.output_axes or tuple(range(len(found[1])))
        attributes = replace(op.attributes, output_axes=_after(before, found[1]))
        fused = self._legal(replace(op, outputs=reader.outputs, attributes=attributes), op)
        if fused is not op:
            self._gone.add(reader.id)
        return fused

    def _scaled(self, op: Op) -> Op:
        """SOFTMAX with the factor of its input as part of beta."""
        source = op.inputs[0]
        scaling = self._flow.made_by(source, "MUL")
        if scaling is None or source is None or self._flow.only_reader(source) is None:
            return op
        for read, other in (scaling.inputs, scaling.inputs[::-1]):
            factor = self._flow.number(other)
            if factor is None or read is None or read.type != source.type or not _is_float(read):
                continue
            beta = op.attributes.beta * factor
            if factor > 0 and beta < 1e30 and scaling.attributes.activation is Activation.NONE:
                fused = replace(op, inputs=(read,), attributes=replace(op.attributes, beta=beta))
                return self._legal(fused, op)
        return op

    def _legal(self, fused: Op, op: Op) -> Op:
        return fused if is_legal(fused, self._constants) else op


def _is_float(value: Value) -> bool:
    return value.type.dtype.is_float


def _after(first: Permutation, second: Permutation) -> Permutation:
    """Two permutations as one, empty for none."""
    whole = compose(first, second or tuple(range(len(first))))
    return () if is_identity(whole) else whole
