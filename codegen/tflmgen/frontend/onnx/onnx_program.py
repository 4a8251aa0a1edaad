"""A lowered source as its own framework runs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

ONNX_EVALUATOR = "onnx's evaluator"
"""Name of the evaluator that the package onnx ships, which is no authority."""
ONNX_WORKER = "tflmgen.frontend.onnx.onnx_worker"
"""Module whose process runs a program on input sets."""


@dataclass(frozen=True, slots=True)
class OnnxProgram:
    """An ONNX model, or a PyTorch program with the ONNX model that it becomes.

    onnx       the serialised ModelProto, without local functions
    torch      the PyTorch source as the user gave it; empty for an ONNX model
    inputs     names of the inputs without those that have a value in the model
    constants  values of inputs that became constants
    results    name of a node, or of its first result where it has none -> names of its results
    operators  names of its operators
    is_stateful  an invoke depends on those before it
    types        input -> numpy's name of the element type that the source takes, where `onnx` may have float32
    other_floats types of floats that became float32
    """

    onnx: bytes
    torch: str
    inputs: Sequence[str]
    constants: Mapping[str, Array]
    results: Mapping[str, Sequence[str]]
    operators: frozenset[str]
    is_stateful: bool
    types: Mapping[str, str] = field(default_factory=dict)
    other_floats: Sequence[str] = ()

    @property
    def is_torch(self) -> bool:
        """Whether it came from PyTorch."""
        return bool(self.torch)
