"""A chain of row-streamed operators as one node of the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tflmgen.explore.streams.push_rows import PUSH
from tflmgen.explore.streams.row_kernels import KernelRanks, RowKernels
from tflmgen.explore.streams.row_order import INPUT, Wiring
from tflmgen.explore.streams.row_slices import row_bytes
from tflmgen.explore.streams.stream_plan import plan_stream
from tflmgen.ir.graph import Module, Node, Op, Value, walk
from tflmgen.ir.kernel import Input, Operand, Output, Overlap, Scratch, Target
from tflmgen.ir.streams import RowStage, RowStream

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


def row_streams(module: Module, target: Target) -> dict[int, RowStream]:
    """Op.id -> RowStream, for each STREAM and PUSH of a module."""
    nodes = (node for function in module.functions for node in walk(function.body))
    streams = [node for node in nodes if isinstance(node, Op) and node.operator in (STREAM, PUSH)]
    single_ops = {op.id: op if op.operator == STREAM else stream_op([op]) for op in streams}
    return {key: row_stream(op, module.constants, target) for key, op in single_ops.items()}


def row_stream(op: Op, constants: Mapping[str, bytes], target: Target) -> RowStream:
    """RowStream of a STREAM that `wire` and `plan_stream` accept."""
    chain: Chain = op.attributes
    kernels = RowKernels(constants, target)
    wiring = wire(chain.ops, kernels)
    plan = plan_stream(wiring, kernels, chain.ranks) if wiring is not None else None
    assert wiring is not None
    assert plan is not None
    source = op.inputs[0]
    assert source is not None
    pushed = chain.ops[0].operator == PUSH
    may_overlap = not pushed and plan.distance < op.outputs[0].type.bytes
    overlaps = (Overlap(0, 0, plan.distance),) if may_overlap else ()
    operands: tuple[Operand, ...] = (Input(0), Scratch(plan.work), Output(0))
    error = "TFLMGEN_MORE" if pushed else ""
    stages = _stages(wiring)
    return RowStream(operands, overlaps, plan.macs, error, stages, plan.calls, plan.order, row_bytes(source))


def _stages(wiring: Wiring) -> tuple[RowStage, ...]:
    stages = []
    for operator, sources in zip(wiring.operators, wiring.sources, strict=True):
        ticks = range(operator.ticks)
        rows_written = tuple(int(not operator.reduces or tick == operator.ticks - 1) for tick in ticks)
        size = row_bytes(operator.op.outputs[0])
        stages.append(RowStage(operator.op, operator.data, sources, operator.needs, rows_written, size))
    return tuple(stages)
