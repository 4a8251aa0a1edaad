"""LiteRT's interpreter as the oracle of models whose inputs have the shapes that they are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

Array = NDArray[Any]


def litert_outputs(data: bytes, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """The outputs of the main subgraph. Skips where LiteRT is not installed; raises RuntimeError where it refuses."""
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    resolver = litert.OpResolverType.BUILTIN_REF
    interpreter = litert.Interpreter(model_content=data, experimental_op_resolver_type=resolver)
    details = interpreter.get_input_details()
    for detail, array in zip(details, inputs, strict=True):
        interpreter.resize_tensor_input(detail["index"], array.shape)
    interpreter.allocate_tensors()
    for detail, array in zip(details, inputs, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return tuple(_output(interpreter, detail["index"]) for detail in interpreter.get_output_details())


def _output(interpreter: Any, index: int) -> Array:
    details = interpreter._get_tensor_details(index, 0)
    if 0 in details["shape"]:
        # LiteRT gives no tensor without elements.
        return np.zeros(details["shape"], details["dtype"])
    return np.array(interpreter.get_tensor(index))
