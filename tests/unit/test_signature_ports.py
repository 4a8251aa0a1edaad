"""Names of a signature's outputs where tensors stand at several places."""

from __future__ import annotations

import pytest
from tflmgen.frontend import find_bounds, import_model
from tflmgen.frontend.tflite import ModelBuilder, parse_model, write_model
from tflmgen.ir import DType
from tflmgen.kernels import OPERATORS


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([("first", 1), ("second", 1), ("through", 0)], ("first", "second", "through")),
        ([("twice", 1), ("through", 0)], ("twice", "twice", "through")),
        ([], ("y", "y", "x")),
    ],
)
def test_a_tensor_at_two_places_has_two_names(names: list[tuple[str, int]], expected: tuple[str, ...]) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = (graph.tensor(name, DType.FLOAT32, (2,)) for name in ("x", "y"))
    graph.operator("TANH", [x], [y])
    graph.inputs, graph.outputs = [x], [y, y, x]
    if names:
        builder.signature("serve", graph, [("in", x)], names)
    model = parse_model(write_model(builder.model()), "ports")
    (signature,) = import_model(model, find_bounds(model, (), None, None), OPERATORS).signatures
    assert tuple(port.name for port in signature.outputs) == expected
