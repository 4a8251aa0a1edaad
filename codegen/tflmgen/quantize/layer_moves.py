"""Constants that a layer's results are multiplied by or added to, in the layer's weights and bias.

Recurrent cells compute W x + U h + b, and batch normalisation leaves a multiplication and a sum behind a convolution
wherever a view stands between the two, as in layers of one dimension. In integers each would be an operator with a type
and a rounding of its own; as part of weights it costs nothing, and as part of a bias it is exact to a step of the
layer's accumulator.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.model_graph import SubGraphRewrite, TensorUses, constant_values, fused_activation
from tflmgen.frontend.tflite import FileOperator, Model, SubGraph, options_with_defaults
from tflmgen.ir import DType
from tflmgen.kernels import traits_of
from tflmgen.kernels.numeric import is_per_channel
from tflmgen.quantize.integer_forms import bias_operand, weight_operands


def with_moved_layers(model: Model, kept: Collection[int]) -> Model:
    """The Model with factors and addends of layers' results in the layers, in whatever order they follow.

    `kept` subgraphs stay as they are. Each value on the way from the layer to the constant has one reader, so that
    nothing else changes.
    """
    graphs = tuple(graph if graph.index in kept else _with_moves(graph) for graph in model.subgraphs)
    return replace(model, subgraphs=graphs)


def _with_moves(graph: SubGraph) -> SubGraph:
    """Biases move until none does, then factors, and so on until nothing changes."""
    before = None
    while graph is not before:
        before = graph
        for move in (_with_bias, _with_factor):
            while (moved := next(filter(None, (move(graph, op) for op in graph.operators)), None)) is not None:
                graph = moved
    return graph


def _with_bias(graph: SubGraph, last: FileOperator) -> SubGraph | None:
    """The subgraph without an ADD of a constant; None if it is another operator, or no product takes the constant."""
    if traits_of(last.name).adds != 1:
        return None
    for tensor, constant in _operands(graph, last):
        bias, search = graph.tensors[constant], _ProductSearch(graph, tensor)
        product = search.product(tensor)
        is_row = bias.shape[-1:] in ((), (1,), (search.units,)) and math.prod(bias.shape[:-1]) == 1
        if product is None or not is_row:
            product = search.layer(tensor, bias.shape)
        if product is None:
            continue
        places, place = weight_operands(product, graph), bias_operand(product)
        assert places is not None
        units = graph.tensors[product.inputs[places.weights]].shape[places.axis]
        values = np.zeros(units) if place is None else _values(graph, product, place).reshape(-1)
        rewrite = SubGraphRewrite(graph)
        total = values + constant_values(bias).reshape(-1)
        added = rewrite.constant(f"{bias.name}_bias", total, DType.FLOAT32)
        return _absorbed(rewrite, last, replace(product, inputs=(*product.inputs[: places.bias], added)))
    return None


def _with_factor(graph: SubGraph, last: FileOperator) -> SubGraph | None:
    """The subgraph without a MUL by a constant; None if it is another operator, no product takes the constant, or
    float32 cannot hold the weights.
    """
    if traits_of(last.name).multiplies != 1:
        return None
    for tensor, constant in _operands(graph, last):
        product = _ProductSearch(graph, tensor).layer(tensor, graph.tensors[constant].shape)
        if product is None:
            continue
        places, place = weight_operands(product, graph), bias_operand(product)
        assert places is not None
        weights = _values(graph, product, places.weights)
        factors = constant_values(graph.tensors[constant]).reshape(-1).astype(np.float64)
        shape = [weights.shape[places.axis] if axis == places.axis else 1 for axis in range(weights.ndim)]
        arrays = {places.weights: weights * np.broadcast_to(factors, shape[places.axis]).reshape(shape)}
        if place is not None:
            arrays[place] = _values(graph, product, place).reshape(-1) * np.broadcast_to(factors, shape[places.axis])
        if not all(np.isfinite(array.astype(np.float32)).all() for array in arrays.values()):
            return None
        rewrite, inputs = SubGraphRewrite(graph), list(product.inputs)
        for operand, array in arrays.items():
            source = graph.tensors[inputs[operand]]
            scaled = array.reshape(source.shape)
            inputs[operand] = rewrite.constant(f"{source.name}_scaled", scaled, DType.FLOAT32)
        return _absorbed(rewrite, last, replace(product, inputs=tuple(inputs)))
    return None


def _operands(graph: SubGraph, last: FileOperator) -> list[tuple[int, int]]:
    """Operands of an operator as (value, constant of float32), where the result has the value's shape."""
    result = graph.tensors[last.outputs[0]].shape
    pairs = []
    for tensor, constant in (last.inputs, last.inputs[::-1]):
        entry = graph.tensors[constant]
        if entry.data is not None and entry.dtype is DType.FLOAT32 and graph.tensors[tensor].shape == result != ():
            pairs.append((tensor, constant))
    return pairs


