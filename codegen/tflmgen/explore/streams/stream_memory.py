"""Memory of a block at each operator, and with some of its operators fused for row streaming."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tflmgen.explore.streams.chain import wire
from tflmgen.explore.streams.row_kernels import KernelRanks, RowKernels
from tflmgen.explore.streams.stream_plan import estimates
from tflmgen.ir.graph import Block, Node, Op, Value, blocks_of, operands_of, uses_in
from tflmgen.ir.kernel import Scratch
from tflmgen.ir.streams import Called
from tflmgen.kernels import Selection, traits_of
from tflmgen.kernels.costs import TUNING, cycles_of


@dataclass(frozen=True, slots=True)
class Segment:
    """Nodes [first, end) of a block, fused for row streaming if there are several.

    bytes  peak of the live bytes during the segment
    cost   extra estimated cycles of row streaming; 0 for a single operator
    ranks  rank of each operator's kernel; empty for a single operator
    """

    first: int
    end: int
    bytes: int
    cost: int = 0
    ranks: KernelRanks = ()


class BlockLiveness:
    """First and last use of a block's values, as node indices; a view counts as its source."""

    def __init__(self, block: Block) -> None:
        self.nodes = block.nodes
        self._root: dict[Value, Value] = {}
        self.defined: dict[Value, int] = {}
        self.last: dict[Value, int] = {}
        for index, node in enumerate(block.nodes):
            if isinstance(node, Op) and traits_of(node.operator).view and node.inputs[0] is not None:
                self._root[node.outputs[0]] = self.root(node.inputs[0])
            for value in node.outputs:
                self.defined.setdefault(self.root(value), index)
            for value in _read(node):
                self._use(value, index)
        for value in block.results:
            self._use(value, len(block.nodes))

    def _use(self, value: Value, index: int) -> None:
        if not value.is_constant:
            root = self.root(value)
            self.defined.setdefault(root, -1)
            self.last[root] = index

    def root(self, value: Value) -> Value:
        """The value whose bytes this one is a view of; itself if it is no view."""
        return self._root.get(value, value)

    def through(self, first: int, end: int) -> int:
        """Bytes of the values defined before node `first` and read after node `end` - 1."""
        return sum(
            value.type.bytes for value, index in self.last.items() if index >= end and self.defined[value] < first
        )

    def dies(self, value: Value, end: int) -> bool:
        """Whether nothing after node `end` - 1 reads a value."""
        return self.last.get(self.root(value), -1) < end


def single(live: BlockLiveness, index: int, selection: Selection) -> Segment:
    """Segment of a single node. Control flow counts with its operands and results; its regions are separate blocks."""
    node = live.nodes[index]
    roots = dict.fromkeys(live.root(v) for v in _read(node) if not v.is_constant)
    inputs = [v for v in roots if live.dies(v, index + 1)]
    outputs = [v for v in node.outputs if live.root(v) == v]
    total = live.through(index, index + 1) + sum(v.type.bytes for v in (*inputs, *outputs))
    kernel = selection.of(node) if isinstance(node, Op) else None
    if isinstance(kernel, Called):
        total += sum(o.bytes for o in kernel.operands if isinstance(o, Scratch))
        total -= max((_saved(node, o.input, o.output, o.distance, inputs) for o in kernel.overlaps), default=0)
    return Segment(index, index + 1, total)


def _saved(node: Node, source: int, result: int, distance: int, dying: Sequence[Value]) -> int:
    """Bytes that an output shares with an overlapping input."""
    value = node.inputs[source] if isinstance(node, Op) else None
    if value is None or value not in dying:
        return 0
    into, out = value.type.bytes, node.outputs[result].type.bytes
    return max(0, into + out - max(into + distance, out))


def streams(
    live: BlockLiveness, kernels: RowKernels, limit: int = sys.maxsize, selection: Selection | None = None
) -> Iterator[Segment]:
    """Segments of at least two consecutive operators of a block that need less than `limit` bytes.

    Segments with slower kernels are included if they need less memory than those with faster ones.

    selection  kernels whose cycles costs are relative to
    """
    for first in range(len(live.nodes)):
        for end in range(first + 1, len(live.nodes) + 1):
            node = live.nodes[end - 1]
            if not isinstance(node, Op) or kernels.operator(node) is None:
                break
            if end - first > 1 and live.through(first, end) < limit:
                yield from (
                    segment for segment in _streams(live, first, end, kernels, selection) if segment.bytes < limit
                )


def _streams(
    live: BlockLiveness, first: int, end: int, kernels: RowKernels, selection: Selection | None
) -> Iterator[Segment]:
    ops = [node for node in live.nodes[first:end] if isinstance(node, Op)]
    wiring = wire(ops, kernels) if all(live.dies(op.outputs[0], end) for op in ops[:-1]) else None
    if wiring is None:
        return
    inner = {op.outputs[0] for op in ops}
    source = next(v for op in ops for v in op.inputs if v is not None and not v.is_constant and v not in inner)
    input_bytes, output_bytes = live.root(source).type.bytes, ops[-1].outputs[0].type.bytes
    calls = TUNING.row_call_cycles * sum(operator.ticks for operator in wiring.operators)
    separate_cycles = sum(cycles_of(selection.kernels[op.id]) for op in ops) if selection is not None else 0
    for estimate in estimates(wiring, kernels):
        shared_bytes = max(input_bytes + estimate.distance, output_bytes) if live.dies(source, end) else output_bytes
        total = live.through(first, end) + estimate.work + min(shared_bytes, input_bytes + output_bytes)
        yield Segment(first, end, total, calls + max(0, estimate.cycles - separate_cycles), estimate.ranks)


def _read(node: Node) -> Sequence[Value]:
    """Values that a node and its regions read."""
    return (*operands_of(node), *_inner(node))


def _inner(node: Node) -> Iterator[Value]:
    for region in blocks_of(node):
        yield from uses_in(region)
