"""Tensors of the file as outputs of steps of the Program, for builds that show intermediate values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from tflmgen.frontend import ObservedModule, TensorKey
from tflmgen.ir import DType
from tflmgen.ir.graph import Origin, Value
from tflmgen.ir.program import (
    Access,
    Assembly,
    Branch,
    Instruction,
    Invoke,
    KernelCall,
    Loop,
    OutputArgument,
    Program,
    Rename,
    walk_instructions,
)
from tflmgen.kernels.numeric import header_constant

MARKS = {
    header_constant("memory.h", f"TFLMGEN_LAYER_{word.upper()}"): word
    for word in ("call", "then", "else", "loop", "iteration")
}
"""Output number that marks a decision of control flow -> its word."""


class ShownPart(Enum):
    """Part of a tensor that an output of a step shows. One with dynamic dimensions has three, in this order.

    VALUE   all of a tensor without dynamic dimensions
    MEMORY  a tensor in its largest shape; elements that are not in use are no values of the model
    SHAPE   its shape in use, int32
    END     nothing more: the tensor may be overwritten after this step
    """

    VALUE = "value"
    MEMORY = "memory"
    SHAPE = "shape"
    END = "end"


@dataclass(frozen=True, slots=True)
class ShownTensor:
    """An output of a step: the file's tensor, its element type and largest shape in memory, and what is shown of
    it."""

    tensor: TensorKey
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    part: ShownPart = ShownPart.VALUE


@dataclass(frozen=True, slots=True)
class ObservedStep:
    """A step's operator (subgraph, operator), and its outputs: None where one is not a tensor of the file."""

    operator: tuple[int, int]
    outputs: tuple[ShownTensor | None, ...] = ()


def observed_steps(program: Program, observed: ObservedModule) -> dict[int, ObservedStep]:
    """Step number -> what it shows."""
    steps: dict[int, ObservedStep] = {}
    instructions = [i for function in program.functions for i in walk_instructions(function.body)]
    observed = _with_views(instructions, observed)
    for instruction in instructions:
        if isinstance(instruction, KernelCall):
            outputs = tuple(a.access for a in instruction.arguments if isinstance(a, OutputArgument))
            steps[instruction.step] = _step(instruction.origin, outputs, observed)
        elif isinstance(instruction, Assembly):
            steps[instruction.step] = _step(instruction.origin, instruction.outputs, observed)
        elif isinstance(instruction, Branch | Loop | Invoke):
            steps[instruction.step] = _step(instruction.origin, (), observed)
    return steps


def _with_views(instructions: Sequence[Instruction], observed: ObservedModule) -> ObservedModule:
    """Tensors by value, with those added by the importer that a tensor is a view of: a step writes these."""
    tensors, ends, shapes = dict(observed.tensors), dict(observed.ends), dict(observed.shapes)
    for rename in reversed([i for i in instructions if isinstance(i, Rename)]):
        view, source = rename.value.value, rename.source.value
        if view in tensors and source not in tensors:
            tensors[source] = tensors[view]
            for parts in (ends, shapes):
                parts |= {value: source for value, whole in parts.items() if whole == view}
    return replace(observed, tensors=tensors, ends=ends, shapes=shapes)


def _step(origin: Origin, outputs: tuple[Access, ...], observed: ObservedModule) -> ObservedStep:
    return ObservedStep((origin.subgraph, origin.operator), tuple(_shown(access.value, observed) for access in outputs))


def _shown(value: Value, observed: ObservedModule) -> ShownTensor | None:
    """The tensor of the file that a value is, or tells a part of; None for other values that the importer added."""
    if value in observed.shapes:
        return _part(observed.shapes[value], observed, ShownPart.SHAPE)
    if value in observed.ends:
        return _part(observed.ends[value], observed, ShownPart.END)
    if value not in observed.tensors or value.type.dtype is DType.INT4:
        return None
    return _part(value, observed, ShownPart.MEMORY if value in observed.shapes.values() else ShownPart.VALUE)


def _part(value: Value, observed: ObservedModule, part: ShownPart) -> ShownTensor:
    return ShownTensor(observed.tensors[value], value.type.dtype.numpy, value.type.max_shape, part)
