"""Constants that a layer's results are multiplied by, as factors of its weights.

Batch normalisation leaves a multiplication and a sum behind a convolution wherever a view stands between the two, as
in layers of one dimension. In integers each would be an operator with a rounding of its own.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from tflmgen.frontend import Model, Operator, SubGraph, Tensor, constant_values, contents
from tflmgen.ir import DType
from tflmgen.quantize.bias_moves import ProductSearch, absorbed
from tflmgen.quantize.integer_forms import bias_operand, weight_operands


def with_moved_factors(model: Model, kept: Collection[int] = ()) -> Model:
    """The Model whose products have the constants in their weights that their results are multiplied by.

    `kept` subgraphs stay as they are. Weights that something else reads stay, too.
    """
    graphs = tuple(g if g.index in kept else _with_moved_factors(g) for g in model.subgraphs)
    return replace(model, subgraphs=graphs)


def _with_moved_factors(graph: SubGraph) -> SubGraph:
    while (moved := next(filter(None, (_moved(graph, op) for op in graph.operators)), None)) is not None:
        graph = moved
    return graph


def _moved(graph: SubGraph, last: Operator) -> SubGraph | None:
    """The subgraph without a MUL by a constant; None if it is another operator, or no product takes the constant."""
    if last.name != "MUL":
        return None
    for tensor, constant in (last.inputs, last.inputs[::-1]):
        factor, values, result = (graph.tensors[t] for t in (constant, tensor, last.outputs[0]))
        if factor.data is None or factor.dtype is not DType.FLOAT32 or values.shape != result.shape or not values.shape:
            continue
        product = ProductSearch(graph, values.shape[-1]).layer(tensor, factor.shape)
        if product is not None:
            return _with_factor(graph, last, product, constant)
    return None


def _with_factor(graph: SubGraph, last: Operator, product: Operator, constant: int) -> SubGraph | None:
    """The subgraph in which the product's weights and bias have the factor; None if float32 cannot hold them."""
    places = weight_operands(product, graph)
    assert places is not None
    weights = graph.tensors[product.inputs[places.weights]]
    units = weights.shape[places.axis]
    factors = np.broadcast_to(constant_values(graph.tensors[constant]).reshape(-1).astype(np.float64), (units,))
    shape = [1] * len(weights.shape)
    shape[places.axis] = units
    place = bias_operand(product)
    arrays = {places.weights: constant_values(weights) * factors.reshape(shape)}
    if place is not None:
        arrays[place] = constant_values(graph.tensors[product.inputs[place]]).reshape(-1) * factors
    if not all(np.isfinite(array.astype(np.float32)).all() for array in arrays.values()):
        return None
    tensors, inputs = list(graph.tensors), list(product.inputs)
    for operand, array in arrays.items():
        source = graph.tensors[inputs[operand]]
        data = contents(array, DType.FLOAT32)
        inputs[operand] = len(tensors)
        tensors.append(Tensor.added(len(tensors), f"{source.name}_scaled", DType.FLOAT32, source.shape, data))
    return absorbed(replace(graph, tensors=tuple(tensors)), last, replace(product, inputs=tuple(inputs)))
