"""Which tensor of the file each output of a step of the Program is, for builds that show intermediate values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tflmgen.frontend import Model, TensorKey
from tflmgen.ir import (
    Access,
    Assembly,
    Branch,
    DType,
    Invoke,
    KernelCall,
    Loop,
    Origin,
    OutputArgument,
    Program,
    walk_instructions,
)
from tflmgen.kernels import header_constant

MARKS = {
    header_constant("memory.h", f"TFLMGEN_LAYER_{word.upper()}"): word
    for word in ("call", "then", "else", "loop", "iteration")
}
"""Output number that marks a decision of control flow -> its word."""


@dataclass(frozen=True, slots=True)
class ShownTensor:
    """One output of a step: the file's tensor, and its element type and shape in memory."""

    tensor: TensorKey
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ObservedStep:
    """A step's operator (subgraph, operator), and its outputs: None where one is not a tensor of the file."""

    operator: tuple[int, int]
    outputs: tuple[ShownTensor | None, ...] = ()


def observed_steps(program: Program, model: Model) -> dict[int, ObservedStep]:
    """Step number -> what it shows."""
    steps: dict[int, ObservedStep] = {}
    for instruction in (i for function in program.functions for i in walk_instructions(function.body)):
        if isinstance(instruction, KernelCall):
            outputs = tuple(a.access for a in instruction.arguments if isinstance(a, OutputArgument))
            steps[instruction.step] = _step(instruction.origin, outputs, model)
        elif isinstance(instruction, Assembly):
            steps[instruction.step] = _step(instruction.origin, instruction.outputs, model)
        elif isinstance(instruction, Branch | Loop | Invoke):
            steps[instruction.step] = _step(instruction.origin, (), model)
    return steps


def _step(origin: Origin, outputs: tuple[Access, ...], model: Model) -> ObservedStep:
    return ObservedStep((origin.subgraph, origin.operator), tuple(_shown(origin, access, model) for access in outputs))


def _shown(origin: Origin, access: Access, model: Model) -> ShownTensor | None:
    """The operator's output of this name and type; None for values that the importer added."""
    value = access.value
    subgraph = model.subgraphs[origin.subgraph]
    operator = next((op for op in subgraph.operators if op.index == origin.operator), None)
    if operator is None or value.type.dtype is DType.INT4:
        return None
    for index in operator.outputs:
        tensor = subgraph.tensors[index]
        if tensor.name == value.name and tensor.dtype is value.type.dtype:
            return ShownTensor((origin.subgraph, index), value.type.dtype.numpy, value.type.max_shape)
    return None
