"""Models that train keep their weights in float; those that only keep a state do not."""

from __future__ import annotations

import numpy as np
import pytest
from tflmgen.frontend import Model, ModelBuilder
from tflmgen.ir import DType
from tflmgen.quantize.trained_weights import trained_webs
from tflmgen.quantize.web_constraints import find_webs

SHAPE = (4, 4)


def variable_model(consumer: str) -> tuple[Model, int]:
    """y = consumer(x, v); v += x. The tensor that is read from v is returned, too."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, handle = graph.tensor("x", DType.FLOAT32, SHAPE), graph.tensor("handle", None, ())
    read, total, y = (graph.tensor(name, DType.FLOAT32, SHAPE) for name in ("read", "total", "y"))
    graph.operator("VAR_HANDLE", [], [handle], {"shared_name": "v"})
    graph.operator("READ_VARIABLE", [handle], [read])
    graph.operator(consumer, [x, read], [y])
    graph.operator("ADD", [read, graph.constant("step", np.float32(0.1))], [total])
    graph.operator("ASSIGN_VARIABLE", [handle, total], [])
    graph.inputs, graph.outputs = [x], [y]
    return builder.model(), read


@pytest.mark.parametrize(
    ("consumer", "is_trained"), [("BATCH_MATMUL", True), ("FULLY_CONNECTED", True), ("ADD", False)]
)
def test_a_variable_of_weights_that_is_assigned(consumer: str, is_trained: bool) -> None:
    model, read = variable_model(consumer)
    webs = find_webs(model)
    assert (webs.root((0, read)) in trained_webs(model, webs)) == is_trained
