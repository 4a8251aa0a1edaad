"""Recognises lowered TensorList stores: the TFLite converter's form of storing one row into a list of rows.

TensorListSetItem(list, index, row) arrives as

    CONCATENATION(axis 0, SLICE(list, 0.., [index, -1..]), row', SLICE(list, [index + 1, 0..], -1..))

where row' is the row with a leading dimension of 1, and both SLICEs have dynamic shapes. The pattern is an in-place
store of one row. (TensorListGetItem is a GATHER, which already loads one row.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tflmgen.frontend.tflite.model import FileOperator, SubGraph


@dataclass(frozen=True, slots=True)
class RowStore:
    """Tensor indices: the list, the row's index (int32, one element), the row (any shape with a row's elements)."""

    list: int
    index: int
    row: int

    @property
    def reads(self) -> tuple[int, ...]:
        """Tensors that the store reads instead of its CONCATENATION's operands: list, index and row."""
        return self.list, self.index, self.row


def row_stores(subgraph: SubGraph) -> Mapping[int, RowStore]:
    """Stores of one row in a subgraph, by operator index of their CONCATENATION."""
    if not any(op.name == "SLICE" for op in subgraph.operators):
        return {}
    matcher = _Matcher(subgraph)
    stores = {op.index: matcher.match(op) for op in subgraph.operators if op.name == "CONCATENATION"}
    return {index: store for index, store in stores.items() if store is not None}


class _Matcher:
    def __init__(self, subgraph: SubGraph) -> None:
        self._subgraph = subgraph
        self._producer = {output: op for op in subgraph.operators for output in op.outputs}

    def match(self, op: FileOperator) -> RowStore | None:
        if len(op.inputs) != 3 or int((op.options or {}).get("axis", 0)) != 0:
            return None
        before, after = self._producer.get(op.inputs[0]), self._producer.get(op.inputs[2])
        if before is None or after is None or before.name != "SLICE" or after.name != "SLICE":
            return None
        if before.inputs[0] != after.inputs[0] or (self._subgraph.tensors[op.inputs[1]].shape or (0,))[0] != 1:
            return None
        index = self._leading(before.inputs[2], -1)
        following = self._leading(after.inputs[1], 0)
        if index is None or following is None or not self._is_next(following, index):
            return None
        if not self._is_constant_of(before.inputs[1], 0) or not self._is_constant_of(after.inputs[2], -1):
            return None
        return RowStore(before.inputs[0], index, op.inputs[1])

    def _is_constant_of(self, tensor: int, number: int) -> bool:
        values = self._constant(tensor)
        return values is not None and all(v == number for v in values)

    def _leading(self, tensor: int, filler: int) -> int | None:
        """Scalar tensor t of a vector [t, filler, filler, ...] built by CONCATENATION or PACK, or of [t]."""
        op = self._producer.get(tensor)
        if op is None:
            return None
        if op.name in ("RESHAPE", "EXPAND_DIMS", "PACK") and (op.name != "PACK" or len(op.inputs) == 1):
            return self._scalar(op.inputs[0])
        if op.name == "PACK":
            return self._scalar(op.inputs[0]) if all(self._is_constant_of(t, filler) for t in op.inputs[1:]) else None
        if (
            op.name != "CONCATENATION"
            or not op.inputs
            or not all(self._is_constant_of(t, filler) for t in op.inputs[1:])
        ):
            return None
        return self._scalar(op.inputs[0])

    def _scalar(self, tensor: int) -> int:
        """The tensor before any reshapes of one element."""
        op = self._producer.get(tensor)
        while op is not None and op.name in ("RESHAPE", "EXPAND_DIMS", "SQUEEZE"):
            tensor = op.inputs[0]
            op = self._producer.get(tensor)
        return tensor

    def _is_next(self, tensor: int, index: int) -> bool:
        """Whether tensor = index + 1."""
        op = self._producer.get(tensor)
        if op is None or op.name != "ADD" or (op.options or {}).get("fused_activation_function", 0):
            return False
        operands = [self._scalar(t) for t in op.inputs]
        return any(operands[i] == index and self._is_constant_of(op.inputs[1 - i], 1) for i in (0, 1))

    def _constant(self, tensor: int) -> list[int] | None:
        array = self._subgraph.tensors[tensor]
        if array.data is None or array.dtype is None or array.dtype.is_float:
            return None
        return [int(v) for v in np.frombuffer(array.data, array.dtype.numpy)]
