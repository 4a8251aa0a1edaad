"""The Python that has Dask: `.ci/setup --environment sweep` makes it, or TFLMGEN_SWEEP names it."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

import pytest

from support.repository import ROOT

VARIABLE = "TFLMGEN_SWEEP"


def interpreter() -> str | None:
    """Path of the interpreter; None where there is none."""
    own = ROOT / ".venv-sweep" / "bin" / "python"
    if os.environ.get(VARIABLE):
        return os.environ[VARIABLE]
    if own.exists():
        return str(own)
    return sys.executable if find_spec("distributed") and find_spec("pyarrow") else None


requires_dask = pytest.mark.skipif(interpreter() is None, reason="needs Dask: .ci/setup --environment sweep")
