"""Single-entry single-exit regions: groups of operators that compute one value from one other value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tflmgen.ir.graph import Block, Module, Op, Value, blocks_of, operands_of
from tflmgen.kernels import traits_of
from tflmgen.passes.def_use import Dataflow

MAX_OPERATORS = 40
"""Operators in a region at most; the longest patterns of converters have half as many."""


@dataclass(frozen=True, slots=True)
class FusedRegion:
    """Operators in execution order that compute the last one's output from `source` and constants.

    saved  number of operators that fusion removes: all but the last one, views, and those with readers outside
    """

    source: Value
    ops: tuple[Op, ...]
    saved: int

    @property
    def result(self) -> Value:
        """The value that the region computes."""
        return self.ops[-1].outputs[0]


class Regions:
    """Regions of a module, each within one block, of operators for which `accepts` is true."""

    def __init__(self, module: Module, flow: Dataflow, accepts: Callable[[Op], bool]) -> None:
        self._flow = flow
        self._accepts = accepts
        self._block: dict[int, int] = {}
        self._position: dict[int, int] = {}
        self._sources: dict[Value, tuple[Value, ...]] = {}
        for function in module.functions:
            self._number(function.body)

    def _number(self, block: Block) -> None:
        number = len(self._position)
        for node in block.nodes:
            self._block[node.id] = number
            self._position[node.id] = len(self._position)
            for region in blocks_of(node):
                self._number(region)

    def ending_with(self, op: Op, is_source: Callable[[Value], bool]) -> Iterator[FusedRegion]:
        """Regions of at least two operators that end with `op`, the largest first.

        is_source  whether a region that begins there is wanted; asked first, since to find its operators takes longer
        """
        if len(op.outputs) == 1 and self._accepts(op):
            for source in reversed(self._dominators(op.outputs[0])[1:]):
                region = self._region(op, source) if is_source(source) else None
                if region is not None and region.saved > 0:
                    yield region

    def _dominators(self, value: Value) -> tuple[Value, ...]:
        """Dominators of `value`: values on every path to it from non-constant operands, `value` first."""
        if value not in self._sources:
            op = self._flow.producers.get(value)
            reads = self._variable(op) if op is not None and len(op.outputs) == 1 and self._accepts(op) else []
            shared = [self._dominators(v) if self._is_beside(op, v) else (v,) for v in reads]
            common = [v for v in shared[0] if all(v in dominators for dominators in shared[1:])] if shared else []
            self._sources[value] = (value, *common[:MAX_OPERATORS])
        return self._sources[value]

    def _is_beside(self, op: Op | None, value: Value) -> bool:
        producer = self._flow.producers.get(value)
        return op is not None and producer is not None and self._block[op.id] == self._block[producer.id]

    def _variable(self, op: Op) -> list[Value]:
        return list(dict.fromkeys(v for v in operands_of(op) if not v.is_constant))

    def _region(self, last: Op, source: Value) -> FusedRegion | None:
        region_ops = {last.id: last}
        pending = [last]
        while pending:
            for value in self._variable(pending.pop()):
                producer = self._flow.producers.get(value) if value != source else None
                if producer is not None and producer.id not in region_ops:
                    region_ops[producer.id] = producer
                    pending.append(producer)
            if len(region_ops) > MAX_OPERATORS:
                return None
        ops = tuple(sorted(region_ops.values(), key=lambda op: self._position[op.id]))
        used = self._used_outside(ops)
        saved = [op for op in ops[:-1] if op.id not in used and not traits_of(op.operator).view]
        return FusedRegion(source, ops, len(saved))

    def _used_outside(self, ops: tuple[Op, ...]) -> set[int]:
        """Ids of operators, except the last one, whose output has readers outside the region."""
        inside = {op.id for op in ops}
        used: set[int] = set()
        for op in reversed(ops[:-1]):
            readers = self._flow.readers(op.outputs[0])
            if readers is None or any(r.id not in inside or r.id in used for r in readers):
                used.add(op.id)
        return used
