"""What a block needs at each operator, and what it would need with some of its operators as one stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tflmgen.graph import Block, Node, Op, Value, blocks_of, operands_of, uses_in
from tflmgen.kernel import Kernel, Scratch
from tflmgen.ops.reshape import VIEWS
from tflmgen.select import Selection
from tflmgen.streams.chain import wire
from tflmgen.streams.plan import estimate_stream
from tflmgen.streams.row_kernels import RowKernels


@dataclass(frozen=True, slots=True)
class Segment:
    """Nodes [first, end) of a block, as a stream where there are more than one; the most bytes that live meanwhile.

    rows: how many rows it makes one by one; 0 where it is an operator as it is. frugal: with kernels that need little
    scratch.
    """

    first: int
    end: int
    bytes: int
    rows: int = 0
    frugal: bool = False

    @property
    def cost(self) -> int:
        """What it is to be avoided by: calls for single rows, the more so with slower kernels."""
        return self.rows * 2 if self.frugal else self.rows


class BlockLiveness:
    """First and last use of the values of one block, in indices of its nodes; views are other names of one value."""

    def __init__(self, block: Block) -> None:
        self.nodes = block.nodes
        self._root: dict[Value, Value] = {}
        self.defined: dict[Value, int] = {}
        self.last: dict[Value, int] = {}
        for index, node in enumerate(block.nodes):
            if isinstance(node, Op) and node.operator in VIEWS and node.inputs[0] is not None:
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
        return self._root.get(value, value)

    def through(self, first: int, end: int) -> int:
        """Bytes of the values that are there before node `first` and still needed after node `end` - 1."""
        return sum(value.type.bytes for value, at in self.last.items() if at >= end and self.defined[value] < first)

    def dies(self, value: Value, end: int) -> bool:
        """Whether nothing after node `end` - 1 reads a value."""
        return self.last.get(self.root(value), -1) < end


def single(live: BlockLiveness, index: int, selection: Selection) -> Segment:
    """One operator as it is. Control flow counts with what enters and leaves it; its inside is a block of its own."""
    node = live.nodes[index]
    roots = dict.fromkeys(live.root(v) for v in _read(node) if not v.is_constant)
    inputs = [v for v in roots if live.dies(v, index + 1)]
    outputs = [v for v in node.outputs if live.root(v) == v]
    total = live.through(index, index + 1) + sum(v.type.bytes for v in (*inputs, *outputs))
    kernel = selection.of(node) if isinstance(node, Op) else None
    if isinstance(kernel, Kernel):
        total += sum(o.bytes for o in kernel.operands if isinstance(o, Scratch))
        total -= max((_saved(node, o.input, o.output, o.distance, inputs) for o in kernel.overlaps), default=0)
    return Segment(index, index + 1, total)


def _saved(node: Node, source: int, result: int, distance: int, dying: Sequence[Value]) -> int:
    """Bytes that an output shares with an input that it may overlap."""
    value = node.inputs[source] if isinstance(node, Op) else None
    if value is None or value not in dying:
        return 0
    into, out = value.type.bytes, node.outputs[result].type.bytes
    return max(0, into + out - max(into + distance, out))


def streams(live: BlockLiveness, kernels: RowKernels) -> Iterator[Segment]:
    """All streams of two or more operators of a block that follow each other."""
    for first in range(len(live.nodes)):
        for end in range(first + 1, len(live.nodes) + 1):
            node = live.nodes[end - 1]
            if not isinstance(node, Op) or kernels.operator(node) is None:
                break
            if end - first > 1:
                fast, frugal = (_stream(live, first, end, kernels, choice) for choice in (False, True))
                if fast is not None:
                    yield fast
                if fast is not None and frugal is not None and frugal.bytes < fast.bytes:
                    yield frugal


def _stream(live: BlockLiveness, first: int, end: int, kernels: RowKernels, frugal: bool) -> Segment | None:
    ops = [node for node in live.nodes[first:end] if isinstance(node, Op)]
    if not all(live.dies(op.outputs[0], end) for op in ops[:-1]):
        return None
    wiring = wire(ops, kernels)
    found = estimate_stream(wiring, kernels, frugal) if wiring is not None else None
    if wiring is None or found is None:
        return None
    work, distance = found
    made = {op.outputs[0] for op in ops}
    source = next(v for op in ops for v in op.inputs if v is not None and not v.is_constant and v not in made)
    into, out = live.root(source).type.bytes, ops[-1].outputs[0].type.bytes
    together = max(into + distance, out) if live.dies(source, end) else out
    rows = sum(operator.ticks for operator in wiring.operators)
    return Segment(first, end, live.through(first, end) + work + min(together, into + out), rows, frugal)


def _read(node: Node) -> Sequence[Value]:
    """What a node and the regions in it read."""
    return (*operands_of(node), *_inner(node))


def _inner(node: Node) -> Iterator[Value]:
    for region in blocks_of(node):
        yield from uses_in(region)
