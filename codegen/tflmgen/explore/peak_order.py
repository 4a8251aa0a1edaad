"""Orders the nodes of each block for the lowest peak memory, inner blocks first, by least_peak.

The peak of a block is estimated from the liveness of its values and the overlaps that kernels permit, before
coalescing and packing. An If counts as the larger of its branches, a While as its body beyond its variables, a Call as
its function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tflmgen.explore.least_peak import OrderTask, least_peak
from tflmgen.explore.update_order import must_precede, reads
from tflmgen.ir.graph import Block, Function, If, Module, Node, Op, Value, While
from tflmgen.ir.kernel import Kernel, Scratch, View
from tflmgen.ir.streams import Called
from tflmgen.kernels import Selection


@dataclass(frozen=True, slots=True)
class Ordered:
    """A reordered module; `is_proved`: every block has the lowest estimated peak of all orders."""

    module: Module
    is_proved: bool


def order_for_peak(module: Module, selection: Selection) -> Ordered:
    """The module with the nodes of every block in the order of lowest peak."""
    search = _Search(selection, frozenset(s.function for s in module.signatures))
    functions = tuple(map(search.function, module.functions))
    return Ordered(replace(module, functions=functions), search.is_proved)


class _Search:
    def __init__(self, selection: Selection, entries: frozenset[str]) -> None:
        self._selection = selection
        self._entries = entries
        self._peaks: dict[str, int] = {}
        self.is_proved = True

    def function(self, function: Function) -> Function:
        count = len(function.state)
        state = function.inputs[len(function.inputs) - count :]
        following = function.body.results[len(function.body.results) - count :]
        # What a signature finds in its variables is in the state's memory.
        entering = function.inputs[: function.ports] if function.name in self._entries else function.inputs
        body, self._peaks[function.name] = self._block(function.body, entering, state, following)
        return replace(function, body=body)

    def _block(
        self, block: Block, entering: Sequence[Value], variables: Sequence[Value], following: Sequence[Value]
    ) -> tuple[Block, int]:
        """The reordered block, and its peak in bytes.

        entering   values that exist from the start
        variables  loop variables or state, whose next contents are `following`
        """
        parts = [self._node(node) for node in block.nodes]
        block = replace(block, nodes=tuple(node for node, _ in parts))
        numbers = _Numbers(block.nodes, entering, self._selection)
        after = must_precede(block, variables, following)
        before = [0] * len(after)
        for i, successors in enumerate(after):
            for successor in successors:
                before[successor] |= 1 << i
        tasks = [numbers.task(node, before[i], extra) for i, (node, extra) in enumerate(parts)]
        needed_after = frozenset(n for v in block.results if (n := numbers.of(v)) is not None)
        order = least_peak(tasks, numbers.sizes, numbers.entering, needed_after)
        self.is_proved &= order.peak == order.lower_bound
        return replace(block, nodes=tuple(block.nodes[i] for i in order.tasks)), order.peak

    def _node(self, node: Node) -> tuple[Node, int]:
        """The node with reordered regions, and the bytes that it needs besides its operands and results."""
        written = sum(_bytes(v) for v in node.outputs)
        if isinstance(node, Op):
            kernel = self._selection.of(node)
            scratch = kernel.operands if isinstance(kernel, Called) else ()
            return node, sum(-(-o.bytes // 4) * 4 for o in scratch if isinstance(o, Scratch))
        if isinstance(node, If):
            then_block, first_peak = self._block(node.then, (), (), ())
            else_block, second_peak = self._block(node.orelse, (), (), ())
            return replace(node, then=then_block, orelse=else_block), max(0, max(first_peak, second_peak) - written)
        if isinstance(node, While):
            condition, first_peak = self._block(node.condition, node.variables, (), ())
            body, second_peak = self._block(node.body, node.variables, node.variables, node.body.results)
            return replace(node, condition=condition, body=body), max(0, max(first_peak, second_peak) - written)
        ports = sum(_bytes(v) for v in (*node.inputs, *node.outputs))
        return node, max(0, self._peaks[node.function] - ports)


class _Numbers:
    """Numbers of a block's values: a view has the number of its source; outer values have none."""

    def __init__(self, nodes: Sequence[Node], entering: Sequence[Value], selection: Selection) -> None:
        self._selection = selection
        self._number: dict[Value, int] = {}
        self.sizes: dict[int, int] = {}
        for value in entering:
            self._add(value)
        self.entering = frozenset(self.sizes)
        for node in nodes:
            kernel = selection.of(node) if isinstance(node, Op) else None
            source = node.inputs[kernel.input] if isinstance(node, Op) and isinstance(kernel, View) else None
            for value in node.outputs:
                if source is None:
                    self._add(value)
                elif source in self._number:
                    self._number[value] = self._number[source]

    def _add(self, value: Value) -> None:
        self._number[value] = len(self.sizes)
        self.sizes[len(self.sizes)] = _bytes(value)

    def of(self, value: Value | None) -> int | None:
        return None if value is None else self._number.get(value)

    def task(self, node: Node, before: int, extra: int) -> OrderTask:
        numbers_read = frozenset(n for v in reads(node) if (n := self.of(v)) is not None)
        kernel = self._selection.of(node) if isinstance(node, Op) else None
        if isinstance(kernel, View):
            return OrderTask(before, numbers_read, (), extra, ())
        writes = tuple(self._number[v] for v in node.outputs)
        return OrderTask(before, numbers_read, writes, extra, tuple(self._shared(node, i) for i in range(len(writes))))

    def _shared(self, node: Node, output: int) -> tuple[tuple[int, int], ...]:
        """(input value, bytes) that an output of a node may share with its inputs."""
        written = _bytes(node.outputs[output])
        if isinstance(node, While):
            number = self.of(node.inits[output])
            return () if number is None else ((number, min(written, self.sizes[number])),)
        kernel = self._selection.of(node) if isinstance(node, Op) else None
        if not isinstance(node, Op) or not isinstance(kernel, Called):
            return ()
        backward = kernel.backward if isinstance(kernel, Kernel) else None
        claims = (*kernel.overlaps, *(backward.overlaps if backward else ()))
        shared: dict[int, int] = {}
        for claim in claims:
            number = self.of(node.inputs[claim.input])
            if claim.output == output and number is not None:
                read = self.sizes[number]
                later, earlier = (written, read) if claim.behind else (read, written)
                common = max(0, read + written - max(claim.distance + later, earlier))
                shared[number] = max(shared.get(number, 0), common)
        return tuple(sorted(shared.items()))


def _bytes(value: Value) -> int:
    return -(-value.type.bytes // 4) * 4
