"""A chain of operators as one node of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tflmgen.explore.streams.push_rows import PUSH
from tflmgen.explore.streams.row_kernels import Choice, RowKernels
from tflmgen.explore.streams.row_order import INPUT, Wiring
from tflmgen.ir import Node, Op, Value

STREAM = "STREAM"
"""The operator's name; no file has it."""


@dataclass(frozen=True, slots=True)
class Chain:
    """The attributes of a STREAM: its operators in order. Its inputs are the rows' source, then the constants.

    choice: which kernel each operator has.
    """

    ops: tuple[Op, ...]
    choice: Choice


def wire(ops: Sequence[Op], kernels: RowKernels) -> Wiring | None:
    """The operators as a stream; None where one cannot be computed by rows, or they take rows from several values."""
    made = {op.outputs[0]: stage for stage, op in enumerate(ops)}
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
            tensors.append(made.get(value, INPUT))
            if value not in made:
                entering.add(value)
        operators.append(operator)
        sources.append(tuple(tensors))
    return Wiring(tuple(operators), tuple(sources)) if len(entering) == 1 else None


def waits_for_rows(node: Node) -> bool:
    """Whether a node takes a row of an input in each invoke."""
    if not isinstance(node, Op) or node.operator not in (PUSH, STREAM):
        return False
    return node.operator == PUSH or node.attributes.ops[0].operator == PUSH


def stream_op(ops: Sequence[Op], choice: Choice = ()) -> Op:
    """The STREAM of some operators, which `wire` accepts."""
    made = {op.outputs[0] for op in ops}
    read = dict.fromkeys(v for op in ops for v in op.inputs if v is not None and v not in made)
    inputs = sorted(read, key=lambda v: v.is_constant)
    last = ops[-1]
    return Op(last.id, STREAM, tuple(inputs), last.outputs, Chain(tuple(ops), choice or (0,) * len(ops)), last.origin)
