"""Definitions and uses of a module's values, for passes that fuse operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from tflmgen.ir import constant_array
from tflmgen.ir.graph import Module, Node, Op, Value, blocks_of, operands_of, walk
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels import OPERATORS, Traits, instance_of_op, traits_of


class Dataflow:
    """Producer and readers of each value: a snapshot that doesn't follow later changes of the module."""

    def __init__(self, module: Module) -> None:
        self._constants = module.constants
        self.producers: dict[Value, Op] = {}
        self._readers: dict[Value, list[Op]] = {}
        self._held: set[Value] = set()
        self.returned: set[Value] = set()
        for function in module.functions:
            self.returned.update(function.body.results)
            for node in walk(function.body):
                self._note(node)

    def _note(self, node: Node) -> None:
        if isinstance(node, Op):
            self.producers.update((value, node) for value in node.outputs)
            for value in dict.fromkeys(operands_of(node)):
                self._readers.setdefault(value, []).append(node)
            return
        self._held.update(operands_of(node))
        for region in blocks_of(node):
            self._held.update(region.results)

    def readers(self, value: Value) -> Sequence[Op] | None:
        """Operators that read a value; None if control flow or a block's result reads it too."""
        return None if value in self.returned else self._readers_inside(value)

    def _readers_inside(self, value: Value) -> Sequence[Op] | None:
        return None if value in self._held else self._readers.get(value, ())

    def only_reader(self, value: Value) -> Op | None:
        """The operator that alone reads a value; else None."""
        readers = self.readers(value)
        return readers[0] if readers is not None and len(readers) == 1 else None

    def is_read_once(self, value: Value) -> bool:
        """Whether exactly one operator reads a value; the function may return it in addition."""
        readers = self._readers_inside(value)
        return readers is not None and len(readers) == 1

    def producer(self, value: Value | None, is_wanted: Callable[[Traits], Any]) -> Op | None:
        """The operator that produces a value, if its traits are those that are wanted; else None."""
        op = self.producers.get(value) if value is not None else None
        return op if op is not None and is_wanted(traits_of(op.operator)) else None

    def through_views(self, value: Value) -> Value:
        """The value before any views: the same bytes, perhaps in another shape."""
        while (view := self.view(value)) is not None and view.inputs[0] is not None:
            value = view.inputs[0]
        return value

    def view(self, value: Value | None) -> Op | None:
        """The producer of a value if it is a view; else None."""
        return self.producer(value, lambda traits: traits.view)

    def array(self, value: Value | None) -> NDArray[Any] | None:
        """Elements of a constant in its shape; None for other values."""
        return constant_array(value, self._constants)

    def number(self, value: Value | None) -> float | None:
        """The number that all elements of a constant equal, in its quantised units; else None."""
        array = self.array(value)
        if array is None or not array.size or not (array == array.flat[0]).all():
            return None
        return float(array.flat[0])

    def instance(self, op: Op) -> OperatorInstance:
        """The operator's types, constants and attributes, without the graph."""
        return instance_of_op(op, self._constants)


def input_at(op: Op, place: int | None) -> Value | None:
    """The input at a place, such as one of `Roles`; None where there is none."""
    return op.inputs[place] if place is not None and place < len(op.inputs) else None


def is_legal(op: Op, constants: Mapping[str, bytes]) -> bool:
    """Whether an operator satisfies all support rules and its declared shapes equal the inferred ones."""
    entry = OPERATORS[op.operator]
    instance = instance_of_op(op, constants)
    if not all(rule.holds(instance) for rule in entry.rules):
        return False
    return all(s is None or s == t.shape for s, t in zip(entry.infer(instance), instance.outputs, strict=True))
