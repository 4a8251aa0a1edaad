"""Several operators that together map each int8 to an int8 become one table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tflmgen.ir import DType, Module, Op, OperatorInstance, TensorType, Value, resolve
from tflmgen.kernels import ENTRIES, TABLES, Array, fold, per_tensor, traits_of
from tflmgen.passes.constant_pool import Pool
from tflmgen.passes.def_use import is_legal
from tflmgen.passes.fused_regions import Region
from tflmgen.passes.fusion import RegionFuser

TABLE = TensorType(DType.INT8, (ENTRIES,))
LEAST_ELEMENTS = 16
"""From how many elements on a table is worth its 256 bytes of flash, if none of the operators has one itself."""


def fuse_lookups(module: Module) -> Module:
    """Replaces element-wise operators between one int8 value and another by a LOOKUP of what they compute.

    Also through floats, where all operators are exact. The result is theirs bit for bit, since they are evaluated for
    every int8: swish and hard-swish that are spelled out, rescalings one after another, gates of constants.
    """
    fusing = _Lookups(module)
    return fusing.pool.into(fusing.run(module))


class _Lookups(RegionFuser):
    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self.pool = Pool(module)

    def _takes(self, op: Op) -> bool:
        operands = [v for v in op.inputs if v is not None]
        result = op.outputs[0].type
        if traits_of(op.operator).view:
            return operands[0].type.quantization == result.quantization
        if not traits_of(op.operator).tabulable or len(op.outputs) != 1:
            return False
        if op.operator == "LOOKUP":
            return True
        kinds = [v.type for v in operands] + [result]
        simple = all(_is_simple(t) for t in kinds)
        return simple and all(self._is_one(v) or (not v.is_constant and v.type.shape == result.shape) for v in operands)

    def _is_one(self, value: Value) -> bool:
        """Whether it is a constant whose elements are all one number."""
        return self._flow.number(value) is not None

    def _fused(self, op: Op, region: Region) -> Op | None:
        source, result = region.source.type, op.outputs[0].type
        if source.shape != result.shape or not all(t.dtype is DType.INT8 and per_tensor(t) for t in (source, result)):
            return None
        tables = any(o.operator in (*TABLES, "LOOKUP") for o in region.ops)
        if source.elements < LEAST_ELEMENTS and not tables:
            return None
        table = self._table(region)
        if table is None:
            return None
        inputs = (resolve(region.source, self.mapping), self.pool.add(table, Value(0, "table", TABLE)))
        fused = replace(op, operator="LOOKUP", inputs=inputs, attributes=None)
        return fused if is_legal(fused, self.pool.constants) else None

    def _table(self, region: Region) -> Array | None:
        """The result for every int8; None where one isn't known at compile time."""
        known: dict[Value, Array] = {region.source: np.arange(-128, 128).astype(np.int8)}
        for op in region.ops:
            if traits_of(op.operator).view and op.inputs[0] is not None:
                known[op.outputs[0]] = known[op.inputs[0]]
                continue
            arrays = [known[v] if v in known else self._constant(v) for v in op.inputs if v is not None]
            types = tuple(replace(v.type, shape=a.shape) for v, a in zip(op.inputs, arrays, strict=True) if v)
            result = replace(op.outputs[0].type, shape=(ENTRIES,))
            made = fold(op.operator, OperatorInstance(types, (result,), tuple(arrays), op.attributes))
            if made is None:
                return None
            known[op.outputs[0]] = made[0].reshape(ENTRIES)
        return known[region.result]

    def _constant(self, value: Value) -> Array:
        """A constant table, or the one number of any other constant."""
        array = np.asarray(self._flow.array(value))
        return array if value.type == TABLE else array.reshape(-1)[:1]


def _is_simple(kind: TensorType) -> bool:
    """Whether elements are floats, or quantised with one scale."""
    return kind.is_static and (kind.dtype is DType.FLOAT32 or (kind.dtype is DType.INT8 and per_tensor(kind)))
