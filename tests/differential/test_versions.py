"""The table of operators' versions is that of LiteRT: a model with one operator loads up to its highest version."""

from __future__ import annotations

import pytest
from support.model_writer import ModelWriter
from tflmgen.frontend.tflite.names import BUILTIN_OPERATORS
from tflmgen.frontend.tflite.operator_versions import highest_version

litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is the reference")

NO_OPERATORS = {"CUSTOM", "DELEGATE", "PLACEHOLDER_FOR_GREATER_OP_CODES"}


def has_kernel(operator: str, version: int) -> bool:
    """Whether LiteRT finds a kernel for this version; what else is wrong with the model does not matter."""
    w = ModelWriter()
    g = w.subgraph("main")
    g.inputs, g.outputs = [g.tensor("x", "float32", [1])], [g.tensor("y", "float32", [1])]
    g.operator(operator, g.inputs, g.outputs, None, version=version)
    try:
        litert.Interpreter(model_content=w.finish())
    except (RuntimeError, ValueError) as error:
        return "Didn't find op" not in str(error)
    return True


def test_the_highest_versions_are_those_of_litert() -> None:
    known = {name: highest_version(name) or 0 for name in BUILTIN_OPERATORS if name not in NO_OPERATORS}
    above = {name for name, version in known.items() if has_kernel(name, version + 1)}
    registered = {name for name, version in known.items() if has_kernel(name, version)}
    unknown = known.keys() - registered
    assert not above
    assert all(known[name] == 1 for name in unknown), "LiteRT lacks a kernel for these"
    assert len(registered) > 150
