"""Sizes of layers from their shapes: multiply-accumulates, padding included, and bytes of weights at least."""

from __future__ import annotations

from collections import Counter

from tflmgen.ir.graph import Module, Op, Value, walk
from tflmgen.kernels import traits_of
from tflmgen.kernels.operators import BatchMatmulAttributes
from tflmgen.passes.def_use import input_at


def macs_of(op: Op) -> int:
    """Multiply-accumulates of a layer with weights, or of a product of matrices; 0 for any other operator."""
    left = op.inputs[0] if op.inputs else None
    if isinstance(op.attributes, BatchMatmulAttributes) and left is not None:
        axes = op.attributes.left_axes or range(len(left.type.max_shape))
        return op.outputs[0].type.elements * left.type.max_shape[axes[-2 if op.attributes.adjoint_left else -1]]
    traits = traits_of(op.operator)
    weights = input_at(op, traits.roles.weights) if traits.channel_axis is not None else None
    if weights is None:
        return 0
    output = op.outputs[0].type
    return output.elements * weights.type.elements // output.max_shape[-1]


def macs_by_operator(module: Module) -> Counter[tuple[int, int]]:
    """(subgraph, operator) of the file -> multiply-accumulates of a layer with weights, summed over its copies."""
    macs: Counter[tuple[int, int]] = Counter()
    for function in module.functions:
        for node in walk(function.body):
            if isinstance(node, Op):
                macs[node.origin.subgraph, node.origin.operator] += macs_of(node)
    return macs


def least_weights(module: Module) -> int:
    """Bytes of all constant filters, matrices and tables that rows are taken of, as the file has them.

    Packed, they take as many bytes or more. Equal ones count once.
    """
    sizes: dict[str, int] = {}
    for function in module.functions:
        for node in walk(function.body):
            value = _weights_of(node) if isinstance(node, Op) else None
            if value is not None and value.constant is not None:
                sizes[value.constant] = len(module.constants[value.constant])
    return sum(sizes.values())


def _weights_of(op: Op) -> Value | None:
    traits = traits_of(op.operator)
    return input_at(op, traits.roles.table if traits.channel_axis is None else traits.roles.weights)
