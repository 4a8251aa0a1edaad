"""Arithmetic on tensors of a graph in the making: each method adds operators and gives the result's index."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tflmgen.gradients.flow_graph import FlowGraph, Shape
from tflmgen.ir import DType

_TYPES = {DType.FLOAT32: 0, DType.INT32: 2, DType.INT64: 4, DType.BOOL: 6}
"""The schema's numbers of element types."""


def broadcast(*shapes: Shape) -> Shape:
    """The shape that operands of an element-wise operator have together."""
    return tuple(np.broadcast_shapes(*shapes))


class Arithmetic:
    """Adds operators of float32 to a graph."""

    def __init__(self, graph: FlowGraph) -> None:
        self.graph = graph

    def shape(self, tensor: int) -> Shape:
        """Dimensions of a tensor."""
        return self.graph.shape(tensor)

    def number(self, value: float) -> int:
        """A scalar constant."""
        return self.graph.constant(np.float32(value))

    def integers(self, values: int | Sequence[int]) -> int:
        """A constant of int32."""
        return self.graph.constant(np.array(values, np.int32), DType.INT32)

    def _binary(self, name: str, left: int, right: int) -> int:
        return self.graph.compute(name, [left, right], broadcast(self.shape(left), self.shape(right)))

    def _unary(self, name: str, tensor: int) -> int:
        return self.graph.compute(name, [tensor], self.shape(tensor))

    def add(self, left: int, right: int) -> int:
        """left + right."""
        return self._binary("ADD", left, right)

    def subtract(self, left: int, right: int) -> int:
        """left - right."""
        return self._binary("SUB", left, right)

    def multiply(self, left: int, right: int) -> int:
        """left * right."""
        return self._binary("MUL", left, right)

    def scale(self, tensor: int, factor: float) -> int:
        """The tensor times a number; itself where that is 1."""
        return tensor if factor == 1 else self.multiply(tensor, self.number(factor))

    def divide(self, left: int, right: int) -> int:
        """left / right."""
        return self._binary("DIV", left, right)

    def maximum(self, left: int, right: int) -> int:
        """The greater of both."""
        return self._binary("MAXIMUM", left, right)

    def minimum(self, left: int, right: int) -> int:
        """The lesser of both."""
        return self._binary("MINIMUM", left, right)

    def negative(self, tensor: int) -> int:
        """The tensor with the other sign."""
        return self._unary("NEG", tensor)

    def absolute(self, tensor: int) -> int:
        """The magnitude of each element."""
        return self._unary("ABS", tensor)

    def exponential(self, tensor: int) -> int:
        """e to the tensor."""
        return self._unary("EXP", tensor)

    def logarithm(self, tensor: int) -> int:
        """The natural logarithm."""
        return self._unary("LOG", tensor)

    def square(self, tensor: int) -> int:
        """The square of each element."""
        return self.multiply(tensor, tensor)

    def square_root(self, tensor: int) -> int:
        """The square root."""
        return self._unary("SQRT", tensor)

    def apply(self, name: str, tensor: int) -> int:
        """A function of each element, by its operator's name."""
        return self._unary(name, tensor)

    def greater(self, left: int, right: int) -> int:
        """left > right, of bool."""
        shape = broadcast(self.shape(left), self.shape(right))
        return self.graph.compute("GREATER", [left, right], shape, DType.BOOL)

    def compare(self, name: str, left: int, right: int) -> int:
        """A comparison by its operator's name, of bool."""
        return self.graph.compute(name, [left, right], broadcast(self.shape(left), self.shape(right)), DType.BOOL)

    def choose(self, condition: int, left: int, right: int) -> int:
        """left where the condition holds, else right."""
        shape = broadcast(*map(self.shape, (condition, left, right)))
        return self.graph.compute("SELECT_V2", [condition, left, right], shape)

    def where(self, condition: int, tensor: int) -> int:
        """The tensor where the condition holds, else 0."""
        return self.choose(condition, tensor, self.number(0))

    def cast(self, tensor: int, dtype: DType) -> int:
        """The tensor in another type."""
        numbers = {"in_data_type": _TYPES[self.graph.dtype(tensor)], "out_data_type": _TYPES[dtype]}
        return self.graph.compute("CAST", [tensor], self.shape(tensor), dtype, numbers)

    def reshape(self, tensor: int, shape: Sequence[int]) -> int:
        """The tensor in another shape; itself where it has it."""
        if tuple(shape) == self.shape(tensor):
            return tensor
        operands = [tensor, self.integers(list(shape))]
        options = {"new_shape": list(shape)}
        return self.graph.compute("RESHAPE", operands, shape, self.graph.dtype(tensor), options)

    def transpose(self, tensor: int, order: Sequence[int]) -> int:
        """The tensor with its dimensions in this order; a RESHAPE where only those of one element move."""
        shape = [self.shape(tensor)[axis] for axis in order]
        longer = [axis for axis in order if self.shape(tensor)[axis] != 1]
        if longer == sorted(longer):
            return self.reshape(tensor, shape)
        return self.graph.compute("TRANSPOSE", [tensor, self.integers(list(order))], shape)

    def sum(self, tensor: int, axes: Sequence[int], keep: bool = False) -> int:
        """The sum along axes; only another shape where all of these have one element."""
        shape = self.shape(tensor)
        axes = [axis % len(shape) for axis in axes]
        left = [1 if axis in axes else size for axis, size in enumerate(shape)]
        short = left if keep else [size for axis, size in enumerate(shape) if axis not in axes]
        if all(shape[axis] == 1 for axis in axes):
            return self.reshape(tensor, short)
        return self.graph.compute("SUM", [tensor, self.integers(axes)], short, options={"keep_dims": keep})

    def total(self, tensor: int) -> int:
        """The sum of all elements, a scalar."""
        return self.sum(tensor, range(len(self.shape(tensor))))

    def reduced_to(self, tensor: int, shape: Shape) -> int:
        """The sum over the copies that broadcasting made of an operand of this shape: its gradient."""
        own = self.shape(tensor)
        aligned = (1,) * (len(own) - len(shape)) + shape
        axes = [axis for axis, (size, wanted) in enumerate(zip(own, aligned, strict=True)) if size != wanted]
        return self.reshape(self.sum(tensor, axes, keep=True) if axes else tensor, shape)

    def spread(self, tensor: int, shape: Shape) -> int:
        """The tensor broadcast to a shape; itself where it has it."""
        if self.shape(tensor) == shape:
            return tensor
        return self.graph.compute("BROADCAST_TO", [tensor, self.integers(list(shape))], shape)

    def zeros(self, shape: Shape) -> int:
        """Zeros of float32."""
        return self.filled(shape, 0.0)

    def filled(self, shape: Shape, value: float) -> int:
        """One number everywhere."""
        if math.prod(shape) <= 1:
            return self.graph.constant(np.full(shape, value, np.float32))
        return self.graph.compute("FILL", [self.integers(list(shape)), self.number(value)], shape)

    def slice(self, tensor: int, begin: Sequence[int], size: Sequence[int]) -> int:
        """The part of a tensor from these places, of these sizes."""
        operands = [tensor, self.integers(list(begin)), self.integers(list(size))]
        return self.graph.compute("SLICE", operands, size, self.graph.dtype(tensor))

    def pad(self, tensor: int, around: Sequence[tuple[int, int]]) -> int:
        """The tensor among zeros: elements before and after it along each dimension."""
        if not any(map(any, around)):
            return tensor
        sizes = [size + sum(more) for size, more in zip(self.shape(tensor), around, strict=True)]
        places = self.graph.constant([list(pair) for pair in around], DType.INT32)
        return self.graph.compute("PAD", [tensor, places], sizes)

    def concatenate(self, tensors: Sequence[int], axis: int) -> int:
        """Tensors joined along an axis."""
        shape = list(self.shape(tensors[0]))
        shape[axis] = sum(self.shape(tensor)[axis] for tensor in tensors)
        dtype = self.graph.dtype(tensors[0])
        return (
            tensors[0]
            if len(tensors) == 1
            else self.graph.compute("CONCATENATION", tensors, shape, dtype, {"axis": axis})
        )

    def product(self, left: int, right: int, left_transposed: bool = False, right_transposed: bool = False) -> int:
        """The product of matrices in the last two dimensions, either transposed before."""
        rows, depth = self.shape(left)[-2:][:: -1 if left_transposed else 1]
        inner, columns = self.shape(right)[-2:][:: -1 if right_transposed else 1]
        assert depth == inner
        batch = broadcast(self.shape(left)[:-2], self.shape(right)[:-2])
        options = {"adj_x": left_transposed, "adj_y": right_transposed}
        if depth == 1:
            column = self.reshape(left, (*self.shape(left)[:-2], rows, 1))
            return self.multiply(column, self.reshape(right, (*self.shape(right)[:-2], 1, columns)))
        return self.graph.compute("BATCH_MATMUL", [left, right], (*batch, rows, columns), options=options)
