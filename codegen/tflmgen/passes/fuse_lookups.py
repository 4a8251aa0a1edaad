"""Fuses groups of operators that map each int8 element to an int8 element into one lookup table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType, TensorType
from tflmgen.ir.graph import Module, Op, Value
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels import fold, traits_of
from tflmgen.kernels.costs import TUNING
from tflmgen.kernels.operators import ENTRIES
from tflmgen.kernels.specification import per_tensor
from tflmgen.passes.fused_regions import FusedRegion
from tflmgen.passes.operator_rewriter import RegionRewriter

TABLE = TensorType(DType.INT8, (ENTRIES,))


def fuse_lookups(module: Module) -> Module:
    """Replaces element-wise operators between two int8 values by a LOOKUP, also through floats.

    Bit-exact, since the operators are evaluated for all 256 inputs. Examples: decomposed swish and hard-swish,
    consecutive requantisations, gates by constants.
    """
    return _Lookups(module).rewritten()


class _Lookups(RegionRewriter):
    def is_fusible(self, op: Op) -> bool:
        operands = [v for v in op.inputs if v is not None]
        result = op.outputs[0].type
        if traits_of(op.operator).view:
            return operands[0].type.quantization == result.quantization
        if not traits_of(op.operator).tabulable or len(op.outputs) != 1:
            return False
        if traits_of(op.operator).unary:
            # What belongs to the function, such as a table, is no operand.
            operands = operands[:1]
        kinds = [v.type for v in operands] + [result]
        simple = all(_is_simple(t) for t in kinds)
        return simple and all(
            self._is_uniform(v) or (not v.is_constant and v.type.shape == result.shape) for v in operands
        )

    def _is_uniform(self, value: Value) -> bool:
        """Whether the value is a constant with equal elements."""
        return self.flow.number(value) is not None

    def is_source(self, source: Value, op: Op) -> bool:
        kinds = source.type, op.outputs[0].type
        return kinds[0].shape == kinds[1].shape and all(t.dtype is DType.INT8 and per_tensor(t) for t in kinds)

    def fused(self, op: Op, region: FusedRegion) -> Op | None:
        source = region.source.type
        tables = any(traits_of(o.operator).tabled for o in region.ops)
        if source.elements < TUNING.table_elements and not tables:
            return None
        table = self._table(region)
        if table is None:
            return None
        inputs = (region.source, self.pool.add(table, Value(0, "table", TABLE)))
        return self.legal(replace(op, operator="LOOKUP", inputs=inputs, attributes=None))

    def _table(self, region: FusedRegion) -> NDArray[Any] | None:
        """Outputs of the region for all 256 inputs, int8[256]; None if they can't be evaluated."""
        arrays_of: dict[Value, NDArray[Any]] = {region.source: np.arange(-128, 128).astype(np.int8)}
        for op in region.ops:
            if traits_of(op.operator).view and op.inputs[0] is not None:
                arrays_of[op.outputs[0]] = arrays_of[op.inputs[0]]
                continue
            arrays = [arrays_of[v] if v in arrays_of else self._constant(v) for v in op.inputs if v is not None]
            types = tuple(replace(v.type, shape=a.shape) for v, a in zip(op.inputs, arrays, strict=True) if v)
            result = replace(op.outputs[0].type, shape=(ENTRIES,))
            results = fold(op.operator, OperatorInstance(types, (result,), tuple(arrays), op.attributes))
            if results is None:
                return None
            arrays_of[op.outputs[0]] = results[0].reshape(ENTRIES)
        return arrays_of[region.result]

    def _constant(self, value: Value) -> NDArray[Any]:
        """Elements of a constant table; of any other constant, its common element as an array of 1."""
        array = np.asarray(self.flow.array(value))
        return array if value.type == TABLE else array.reshape(-1)[:1]


def _is_simple(kind: TensorType) -> bool:
    """Whether the type is float, or quantised per tensor."""
    return kind.is_static and (kind.dtype is DType.FLOAT32 or (kind.dtype is DType.INT8 and per_tensor(kind)))
