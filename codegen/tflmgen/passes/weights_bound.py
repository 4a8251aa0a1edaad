"""A lower bound of the bytes of a module's weights, from the graph alone: no kernel is chosen, nothing is packed."""

from __future__ import annotations

from tflmgen.ir import Module, Op, walk
from tflmgen.kernels import TABLE, traits_of


def least_weights(module: Module) -> int:
    """Bytes of all constant filters, matrices and tables that rows are taken of, as the file has them.

    Packed, they take as many bytes or more. Equal ones count once.
    """
    sizes: dict[str, int] = {}
    for function in module.functions:
        for node in walk(function.body):
            place = _weights_of(node) if isinstance(node, Op) else None
            value = node.inputs[place] if isinstance(node, Op) and place is not None else None
            if value is not None and value.constant is not None:
                sizes[value.constant] = len(module.constants[value.constant])
    return sum(sizes.values())


def _weights_of(op: Op) -> int | None:
    return 1 if traits_of(op.operator).channel_axis is not None else TABLE.get(op.operator)
