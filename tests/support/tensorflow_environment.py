"""The Python that has TensorFlow: `.ci/setup --environment tensorflow` makes it, or TFLMGEN_TENSORFLOW names it."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.repository import ROOT

VARIABLE = "TFLMGEN_TENSORFLOW"


def interpreter() -> str | None:
    """Path of the interpreter; None where there is none."""
    own = ROOT / ".venv-tensorflow" / "bin" / "python"
    if os.environ.get(VARIABLE):
        return os.environ[VARIABLE]
    if own.exists():
        return str(own)
    return sys.executable if find_spec("tensorflow") else None


requires_tensorflow = pytest.mark.skipif(
    interpreter() is None, reason="needs TensorFlow: .ci/setup --environment tensorflow"
)


def file_beside(name: str) -> Path:
    """A file of this folder that runs in TensorFlow's interpreter."""
    return Path(__file__).with_name(name)
