"""Multiply-accumulates of operators from their shapes, padding included."""

from __future__ import annotations

from collections import Counter

from tflmgen.ir import Module, Op, walk
from tflmgen.kernels import BatchMatmulAttributes, traits_of


def macs_of(op: Op) -> int:
    """Multiply-accumulates of a layer with weights, or of a product of matrices; 0 for any other operator."""
    left = op.inputs[0] if op.inputs else None
    if isinstance(op.attributes, BatchMatmulAttributes) and left is not None:
        axes = op.attributes.left_axes or range(len(left.type.max_shape))
        return op.outputs[0].type.elements * left.type.max_shape[axes[-2 if op.attributes.adjoint_left else -1]]
    weights = op.inputs[1] if traits_of(op.operator).channel_axis is not None else None
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
