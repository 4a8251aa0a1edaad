"""Runs a case through LiteRT's reference kernels, for operators that TFLite Micro lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from support.kernel_harness import Array, Case, model_bytes


def run_litert(case: Case, values: Sequence[Array | None], resolver: Any = None) -> list[Array]:
    """The outputs of LiteRT for a model of this one operator."""
    return run_litert_model(model_bytes(case), [v for v in values if v is not None], resolver)


def run_litert_model(model: bytes, values: Sequence[Array], resolver: Any = None) -> list[Array]:
    """The outputs of LiteRT's BUILTIN_REF, or of other kernels of its, for a model."""
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    interpreter = litert.Interpreter(
        model_content=model,
        experimental_op_resolver_type=resolver or litert.OpResolverType.BUILTIN_REF,
        num_threads=1,
    )
    interpreter.allocate_tensors()
    for detail, value in zip(interpreter.get_input_details(), values, strict=True):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    details = interpreter.get_output_details()
    return [np.array(interpreter.get_tensor(detail["index"])) for detail in details]
