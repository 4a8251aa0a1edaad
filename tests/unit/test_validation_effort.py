"""How much of a long loop is validated: one input set to its end, or a warning."""

from __future__ import annotations

from support.model_writer import ModelWriter
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite import Model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.reference import Claims
from tflmgen.reference.validation import validate
from tflmgen.reference.validation_result import Effort


def counted(trips: int) -> Model:
    """A loop of `trips` iterations on one float."""
    writer = ModelWriter()
    main, test, body = (writer.subgraph(name) for name in ("main", "test", "body"))
    x, out, last = (
        main.tensor("x", "float32", [1]),
        main.tensor("out", "float32", [1]),
        main.tensor("last", "int32", []),
    )
    options = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    main.operator("WHILE", [main.constant("zero", 0, "int32"), x], [last, out], options)
    main.inputs, main.outputs = [x], [out]
    i, value, flag = test.tensor("i", "int32", []), test.tensor("v", "float32", [1]), test.tensor("flag", "bool", [])
    test.operator("LESS", [i, test.constant("trips", trips, "int32")], [flag])
    test.inputs, test.outputs = [i, value], [flag]
    i, value = body.tensor("i", "int32", []), body.tensor("v", "float32", [1])
    more, half = body.tensor("more", "int32", []), body.tensor("half", "float32", [1])
    body.operator("ADD", [i, body.constant("one", 1, "int32")], [more], {"fused_activation_function": 0})
    body.operator("MUL", [value, body.constant("0.9", 0.9, "float32")], [half], {"fused_activation_function": 0})
    body.inputs, body.outputs = [i, value], [more, half]
    return parse_model(bytes(writer.finish()), "counted.tflite")


def test_one_set_of_a_long_loop_is_run_to_its_end() -> None:
    """Each of twelve may do a sixth of the work that is left, and the loop is longer than that."""
    model = counted(2000)
    result = validate(model, import_model(model), Effort(12, 0.3), Claims())
    assert (result.equal, result.warning) == (1, "")
    assert result.text.startswith("1 of 12 input sets equal, 11 cut: they run long")


def test_that_no_set_has_run_is_a_warning() -> None:
    model = counted(2000)
    result = validate(model, import_model(model), Effort(12, 0.01), Claims())
    assert result.equal == 0
    assert result.warning.startswith("no input set ran to its end")
