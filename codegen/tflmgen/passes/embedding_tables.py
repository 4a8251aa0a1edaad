"""Keeps quantised lookup tables in flash: dequantises the gathered rows instead of the whole table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.ir import Module, Node, Op, TensorType, Value
from tflmgen.kernels import TABLE
from tflmgen.passes.def_use import is_legal
from tflmgen.passes.fusion import Fuser


def dequantize_late(module: Module) -> Module:
    """Moves GATHER and EMBEDDING_LOOKUP before the DEQUANTIZE of a constant table.

    Bit-exact: elements are dequantised independently. A table with other readers, or with fewer elements than the
    output, is dequantised at compile time instead.
    """
    return _Tables(module).run(module)


class _Tables(Fuser):
    def op(self, op: Op) -> Sequence[Node]:
        return self._gather_first(op) or (op,)

    def _gather_first(self, op: Op) -> tuple[Op, Op] | None:
        table_index = TABLE.get(op.operator)
        dequantized = op.inputs[table_index] if table_index is not None else None
        dequantize = self._flow.producer_among(dequantized, "DEQUANTIZE")
        table = dequantize.inputs[0] if dequantize is not None else None
        if table_index is None or dequantized is None or dequantize is None or table is None or not table.is_constant:
            return None
        if not self._is_only_gathered(dequantized) or op.outputs[0].type.elements > table.type.elements:
            return None
        row_type = TensorType(table.type.dtype, op.outputs[0].type.shape, table.type.quantization)
        rows = Value(self._ids.take(), op.outputs[0].name, row_type)
        inputs = (*op.inputs[:table_index], table, *op.inputs[table_index + 1 :])
        gather = replace(op, id=self._ids.take(), inputs=inputs, outputs=(rows,))
        dequantize_rows = replace(dequantize, id=self._ids.take(), inputs=(rows,), outputs=op.outputs)
        return (
            (gather, dequantize_rows)
            if is_legal(gather, self._constants) and is_legal(dequantize_rows, self._constants)
            else None
        )

    def _is_only_gathered(self, dequantized: Value) -> bool:
        readers = self._flow.readers(dequantized)
        return bool(readers) and all(op.inputs.index(dequantized) == TABLE.get(op.operator) for op in readers or ())
