"""The Python interface: compile, run, compare, bench and save a model by functions and values.

In: a model, a board and options. Out: a CompiledModel, its plan, outputs of runs and counts, as values; files.
Decided here: the Python interface that `import tflmgen` gives, and how its values become options.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tflmgen.api.build_choices import CompileOptions, build_options
    from tflmgen.api.compile_source import compile
    from tflmgen.api.compiled_model import CompiledModel
    from tflmgen.api.measurements import Bench, FirmwareSizes, FlashCycles, OperatorCost
    from tflmgen.api.model_session import ModelSession
    from tflmgen.api.plan_records import Buffer, Operator, Plan, Signature, Tensor
    from tflmgen.api.python_source import quantize_to, source_file
    from tflmgen.api.records import MissingPackageError, Records

_MODULES = {
    "build_choices": "CompileOptions build_options",
    "compile_source": "compile",
    "compiled_model": "CompiledModel",
    "measurements": "Bench FirmwareSizes FlashCycles OperatorCost",
    "model_session": "ModelSession",
    "plan_records": "Buffer Operator Plan Signature Tensor",
    "python_source": "quantize_to source_file",
    "records": "MissingPackageError Records",
}
"""Module -> its names here. It is imported when one of them is asked for, so that a command loads what it needs."""

__all__ = [
    "Bench",
    "Buffer",
    "CompileOptions",
    "CompiledModel",
    "FirmwareSizes",
    "FlashCycles",
    "MissingPackageError",
    "ModelSession",
    "Operator",
    "OperatorCost",
    "Plan",
    "Records",
    "Signature",
    "Tensor",
    "build_options",
    "compile",
    "quantize_to",
    "source_file",
]


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
