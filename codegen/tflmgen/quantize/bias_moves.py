"""Constants that are added to sums of products, as biases of the products.

Recurrent cells compute W x + U h + b. In integers the last sum would be an operator with a type and a rounding of its
own; as part of a product's bias it costs nothing, and is exact to a step of the product's accumulator.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from tflmgen.frontend import (
    Model,
    Operator,
    SubGraph,
    Tensor,
    constant_values,
    contents,
    operator_version,
    options_with_defaults,
)
from tflmgen.ir import DType
from tflmgen.kernels import is_per_channel, traits_of
from tflmgen.quantize.integer_forms import bias_operand, weight_operands

_ACTIVATION = "fused_activation_function"


def with_moved_biases(model: Model, kept: Collection[int] = ()) -> Model:
    """The Model whose products have the constants as biases that are added to them; `kept` subgraphs stay as they are.

    Each value on the way from the product to the constant has one reader, so that nothing else changes.
    """
    graphs = tuple(g if g.index in kept else _with_moved_biases(g) for g in model.subgraphs)
    return replace(model, subgraphs=graphs)


def _with_moved_biases(graph: SubGraph) -> SubGraph:
    while (moved := next(filter(None, (_moved(graph, op) for op in graph.operators)), None)) is not None:
        graph = moved
    return graph


def _moved(graph: SubGraph, last: Operator) -> SubGraph | None:
    """The subgraph without an ADD of a constant; None if it is another operator, or no product takes the constant."""
    if traits_of(last.name).adds != 1:
        return None
    for tensor, constant in (last.inputs, last.inputs[::-1]):
        bias, values, result = (graph.tensors[t] for t in (constant, tensor, last.outputs[0]))
        if bias.data is None or bias.dtype is not DType.FLOAT32 or values.shape != result.shape or not values.shape:
            continue
        search = ProductSearch(graph, values.shape[-1])
        product = search.product(tensor)
        is_row = bias.shape[-1:] in ((), (1,), (search.units,)) and math.prod(bias.shape[:-1]) == 1
        if product is None or not is_row:
            product = search.layer(tensor, bias.shape)
        if product is not None:
            return _with_bias(graph, last, product, constant)
    return None


class ProductSearch:
    """The product among the operands of a sum that has a row of `units` results for each row of the sum."""

    def __init__(self, graph: SubGraph, units: int) -> None:
        self._graph, self.units = graph, units
        self._producers = {tensor: op for op in graph.operators for tensor in op.outputs}
        self._uses = Counter([*graph.outputs, *(t for op in graph.operators for t in op.inputs)])

    def producer(self, tensor: int) -> Operator | None:
        """The operator that computes a value; None if it has an activation, or the value is not read exactly once."""
        op = self._producers.get(tensor)
        is_plain = op is not None and not (op.options or {}).get(_ACTIVATION)
        return op if is_plain and self._uses[tensor] == 1 else None

    def layer(self, tensor: int, constant: Sequence[int]) -> Operator | None:
        """The product, with float weights of its own, that a value is another shape of; None if a constant of this
        shape does not meet its channels there.
        """
        op = self.producer(tensor)
        while op is not None and traits_of(op.name).view:
            op = self.producer(op.inputs[0])
        places = None if op is None else weight_operands(op, self._graph)
        if op is None or places is None:
            return None
        weights, bias = op.inputs[places.weights], bias_operand(op)
        is_constant = bias is None or self._graph.tensors[op.inputs[bias]].data is not None
        is_own = self._uses[weights] == 1 and self._graph.tensors[weights].dtype is DType.FLOAT32
        units, shape = self._graph.tensors[weights].shape[places.axis], self._graph.tensors[tensor].shape
        is_met = math.prod(constant) == 1 or is_per_channel(constant, shape, units)
        return op if is_constant and is_own and is_met else None

    def product(self, tensor: int) -> Operator | None:
        """The first product whose bias is added to every element of a value along its last dimension."""
        op = self.producer(tensor)
        if op is None or self._graph.tensors[tensor].shape[-1:] != (self.units,):
            return None
        if weight_operands(op, self._graph) is not None:
            place = bias_operand(op)
            is_constant = place is None or self._graph.tensors[op.inputs[place]].data is not None
            return op if is_constant else None
        if traits_of(op.name).view:
            return self.product(op.inputs[0])
        if traits_of(op.name).adds == 1:
            return next(filter(None, map(self.product, op.inputs)), None)
        return None


def _with_bias(graph: SubGraph, last: Operator, product: Operator, constant: int) -> SubGraph:
    """The subgraph in which `product` adds the constant that `last` did."""
    places = weight_operands(product, graph)
    assert places is not None
    units = graph.tensors[product.inputs[places.weights]].shape[places.axis]
    before = bias_operand(product)
    values = np.zeros(units) if before is None else constant_values(graph.tensors[product.inputs[before]]).reshape(-1)
    values = values + constant_values(graph.tensors[constant]).reshape(-1)
    data, name = contents(values, DType.FLOAT32), f"{graph.tensors[constant].name}_bias"
    bias = Tensor.added(len(graph.tensors), name, DType.FLOAT32, (units,), data)
    with_bias = replace(product, inputs=(*product.inputs[: places.bias], bias.index))
    return absorbed(replace(graph, tensors=(*graph.tensors, bias)), last, with_bias)


def absorbed(graph: SubGraph, last: Operator, product: Operator) -> SubGraph:
    """The subgraph without `last`, whose part this product has taken over.

    What computed the operand of `last` has its result; the activation goes to the operator before the views.
    """
    producers = {tensor: op for op in graph.operators for tensor in op.outputs}
    source = next(producers[t] for t in last.inputs if t in producers)
    holder = source
    while traits_of(holder.name).view:
        holder = producers[holder.inputs[0]]
    operators = []
    for original in graph.operators:
        op = product if original.index == product.index else original
        if op.index == last.index:
            continue
        if op.index == source.index:
            op = replace(op, outputs=last.outputs)
        if op.index == holder.index and _activation(last):
            op = replace(
                op, options=options_with_defaults(op.name, {**(op.options or {}), _ACTIVATION: _activation(last)})
            )
        if op is not original:
            kinds = [None if i < 0 else graph.tensors[i] for i in op.inputs], [graph.tensors[i] for i in op.outputs]
            op = replace(op, version=operator_version(op.name, *kinds, op.options))
        operators.append(op)
    return replace(graph, operators=tuple(operators))


def _activation(op: Operator) -> int:
    return int((op.options or {}).get(_ACTIVATION, 0))
