"""Groups of operators that together compute one value from one other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tflmgen.ir import Block, Module, Op, Value, blocks_of, operands_of
from tflmgen.kernels import traits_of
from tflmgen.passes.def_use import Dataflow

MOST = 40
"""Operators in a region; the longest patterns of converters have half as many."""


@dataclass(frozen=True, slots=True)
class Region:
    """Operators in their order, that compute the last one's output from `source` and constants.

    saved: how many of them, views apart, nothing else needs besides the last one.
    """

    source: Value
    ops: tuple[Op, ...]
    saved: int

    @property
    def result(self) -> Value:
        return self.ops[-1].outputs[0]


class Regions:
    """The regions of a module whose operators `takes` accepts, within one block each."""

    def __init__(self, module: Module, flow: Dataflow, takes: Callable[[Op], bool]) -> None:
        self._flow = flow
        self._takes = takes
        self._block: dict[int, int] = {}
        self._place: dict[int, int] = {}
        self._sources: dict[Value, tuple[Value, ...]] = {}
        for function in module.functions:
            self._number(function.body)

    def _number(self, block: Block) -> None:
        number = len(self._place)
        for node in block.nodes:
            self._block[node.id] = number
            self._place[node.id] = len(self._place)
            for region in blocks_of(node):
                self._number(region)

    def ending_with(self, op: Op) -> Iterator[Region]:
        """The regions that compute an operator's output, of two operators or more, the smallest first."""
        if len(op.outputs) == 1 and self._takes(op):
            for source in self._dominators(op.outputs[0])[1:]:
                region = self._region(op, source)
                if region is not None and region.saved > 0:
                    yield region

    def _dominators(self, value: Value) -> tuple[Value, ...]:
        """The values that every path from a variable operand to `value` passes, `value` first."""
        if value not in self._sources:
            op = self._flow.maker.get(value)
            reads = self._variable(op) if op is not None and len(op.outputs) == 1 and self._takes(op) else []
            shared = [self._dominators(v) if self._is_beside(op, v) else (v,) for v in reads]
            common = [v for v in shared[0] if all(v in other for other in shared[1:])] if shared else []
            self._sources[value] = (value, *common[:MOST])
        return self._sources[value]

    def _is_beside(self, op: Op | None, value: Value) -> bool:
        maker = self._flow.maker.get(value)
        return op is not None and maker is not None and self._block[op.id] == self._block[maker.id]

    def _variable(self, op: Op) -> list[Value]:
        return list(dict.fromkeys(v for v in operands_of(op) if not v.is_constant))

    def _region(self, last: Op, source: Value) -> Region | None:
        found = {last.id: last}
        pending = [last]
        while pending:
            for value in self._variable(pending.pop()):
                maker = self._flow.maker.get(value) if value != source else None
                if maker is not None and maker.id not in found:
                    found[maker.id] = maker
                    pending.append(maker)
            if len(found) > MOST:
                return None
        ops = tuple(sorted(found.values(), key=lambda op: self._place[op.id]))
        needed = self._needed(ops)
        saved = [op for op in ops[:-1] if op.id not in needed and not traits_of(op.operator).view]
        return Region(source, ops, len(saved))

    def _needed(self, ops: tuple[Op, ...]) -> set[int]:
        """The operators, the last one apart, whose output something outside needs."""
        inside = {op.id for op in ops}
        needed: set[int] = set()
        for op in reversed(ops[:-1]):
            readers = self._flow.readers(op.outputs[0])
            if readers is None or any(r.id not in inside or r.id in needed for r in readers):
                needed.add(op.id)
        return needed
