"""Chooses the kernel of every operator: variant, packed constants, scratch, overlap, cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from tflmgen.ir import Kernel, Module, Op, OperatorInstance, Part, Pieces, Target, View, walk
from tflmgen.kernels.flash_budget import within_flash
from tflmgen.kernels.instance import instance_of
from tflmgen.kernels.table import OPERATORS


@dataclass(frozen=True, slots=True)
class Selection:
    """Op.id -> what computes it. notes: what the user should know of the choice."""

    kernels: Mapping[int, Kernel | View | Pieces]
    notes: tuple[str, ...] = ()

    def of(self, op: Op) -> Kernel | View | Pieces:
        return self.kernels[op.id]


def select(module: Module, target: Target, made: Mapping[int, Kernel] = MappingProxyType({})) -> Selection:
    """The kernel of every Op of the module, for one processor; `made` are those that ops/ doesn't know, by Op.id."""
    kernels: dict[int, Kernel | View | Pieces] = {}
    for function in module.functions:
        for node in walk(function.body):
            if isinstance(node, Op):
                known = made.get(node.id)
                kernels[node.id] = known or _kernel(module, node, target)
    if not target.winograd:
        return Selection(kernels)
    without = partial(_kernel, module, target=replace(target, winograd=0))
    return Selection(*within_flash(module, kernels, target.winograd, without))


def without_overlap(selection: Selection) -> Selection:
    """The same kernels, with every output apart from the inputs."""
    return Selection(
        {
            number: replace(kernel, overlaps=(), alternatives=(), backward=None)
            if isinstance(kernel, Kernel)
            else kernel
            for number, kernel in selection.kernels.items()
        },
        selection.notes,
    )


def _kernel(module: Module, op: Op, target: Target) -> Kernel | View | Pieces:
    kernel = OPERATORS[op.operator].kernel(_instance(module, op), target)
    source = op.inputs[kernel.input] if isinstance(kernel, View) else None
    if isinstance(kernel, View) and source is not None and source.is_constant:
        # A constant has no place in RAM that the output could rename.
        return Pieces((Part(0, 0, kernel.input, 0, source.type.bytes),))
    return kernel


def _instance(module: Module, op: Op) -> OperatorInstance:
    outputs = tuple(v.type for v in op.outputs)
    return instance_of(op.inputs, outputs, op.attributes, module.constants)
