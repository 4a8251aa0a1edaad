"""tflmgen: TensorFlow Lite models with control flow, compiled to C for microcontrollers.

    import tflmgen

    model = tflmgen.compile("kws.tflite", board="mps2_an386")
    outputs = model.run({"features": array})

docs/use/python.md explains the interface. Nothing is imported before it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tflmgen.version import VERSION

if TYPE_CHECKING:
    from tflmgen.api import (
        Bench,
        Buffer,
        CompiledModel,
        CompileOptions,
        FirmwareSizes,
        FlashCycles,
        ModelSession,
        Operator,
        OperatorCost,
        Plan,
        Records,
        Signature,
        Tensor,
        compile,
    )
    from tflmgen.errors import Location, ModelError, Problem, TflmgenError, UsageError


__version__ = VERSION

__all__ = [
    "Bench",
    "Buffer",
    "CompileOptions",
    "CompiledModel",
    "FirmwareSizes",
    "FlashCycles",
    "Location",
    "ModelError",
    "ModelSession",
    "Operator",
    "OperatorCost",
    "Plan",
    "Problem",
    "Records",
    "Signature",
    "Tensor",
    "TflmgenError",
    "UsageError",
    "__version__",
    "compile",
]

_ERRORS = frozenset({"Location", "ModelError", "Problem", "TflmgenError", "UsageError"})


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module("tflmgen.errors" if name in _ERRORS else "tflmgen.api"), name)


def __dir__() -> list[str]:
    return __all__
