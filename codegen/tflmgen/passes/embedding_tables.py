"""Tables of which rows are picked stay as the file stores them: the rows are dequantised, not the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.ir import Module, Node, Op, TensorType, Value
from tflmgen.kernels import TABLE
from tflmgen.passes.def_use import is_legal
from tflmgen.passes.fusion import Fuser


def dequantize_late(module: Module) -> Module:
    """GATHER and EMBEDDING_LOOKUP of a constant that DEQUANTIZE widens come before it.

    Exact: each element is dequantised by itself. Where something else reads the whole table, or more is picked than
    there is, the table is dequantised at compile time instead.
    """
    return _Tables(module).run(module)


class _Tables(Fuser):
    def op(self, op: Op) -> Sequence[Node]:
        return self._picked_first(op) or (op,)

    def _picked_first(self, op: Op) -> tuple[Op, Op] | None:
        at = TABLE.get(op.operator)
        wide = op.inputs[at] if at is not None else None
        widen = self._flow.made_by(wide, "DEQUANTIZE")
        table = widen.inputs[0] if widen is not None else None
        if at is None or wide is None or widen is None or table is None or not table.is_constant:
            return None
        if not self._is_only_picked_from(wide) or op.outputs[0].type.elements > table.type.elements:
            return None
        kind = TensorType(table.type.dtype, op.outputs[0].type.shape, table.type.quantization)
        rows = Value(self._ids.take(), op.outputs[0].name, kind)
        inputs = (*op.inputs[:at], table, *op.inputs[at + 1 :])
        pick = replace(op, id=self._ids.take(), inputs=inputs, outputs=(rows,))
        widened = replace(widen, id=self._ids.take(), inputs=(rows,), outputs=op.outputs)
        return (pick, widened) if is_legal(pick, self._constants) and is_legal(widened, self._constants) else None

    def _is_only_picked_from(self, wide: Value) -> bool:
        readers = self._flow.readers(wide)
        return bool(readers) and all(op.inputs.index(wide) == TABLE.get(op.operator) for op in readers or ())
