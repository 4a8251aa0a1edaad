"""A subgraph whose operators are being rewritten from floats to the integers that these were dequantised from.

Weights and biases become integers as TFLite stores them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.model_graph.integer_tensors import ElementType, bias_element, with_element
from tflmgen.frontend.model_graph.model_rewrite import SubGraphRewrite
from tflmgen.frontend.onnx.layout_graph import Codes
from tflmgen.frontend.tflite.model import ABSENT, FileOperator, SubGraph
from tflmgen.ir import DType, Quantization, TensorType, contents, elements_of
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels import OPERATORS, reference_runtimes

Array = NDArray[Any]


class CodesRewrite(SubGraphRewrite):
    """A subgraph in the making, with what its constants of floats were dequantised from.

    buffer  gives contents their number in the file
    """

    def __init__(self, graph: SubGraph, codes: Mapping[int, Codes], buffer: Callable[[bytes], int]) -> None:
        super().__init__(graph)
        self.codes, self._number = codes, buffer

    def element(self, tensor: int) -> ElementType | None:
        """Integer type and quantisation of a tensor; None for tensors that are not quantised."""
        entry = self.tensors[tensor]
        if entry.dtype not in (DType.INT8, DType.INT16, DType.UINT8) or entry.quantization is None:
            return None
        return ElementType(entry.dtype, entry.quantization)

    def in_element(self, tensor: int, element: ElementType, **changes: Any) -> int:
        """A new tensor of another's shape in an element type."""
        copy = with_element(self.tensors[tensor], element)
        return self.add_tensor(
            copy, **{"name": f"{copy.name}_{element.dtype.label}", "data": None, "buffer": 0, **changes}
        )

    def constant_in_element(self, tensor: int, array: Array, element: ElementType) -> int:
        """A new constant of these elements in place of another."""
        data = contents(array, element.dtype)
        changes = {"data": data, "shape": tuple(array.shape), "shape_signature": None}
        return self.in_element(tensor, element, buffer=self._number(data), **changes)

    def values(self, tensor: int) -> Array | None:
        """Contents of a constant."""
        entry = self.tensors[tensor]
        if entry.data is None or entry.dtype is None or entry.dtype is DType.INT4:
            return None
        return np.frombuffer(entry.data, entry.dtype.numpy).reshape(entry.shape)

    def is_computed(self, op: FileOperator) -> bool:
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


_WIDEST = {DType.INT32: 2.0**31 - 1, DType.INT64: 2.0**62}


def integer_weights(graph: CodesRewrite, tensor: int, axis: int) -> int | None:
    """Symmetric int8 or int4 in place of a constant of floats; None where its integers don't fit or weren't kept.

    axis  along which scales may differ
    """
    codes = graph.codes.get(tensor)
    if codes is None or codes.integers.size == 0:
        return None
    scales = _scales(codes.scales, axis)
    low, high = int(codes.integers.min()), int(codes.integers.max())
    if scales is None or low < -128 or high > 127:
        return None
    narrow = codes.dtype is DType.INT4 and low >= -8 and high <= 7
    element = ElementType(DType.INT4 if narrow else DType.INT8, Quantization(scales, (0,) * len(scales), axis))
    return graph.constant_in_element(tensor, codes.integers.astype(np.int8), element)


def integer_operand(graph: CodesRewrite, tensor: int) -> int | None:
    """int8 of one scale in place of a constant of floats, with the zero point nearest to 0 by which they fit."""
    codes = graph.codes.get(tensor)
    if codes is None or codes.integers.size == 0:
        return None
    scales = _scales(codes.scales, None)
    low, high = int(codes.integers.min()), int(codes.integers.max())
    zero = min(max(0, -128 - low), 127 - high)
    if scales is None or high - low > 255 or not -128 <= zero <= 127:
        return None
    element = ElementType(DType.INT8, Quantization(scales, (zero,)))
    return graph.constant_in_element(tensor, (codes.integers + zero).astype(np.int8), element)


def _scales(scales: Array, axis: int | None) -> tuple[float, ...] | None:
    """The scale of each index of an axis; None where they differ along others. Equal ones are one scale."""
    rows = scales.reshape(1, -1) if axis is None else np.moveaxis(scales, axis, 0).reshape(scales.shape[axis], -1)
    if not (rows == rows[:, :1]).all():
        return None
    first = rows[:, 0]
    return (float(first[0]),) if (first == first[0]).all() else tuple(float(scale) for scale in first)


def integer_bias(graph: CodesRewrite, tensor: int, filtered: int, weights: int) -> int | None:
    """int32 (int64 beside int16) in steps of the input's scale times the weights', nearest to the floats."""
    values = graph.values(tensor)
    kind, element = graph.tensors[weights].quantization, graph.element(filtered)
    if values is None or values.dtype.kind != "f" or kind is None or element is None:
        return None
    stored = bias_element(element, kind)
    with np.errstate(all="ignore"):
        integers = np.rint(values.reshape(-1).astype(np.float64) / np.array(stored.affine.scales))
    if not (np.abs(integers) <= _WIDEST[stored.dtype]).all():
        return None
    return graph.constant_in_element(tensor, integers.astype(stored.dtype.numpy), stored)