def _values(graph: SubGraph, op: FileOperator, place: int) -> NDArray[Any]:
    return constant_values(graph.tensors[op.inputs[place]])


class _ProductSearch:
    """The product among the operands of a sum that has a row of `units` results for each row of a value."""

    def __init__(self, graph: SubGraph, tensor: int) -> None:
        self._graph, self.units = graph, graph.tensors[tensor].shape[-1]
        self._uses = TensorUses.of(graph)

    def _producer(self, tensor: int) -> FileOperator | None:
        """The operator that computes a value; None if it has an activation, or the value is not read exactly once."""
        op = self._uses.sole_producer(tensor)
        return None if op is None or fused_activation(op) else op

    def layer(self, tensor: int, constant: Sequence[int]) -> FileOperator | None:
        """The product, with float weights of its own, that a value is another shape of; None if a constant of this
        shape does not meet its channels there.
        """
        op = self._producer(tensor)
        while op is not None and traits_of(op.name).view:
            op = self._producer(op.inputs[0])
        places = None if op is None else weight_operands(op, self._graph)
        if op is None or places is None:
            return None
        weights = op.inputs[places.weights]
        is_own = len(self._uses.readers[weights]) == 1 and self._graph.tensors[weights].dtype is DType.FLOAT32
        units, shape = self._graph.tensors[weights].shape[places.axis], self._graph.tensors[tensor].shape
        is_met = math.prod(constant) == 1 or is_per_channel(constant, shape, units)
        return op if self._has_constant_bias(op) and is_own and is_met else None

    def product(self, tensor: int) -> FileOperator | None:
        """The first product whose bias is added to every element of a value along its last dimension."""
        op = self._producer(tensor)
        if op is None or self._graph.tensors[tensor].shape[-1:] != (self.units,):
            return None
        if weight_operands(op, self._graph) is not None:
            return op if self._has_constant_bias(op) else None
        if traits_of(op.name).view:
            return self.product(op.inputs[0])
        if traits_of(op.name).adds == 1:
            return next(filter(None, map(self.product, op.inputs)), None)
        return None

    def _has_constant_bias(self, op: FileOperator) -> bool:
        """Whether the bias, if there is one, is a constant."""
        place = bias_operand(op)
        return place is None or self._graph.tensors[op.inputs[place]].data is not None


def _absorbed(rewrite: SubGraphRewrite, last: FileOperator, product: FileOperator) -> SubGraph:
    """The subgraph without `last`, whose part this product has taken over.

    What computed the operand of `last` has its result; the activation goes to the operator before the views.
    """
    producers = rewrite.uses().producers
    source = next(producers[t] for t in last.inputs if t in producers)
    holder = source
    while traits_of(holder.name).view:
        holder = producers[holder.inputs[0]]

    def absorb(rewrite: SubGraphRewrite, original: FileOperator) -> bool:
        if original is last:
            return True
        op = product if original.index == product.index else original
        if original is source:
            op = replace(op, outputs=last.outputs)
        if original is holder and (activation := fused_activation(last)):
            options = {**(op.options or {}), "fused_activation_function": activation}
            op = replace(op, options=options_with_defaults(op.name, options))
        if op is not original:
            rewrite.operators.append(rewrite.versioned(op))
        return op is not original

    rewrite.apply(absorb)
    return rewrite.result()
