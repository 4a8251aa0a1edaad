"""Lowers a STREAM to a RowStream: one call that computes a chain of operators row by row."""

from __future__ import annotations

from collections.abc import Mapping

from tflmgen.explore.streams.chain import STREAM, Chain, stream_op, wire
from tflmgen.explore.streams.push_rows import PUSH
from tflmgen.explore.streams.row_kernels import RowKernels
from tflmgen.explore.streams.row_order import Wiring
from tflmgen.explore.streams.row_slices import row_bytes
from tflmgen.explore.streams.stream_plan import plan_stream
from tflmgen.ir import Input, Module, Op, Operand, Output, Overlap, RowStage, RowStream, Scratch, Target, walk


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
