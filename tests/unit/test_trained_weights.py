"""Models that train keep their weights in float; those that only keep a state do not."""

from __future__ import annotations

import numpy as np
import pytest
from tflmgen.frontend.tflite import Model, ModelBuilder
from tflmgen.ir import DType
from tflmgen.quantize.trained_weights import trained_webs
from tflmgen.quantize.web_constraints import find_webs

SHAPE = (4, 4)


def variable_model(consumer: str, update: str) -> tuple[Model, int]:
    """y = consumer(x, v), and v is updated. The tensor that is read from v is returned, too."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, handle = graph.tensor("x", DType.FLOAT32, SHAPE), graph.tensor("handle", None, ())
    read, scaled, y, new = (graph.tensor(name, DType.FLOAT32, SHAPE) for name in ("read", "scaled", "y", "new"))
    graph.operator("VAR_HANDLE", [], [handle], {"shared_name": "v"})
    graph.operator("READ_VARIABLE", [handle], [read])
    graph.operator(consumer, [x, read], [y])
    if update == "row":
        row, place = graph.tensor("row", DType.FLOAT32, (1, 4)), graph.constant("place", np.array([1, 0], np.int32))
        size = graph.constant("size", np.array([1, 4], np.int32))
        graph.operator("SLICE", [y, place, size], [row])
        graph.operator("DYNAMIC_UPDATE_SLICE", [read, row, place], [new])
    elif update == "sum":
        graph.operator("ADD", [read, x], [new])
    else:
        is_step = update == "step"
        factor = graph.constant("factor", np.float32(0.001 if is_step else 0.9 if update == "fading" else 0.9999))
        graph.operator("MUL", [y if is_step else read, factor], [scaled])
        graph.operator("SUB", [read, scaled] if is_step else [scaled, y], [new])
    graph.operator("ASSIGN_VARIABLE", [handle, new], [])
    graph.inputs, graph.outputs = [x], [y]
    return builder.model(), read


@pytest.mark.parametrize(
    ("consumer", "update", "is_trained"),
    [
        ("BATCH_MATMUL", "step", True),
        ("FULLY_CONNECTED", "step", True),
        ("FULLY_CONNECTED", "step with weight decay", True),
        ("ADD", "step", False),
        ("BATCH_MATMUL", "row", False),
        ("BATCH_MATMUL", "sum", False),
        ("BATCH_MATMUL", "fading", False),
    ],
)
def test_weights_that_get_steps_of_gradient_descent(consumer: str, update: str, is_trained: bool) -> None:
    model, read = variable_model(consumer, update)
    webs = find_webs(model)
    assert (webs.root((0, read)) in trained_webs(model, webs)) == is_trained
