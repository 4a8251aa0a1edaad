"""Constants that are added to sums of products, as biases of the products.

Recurrent cells compute W x + U h + b. In integers the last sum would be an operator with a type and a rounding of its
own; as part of a product's bias it costs nothing, and is exact to a step of the product's accumulator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
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
from tflmgen.kernels import traits_of
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
        search = _Search(graph, values.shape[-1])
        source, product = search.producer(tensor), search.product(tensor)
        if source is None or product is None or traits_of(source.name).view:
            continue
        if bias.shape[-1:] in ((), (1,), (search.units,)) and np.prod(bias.shape[:-1], dtype=int) == 1:
            return _with_bias(graph, last, source, product, constant)
    return None


class _Search:
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


def _with_bias(graph: SubGraph, last: Operator, source: Operator, product: Operator, constant: int) -> SubGraph:
    """The subgraph in which `product` adds the constant, and `source` computes what `last` did."""
    places = weight_operands(product, graph)
    assert places is not None
    units = graph.tensors[product.inputs[places.weights]].shape[places.axis]
    before = bias_operand(product)
    values = np.zeros(units) if before is None else constant_values(graph.tensors[product.inputs[before]]).reshape(-1)
    values = values + constant_values(graph.tensors[constant]).reshape(-1)
    data, name = contents(values, DType.FLOAT32), f"{graph.tensors[constant].name}_bias"
    bias = Tensor.added(len(graph.tensors), name, DType.FLOAT32, (units,), data)
    tensors = (*graph.tensors, bias)
    operators = []
    for op in graph.operators:
        inputs, outputs, options = op.inputs, op.outputs, op.options
        if op.index == last.index:
            continue
        if op.index == product.index:
            inputs = (*inputs[: places.bias], bias.index)
        if op.index == source.index:
            outputs = last.outputs
            options = options_with_defaults(op.name, {**(options or {}), _ACTIVATION: _activation(last)})
        kinds = [None if i < 0 else tensors[i] for i in inputs], [tensors[i] for i in outputs]
        changed = replace(op, inputs=inputs, outputs=outputs, options=options)
        version = op.version if changed == op else operator_version(op.name, *kinds, options)
        operators.append(replace(changed, version=version))
    return replace(graph, tensors=tensors, operators=tuple(operators))


def _activation(op: Operator) -> int:
    return int((op.options or {}).get(_ACTIVATION, 0))
