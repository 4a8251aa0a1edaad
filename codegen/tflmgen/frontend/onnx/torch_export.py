"""PyTorch programs through torch.onnx: a .pt2 file of torch.export becomes an ONNX model.

torch.onnx decomposes operators and functionalises buffers; torch.cond becomes If. What it can't export is its error.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import warnings
from pathlib import Path
from typing import Any

from tflmgen.errors import Location, ModelError, Problem


def onnx_of_pt2(path: Path) -> Any:
    """The ONNX ModelProto of an exported program. Raises ModelError with PyTorch's sentence."""
    torch = importlib.import_module("torch")
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            logging.getLogger("torch.onnx").setLevel(logging.ERROR)
            program = torch.export.load(path)
            exported = torch.onnx.export(program, dynamo=True, verbose=False)
            return exported.model_proto
    except Exception as error:
        # torch raises what its many parts raise; its last line says what it is about.
        lines = [line for line in str(error).strip().splitlines() if line.strip()] or [type(error).__name__]
        rule = f"PyTorch cannot export it to ONNX: {lines[0]}"
        raise ModelError([Problem(Location(str(path)), rule)]) from error
