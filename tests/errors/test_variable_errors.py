"""Variables of files that were converted before anything initialised them, as unfrozen Keras models are."""

from __future__ import annotations

import pytest
from support.model_writer import ModelWriter
from tflmgen.errors import ModelError
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model


def test_a_variable_that_another_subgraph_reads_is_named() -> None:
    writer = ModelWriter()
    graph, reader = writer.subgraph("main"), writer.subgraph("f")
    handle = graph.tensor("handle", "resource", [])
    graph.operator("VAR_HANDLE", [], [handle], {"container": "", "shared_name": "v"})
    reader.inputs, reader.outputs = [reader.tensor("handle", "resource", [])], [reader.tensor("y", "int32", [4])]
    reader.operator("READ_VARIABLE", reader.inputs, reader.outputs)
    graph.outputs = [graph.tensor("y", "int32", [4])]
    graph.operator("CALL", [handle], graph.outputs, {"subgraph": reader.index})
    with pytest.raises(ModelError) as caught:
        import_model(parse_model(writer.finish(), "m.tflite"))
    assert str(caught.value).endswith(
        "subgraph 1 'f', operator 0 (READ_VARIABLE): uses variable 'v', which nothing initialises. "
        "Convert the model with its variables initialised, or frozen"
    )
