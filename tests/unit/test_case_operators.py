"""STABLEHLO_CASE, from file to C."""

from __future__ import annotations

import numpy as np
import pytest
from support.model_writer import ModelWriter
from support.native import Invocation, build_native, run_native
from tflmgen.compiler import compile_module
from tflmgen.errors import ModelError
from tflmgen.frontend.case_operators import without_cases
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.model import Model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.frontend.tflite.schema import fields, union_tables
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions


def case_model(branches: tuple[int, ...], index_type: str = "int32") -> Model:
    """y = x + 1, x * x or x - 1, by the index; int32[2]."""
    w = ModelWriter()
    g = w.subgraph("main")
    index, x, y = g.tensor("index", index_type, []), g.tensor("x", "int32", [2]), g.tensor("y", "int32", [2])
    g.operator("STABLEHLO_CASE", [index, x], [y], {"branch_subgraph_indices": branches})
    g.inputs, g.outputs = [index, x], [y]
    for operator in ("ADD", "MUL", "SUB"):
        s = w.subgraph(operator.lower())
        a, b = s.tensor("a", "int32", [2]), s.tensor("b", "int32", [2])
        other = a if operator == "MUL" else s.constant("one", np.array([1, 1], np.int32))
        s.operator(operator, [a, other], [b])
        s.inputs, s.outputs = [a], [b]
    return parse_model(w.finish(), "case.tflite")


@pytest.mark.parametrize("branches", [(1,), (1, 2), (1, 2, 3), (3, 3, 1, 2)])
def test_the_branch_of_the_index_runs(branches: tuple[int, ...]) -> None:
    compilation = compile_module(import_model(case_model(branches)), "case_m", Target("host"), BuildOptions())
    x = np.array([5, -7], np.int32)
    expected = {1: x + 1, 2: x * x, 3: x - 1}
    program = build_native({"case_m": compilation.sources})
    indices = [0, 1, 2, 3, 9, -1]
    calls = [Invocation(0, 0, (np.array(i, np.int32), x)) for i in indices]
    outputs = run_native(program, calls, [compilation.module.signatures])
    for i, (output,) in zip(indices, outputs, strict=True):
        chosen = branches[i] if 0 <= i < len(branches) else branches[-1]
        np.testing.assert_array_equal(output, expected[chosen])


def test_models_without_one_stay() -> None:
    model = without_cases(case_model((1, 2)))
    assert without_cases(model) is model


def test_what_is_refused() -> None:
    with pytest.raises(ModelError, match=r"operator 0 \(STABLEHLO_CASE\): STABLEHLO_CASE must name branches"):
        import_model(case_model(()))
    with pytest.raises(ModelError, match="must name branches"):
        import_model(case_model((1, 9)))
    with pytest.raises(ModelError, match="must be one int32"):
        import_model(case_model((1, 2), "bool"))


def test_the_schema_knows_its_options() -> None:
    assert union_tables("BuiltinOptions2")[23] == "StablehloCaseOptions"
    assert [field.name for field in fields("StablehloCaseOptions")] == ["branch_subgraph_indices"]
