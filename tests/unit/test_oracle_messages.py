"""What is said where TensorFlow Lite Micro, the reference, refuses a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.model_writer import ModelWriter
from tflmgen.compare.oracle import OracleError, tflm_outputs
from tflmgen.input_sets.npz import VectorSet


def test_a_failure_inside_a_loop_names_its_cause(tmp_path: Path) -> None:
    """TensorFlow Lite Micro has no NEG of integers; the WHILE around it has the last line."""
    pytest.importorskip("tflite_micro")
    writer = ModelWriter()
    main, condition, body = (writer.subgraph(name) for name in ("main", "condition", "body"))
    x, y = (main.tensor(name, "int32", [1]) for name in "xy")
    main.operator("WHILE", [x], [y], {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    main.inputs, main.outputs = [x], [y]
    for graph, operator, dtype, more in ((condition, "LESS", "bool", [3]), (body, "NEG", "int32", [])):
        graph.inputs, graph.outputs = [graph.tensor("v", "int32", [1])], [graph.tensor("w", dtype, [1])]
        limits = [graph.constant("limit", np.array([limit], np.int32)) for limit in more]
        graph.operator(operator, [*graph.inputs, *limits], graph.outputs)
    (tmp_path / "loop.tflite").write_bytes(writer.finish())
    with pytest.raises(OracleError, match=r"INT32 .*not supported.* / Node NEG .* / RuntimeError: Inter"):
        tflm_outputs(tmp_path / "loop.tflite", [VectorSet("", 0, (np.array([1], np.int32),))], 0, 60)
