"""Chooses the kernel of every operator: variant, packed constants, scratch, overlap, cost."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

from tflmgen.ir.graph import Module, Op, Value, walk
from tflmgen.ir.kernel import Kernel, KernelChoice, Part, Pieces, Selected, Target, View
from tflmgen.ir.streams import Computation, RowStream
from tflmgen.kernels.choice import estimated_together
from tflmgen.kernels.costs.estimate import cycles_of
from tflmgen.kernels.costs.flash_budget import within_flash
from tflmgen.kernels.specification.operator import Operators
from tflmgen.kernels.table import OPERATORS, instance_of_op


@dataclass(frozen=True, slots=True)
class Selection:
    """Op.id -> its chosen computation; `notes`: remarks for the user."""

    kernels: Mapping[int, Selected]
    notes: tuple[str, ...] = ()

    def selected(self, op: Op) -> Selected:
        """Chosen computation of an operator, with its alternatives."""
        return self.kernels[op.id]

    def of(self, op: Op) -> Computation:
        """Chosen computation of an operator."""
        return _computation(self.kernels[op.id])

    @property
    def computations(self) -> Iterator[Computation]:
        """Chosen computations of all operators."""
        return map(_computation, self.kernels.values())

    @property
    def cycles(self) -> int:
        """Sum of the estimated cycles of all operators, each called once."""
        return sum(map(cycles_of, self.kernels.values()))


@dataclass(frozen=True, slots=True)
class Selector:
    """Selects kernels for one processor, from a table of operators.

    known  operator, operands and attributes -> what computes it; None: each operator is looked up anew
    """

    target: Target
    operators: Operators = field(default_factory=lambda: OPERATORS)
    known: dict[Hashable, KernelChoice | View | Pieces] | None = field(default=None, compare=False)

    @property
    def remembering(self) -> Selector:
        """A selector that asks the operator table once for operators of equal types, constants and attributes."""
        return replace(self, known={})

    def select(self, module: Module, streams: Mapping[int, RowStream] = MappingProxyType({})) -> Selection:
        """The kernel of every Op of the module; `streams`: row streams by Op.id, which no operator table has."""
        operators = [node for function in module.functions for node in walk(function.body) if isinstance(node, Op)]
        kernels: Mapping[int, Selected] = {op.id: streams.get(op.id) or self._kernel(module, op) for op in operators}
        notes: tuple[str, ...] = ()
        if self.target.winograd:
            without = replace(self, target=replace(self.target, winograd=0))
            kernels, notes = within_flash(module, kernels, self.target.winograd, partial(without._kernel, module))
        return Selection(estimated_together(kernels, self.target.core), notes)

    def _kernel(self, module: Module, op: Op) -> KernelChoice | View | Pieces:
        if self.known is None or not isinstance(op.attributes, Hashable):
            return self._looked_up(module, op)
        key = self.target, op.operator, op.attributes, *(_operand(v, module) for v in (*op.inputs, None, *op.outputs))
        if key not in self.known:
            self.known[key] = self._looked_up(module, op)
        return self.known[key]

    def _looked_up(self, module: Module, op: Op) -> KernelChoice | View | Pieces:
        kernel = self.operators[op.operator].kernel(instance_of_op(op, module.constants), self.target)
        source = op.inputs[kernel.input] if isinstance(kernel, View) else None
        if isinstance(kernel, View) and source is not None and source.is_constant:
            # A constant has no place in RAM that the output could rename.
            return Pieces((Part(0, 0, kernel.input, 0, source.type.bytes),))
        return KernelChoice.of(kernel) if isinstance(kernel, Kernel) else kernel


def without_overlap(selection: Selection) -> Selection:
    """The selection without overlaps: every output is disjoint from the inputs."""
    return Selection(
        {number: _without_overlap(kernel) for number, kernel in selection.kernels.items()}, selection.notes
    )


def _without_overlap(selected: Selected) -> Selected:
    if isinstance(selected, KernelChoice):
        kernel = replace(selected.kernel, overlaps=(), backward=None)
        return replace(selected, chosen=replace(selected.chosen, kernel=kernel), alternatives=())
    return replace(selected, overlaps=()) if isinstance(selected, RowStream) else selected


def _computation(selected: Selected) -> Computation:
    return selected.kernel if isinstance(selected, KernelChoice) else selected


def _operand(value: Value | None, module: Module) -> Hashable:
    """Type of an operand, and its contents if it is constant."""
    if value is None:
        return None
    return value.type, None if value.constant is None else module.constants[value.constant]
