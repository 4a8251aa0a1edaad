"""ONNX models as TFLite ones: reading, lowering of each operator, and layouts. Needs the package `onnx`.

In: a path of an ONNX file or a PyTorch program. Out: a Model, or the program as it is run for comparison.
Decided here: what each ONNX operator becomes, and in which layout tensors are.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tflmgen.frontend.onnx.node_error import ShapeInputError
from tflmgen.frontend.onnx.onnx_program import ONNX_EVALUATOR, ONNX_WORKER, OnnxProgram
from tflmgen.frontend.onnx.source_function import file_of_source, is_torch_function, stem_of_source

__all__ = [
    "ONNX_EVALUATOR",
    "ONNX_WORKER",
    "OnnxProgram",
    "ShapeInputError",
    "file_of_source",
    "is_torch_function",
    "onnx_reader",
    "stem_of_source",
]


def onnx_reader() -> Any:
    """The module onnx_file, which imports the package `onnx`: for files that are lowered alone."""
    return import_module(f"{__name__}.onnx_file")
