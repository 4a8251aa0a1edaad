"""A subgraph whose operators are being rewritten from floats to integers: who makes and who reads each tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.onnx.laid_out import Codes
from tflmgen.frontend.tflite.builder import options_with_defaults
from tflmgen.frontend.tflite.model import ABSENT, Operator, SubGraph, Tensor
from tflmgen.frontend.tflite.operator_versions import operator_version
from tflmgen.ir import DType, OperatorInstance, Quantization, TensorType, contents, elements_of
from tflmgen.kernels import OPERATORS, reference_runtimes

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Element:
    """Element type and quantisation of a tensor."""

    dtype: DType
    quantization: Quantization


@dataclass(slots=True)
class GraphRewrite:
    """Tensors and operators of one subgraph, in order of execution.

    codes   constant of floats -> what it was dequantised from
    buffer  gives contents their number in the file
    """

    graph: SubGraph
    codes: Mapping[int, Codes]
    buffer: Callable[[bytes], int]
    tensors: list[Tensor] = field(init=False)
    operators: list[Operator] = field(init=False)

    def __post_init__(self) -> None:
        self.tensors, self.operators = list(self.graph.tensors), list(self.graph.operators)

    def result(self) -> SubGraph:
        """The subgraph as rewritten so far, its operators numbered in order of execution."""
        operators = tuple(replace(op, index=index) for index, op in enumerate(self.operators))
        return replace(self.graph, tensors=tuple(self.tensors), operators=operators)

    def producers(self) -> dict[int, int]:
        """Tensor -> place of the operator that makes it."""
        return {tensor: place for place, op in enumerate(self.operators) for tensor in op.outputs}

    def readers(self) -> dict[int, list[int]]:
        """Tensor -> places of the operators that read it; the graph's outputs are read at the end."""
        users: dict[int, list[int]] = {}
        for place, op in enumerate(self.operators):
            for tensor in dict.fromkeys(op.inputs):
                users.setdefault(tensor, []).append(place)
        for tensor in self.graph.outputs:
            users.setdefault(tensor, []).append(len(self.operators))
        return users

    def element(self, tensor: int) -> Element | None:
        """Integer type and quantisation of a tensor; None for tensors that are not quantised."""
        entry = self.tensors[tensor]
        if entry.dtype not in (DType.INT8, DType.INT16, DType.UINT8) or entry.quantization is None:
            return None
        return Element(entry.dtype, entry.quantization)

    def like(self, tensor: int, element: Element | None) -> int:
        """A new tensor of another's shape; of floats without an element."""
        dtype = DType.FLOAT32 if element is None else element.dtype
        quantization = None if element is None else element.quantization
        entry = self.tensors[tensor]
        return self._add_tensor(
            replace(
                entry,
                name=f"{entry.name}_{dtype.label}",
                dtype=dtype,
                type_name=dtype.label,
                quantization=quantization,
                data=None,
                buffer=0,
            )
        )

    def constant(self, tensor: int, array: Array, element: Element | None) -> int:
        """A new constant in place of another; of floats without an element."""
        index = self.like(tensor, element)
        dtype = DType.FLOAT32 if element is None else element.dtype
        buffer = self.buffer(contents(array, dtype))
        entry = replace(self.tensors[index], data=contents(array, dtype), buffer=buffer, shape=tuple(array.shape))
        self.tensors[index] = replace(entry, shape_signature=None)
        return index

    def _add_tensor(self, entry: Tensor) -> int:
        self.tensors.append(replace(entry, index=len(self.tensors)))
        return len(self.tensors) - 1

    def values(self, tensor: int) -> Array | None:
        """Contents of a constant."""
        entry = self.tensors[tensor]
        if entry.data is None or entry.dtype is None or entry.dtype is DType.INT4:
            return None
        return np.frombuffer(entry.data, entry.dtype.numpy).reshape(entry.shape)

    def operator(
        self, name: str, inputs: Sequence[int], outputs: Sequence[int], options: Mapping[str, Any] | None = None
    ) -> Operator:
        """An operator of these tensors, with TFLite's defaults for options that are not given and the version that it
        needs. It is not yet in the graph."""
        filled = options_with_defaults(name, options or {})
        operands = [None if i == ABSENT else self.tensors[i] for i in inputs]
        version = operator_version(name, operands, [self.tensors[i] for i in outputs], filled)
        return Operator(0, name, version, tuple(inputs), tuple(outputs), filled, b"", ())

    def is_computed(self, op: Operator) -> bool:
        """Whether there is a kernel for the operator as it is, and TFLite Micro computes the same."""
        kinds = [None if i == ABSENT else self._type(i) for i in op.inputs]
        results = [self._type(i) for i in op.outputs]
        label = next((kind.dtype.label for kind in (*kinds, *results) if kind is not None and kind.quantization), "")
        if op.name not in OPERATORS or reference_runtimes(op.name, label) != "TFLM":
            return False
        entry = OPERATORS[op.name]
        try:
            attributes = entry.attributes(op.options or {})
        except ValueError:
            return False
        constants = tuple(None if i == ABSENT else self._contents(i) for i in op.inputs)
        instance = OperatorInstance(tuple(kinds), tuple(results), constants, attributes)
        return all(rule.holds(instance) for rule in entry.rules)

    def _type(self, tensor: int) -> TensorType:
        entry = self.tensors[tensor]
        return TensorType(entry.dtype or DType.INT32, entry.shape, entry.quantization)

    def _contents(self, tensor: int) -> Array | None:
        entry = self.tensors[tensor]
        if entry.data is None or entry.dtype is None:
            return None
        return elements_of(TensorType(entry.dtype, entry.shape), entry.data)

    def drop_unread(self) -> None:
        """Removes operators whose results nobody reads, and that keep no state."""
        read = set(self.graph.outputs)
        kept: list[Operator] = []
        for op in reversed(self.operators):
            if op.name not in _REPLACED or not read.isdisjoint(op.outputs):
                kept.append(op)
                read.update(op.inputs)
        self.operators = kept[::-1]


_REPLACED = frozenset({"QUANTIZE", "DEQUANTIZE", "CAST", "ADD"})
"""Operators that others may have been put in place of."""
