"""Operators of plug-ins in validation: by their own evaluate(), else the build says that they are not evaluated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.model_writer import ModelWriter
from tflmgen.compiler import compile_model
from tflmgen.ir.kernel import Target
from tflmgen.options import BuildOptions
from tflmgen.plugins.plugin_calls import PluginError

PLUGIN = """
import numpy as np
from tflmgen.plugin import CustomOperator, DType, Input, Kernel, Output, Params, State

class Kept(CustomOperator):
    '''x plus what it was called with before.'''
    name = "Kept"
    files = ("kept.h",)

    def infer(self, op):
        return (op.inputs[0].shape,)

    def state(self, op):
        return (State(DType.FLOAT32, op.inputs[0].shape),)

    def kernel(self, op, target):
        return Kernel("kept", "kept.h", (Input(0), Input(1), Output(0), Output(1)), None)
"""
EVALUATE = """
    def evaluate(self, op, inputs):
        return {result}
"""


def line(folder: Path, result: str = "") -> str:
    """What validation says of a model whose operator has an evaluate() with this result."""
    writer = ModelWriter()
    graph = writer.subgraph("main")
    x, y, z = (graph.tensor(name, "float32", [1, 3]) for name in "xyz")
    graph.operator("CUSTOM:Kept", [x], [y])
    graph.operator("MUL", [y, graph.constant("two", np.float32(2))], [z], {"fused_activation_function": 0})
    graph.inputs, graph.outputs = [x], [z]
    (folder / "m.tflite").write_bytes(bytes(writer.finish()))
    (folder / "kept.h").write_text("/* nothing calls it */\n", encoding="utf-8")
    plugin = folder / "kept.py"
    plugin.write_text(PLUGIN + (EVALUATE.format(result=result) if result else ""), encoding="utf-8")
    options = BuildOptions(plugin=[plugin])
    return str(compile_model(folder / "m.tflite", Target("host"), options).plan["proof"][0]["text"])


def test_its_own_definition_is_evaluated_with_its_state(tmp_path: Path) -> None:
    assert line(tmp_path, "[inputs[0] + inputs[1], inputs[0]]") == "60 input sets equal"


def test_without_a_definition_the_plug_in_is_named(tmp_path: Path) -> None:
    assert line(tmp_path) == "not validated: plug-in Kept is not evaluated"


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("[inputs[0]]", "must return 2 arrays; it returns '1'"),
        ("[inputs[0][:, :1], inputs[1]]", "must return an output of 3 elements"),
        ("3", "must return a sequence of arrays; it returns 3"),
        ("inputs[7]", "kept.py: line 20: IndexError"),
    ],
)
def test_a_faulty_definition_is_a_fault_of_the_plug_in(tmp_path: Path, result: str, text: str) -> None:
    with pytest.raises(PluginError, match=r"kept\.py") as error:
        line(tmp_path, result)
    assert text in str(error.value)
