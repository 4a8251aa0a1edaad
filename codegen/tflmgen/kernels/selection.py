"""Chooses the kernel of every operator: variant, packed constants, scratch, overlap, cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

from tflmgen.ir import (
    Computation,
    Kernel,
    Module,
    Op,
    OperatorInstance,
    Part,
    Pieces,
    RowStream,
    Target,
    View,
    walk,
)
from tflmgen.kernels.flash_budget import within_flash
from tflmgen.kernels.instance import instance_of
from tflmgen.kernels.operator import Operators
from tflmgen.kernels.table import OPERATORS


@dataclass(frozen=True, slots=True)
class Selection:
    """Op.id -> what computes it. notes: what the user should know of the choice."""

    kernels: Mapping[int, Computation]
    notes: tuple[str, ...] = ()

    def of(self, op: Op) -> Computation:
        return self.kernels[op.id]


@dataclass(frozen=True, slots=True)
class Selector:
    """Chooses kernels for one processor, from a table of operators."""

    target: Target
    operators: Operators = field(default_factory=lambda: OPERATORS)

    def select(self, module: Module, streams: Mapping[int, RowStream] = MappingProxyType({})) -> Selection:
        """What computes every Op of the module; `streams` compute those that no table has, by Op.id."""
        kernels: dict[int, Computation] = {}
        for function in module.functions:
            for node in walk(function.body):
                if isinstance(node, Op):
                    kernels[node.id] = streams.get(node.id) or self._kernel(module, node)
        if not self.target.winograd:
            return Selection(kernels)
        without = replace(self, target=replace(self.target, winograd=0))
        return Selection(*within_flash(module, kernels, self.target.winograd, partial(without._kernel, module)))

    def _kernel(self, module: Module, op: Op) -> Kernel | View | Pieces:
        kernel = self.operators[op.operator].kernel(_instance(module, op), self.target)
        source = op.inputs[kernel.input] if isinstance(kernel, View) else None
        if isinstance(kernel, View) and source is not None and source.is_constant:
            # A constant has no place in RAM that the output could rename.
            return Pieces((Part(0, 0, kernel.input, 0, source.type.bytes),))
        return kernel


def without_overlap(selection: Selection) -> Selection:
    """The same kernels, with every output apart from the inputs."""
    return Selection(
        {number: _without_overlap(kernel) for number, kernel in selection.kernels.items()}, selection.notes
    )


def _without_overlap(kernel: Computation) -> Computation:
    if isinstance(kernel, Kernel):
        return replace(kernel, overlaps=(), alternatives=(), backward=None)
    return replace(kernel, overlaps=()) if isinstance(kernel, RowStream) else kernel


def _instance(module: Module, op: Op) -> OperatorInstance:
    outputs = tuple(v.type for v in op.outputs)
    return instance_of(op.inputs, outputs, op.attributes, module.constants)
