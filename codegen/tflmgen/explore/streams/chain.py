"""A chain of row-streamed operators as one node of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tflmgen.explore.streams.push_rows import PUSH
from tflmgen.explore.streams.row_kernels import KernelRanks, RowKernels
from tflmgen.explore.streams.row_order import INPUT, Wiring
from tflmgen.ir import Node, Op, Value

STREAM = "STREAM"
"""Name of the operator, which no file contains."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Attributes of a STREAM: its operators in order. Its inputs are the streamed input, then the constants.

    ranks  rank of each operator's kernel
    """

    ops: tuple[Op, ...]
    ranks: KernelRanks


def wire(ops: Sequence[Op], kernels: RowKernels) -> Wiring | None:
    """Wiring of a chain; None if an operator cannot be row-streamed, or if rows come from several values."""
    stages = {op.outputs[0]: stage for stage, op in enumerate(ops)}
    operators, sources = [], []
    entering: set[Value] = set()
    for stage, op in enumerate(ops):
        operator = kernels.operator(op)
        if operator is None or (operator.reduces and stage < len(ops) - 1):
            return None
        tensors = []
        for index in operator.data:
            value = op.inputs[index]
            assert value is not None
            tensors.append(stages.get(value, INPUT))
            if value not in stages:
                entering.add(value)
        operators.append(operator)
        sources.append(tuple(tensors))
    return Wiring(tuple(operators), tuple(sources)) if len(entering) == 1 else None


def waits_for_rows(node: Node) -> bool:
    """Whether a node takes one row of an input per invoke."""
    if not isinstance(node, Op) or node.operator not in (PUSH, STREAM):
        return False
    return node.operator == PUSH or node.attributes.ops[0].operator == PUSH


def stream_op(ops: Sequence[Op], ranks: KernelRanks = ()) -> Op:
    """The STREAM of operators that `wire` accepts."""
    inner = {op.outputs[0] for op in ops}
    read = dict.fromkeys(v for op in ops for v in op.inputs if v is not None and v not in inner)
    inputs = sorted(read, key=lambda v: v.is_constant)
    last = ops[-1]
    return Op(last.id, STREAM, tuple(inputs), last.outputs, Chain(tuple(ops), ranks or (0,) * len(ops)), last.origin)
