"""Options: of each its name, type, default, help, unit and what Python callers give for it, declared once.

In: nothing of tflmgen. Out: frozen groups of options as dataclasses, from which the command line and Python's are made.
Decided here: which options there are, what they are called, and what the help says of them.
"""

from __future__ import annotations

from tflmgen.options.build_options import (
    BuildOptions,
    CheckWeights,
    Optimize,
    SourceOptions,
    Validate,
)
from tflmgen.options.command_options import (
    Activations,
    ConvertOptions,
    DiffOptions,
    Emulator,
    Format,
    FormatName,
    Loss,
    Measured,
    MonitorOptions,
    NewBoardOptions,
    OptimizerName,
    OutputOptions,
    QuantizedIo,
    QuantizeOptions,
    SessionOptions,
    SweepOptions,
    TrainOptions,
)
from tflmgen.options.option_declaration import Option, command_line, declared_options

__all__ = [
    "Activations",
    "BuildOptions",
    "CheckWeights",
    "ConvertOptions",
    "DiffOptions",
    "Emulator",
    "Format",
    "FormatName",
    "Loss",
    "Measured",
    "MonitorOptions",
    "NewBoardOptions",
    "Optimize",
    "OptimizerName",
    "Option",
    "OutputOptions",
    "QuantizeOptions",
    "QuantizedIo",
    "SessionOptions",
    "SourceOptions",
    "SweepOptions",
    "TrainOptions",
    "Validate",
    "command_line",
    "declared_options",
]
