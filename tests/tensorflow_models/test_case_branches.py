"""A choice among branches by a number runs in TFLite Micro."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.tensorflow_environment import file_beside, requires_tensorflow
from tflmgen.conversion import ConversionSettings, tensorflow_source
from tflmgen.conversion.source_conversion import convert_in
from tflmgen.conversion.tensorflow_process import TensorFlowProcess
from tflmgen.frontend.tflite import write_model

pytestmark = [requires_tensorflow, pytest.mark.xdist_group("tensorflow")]


def test_a_choice_by_number_runs_in_tflite_micro(tensorflow: TensorFlowProcess) -> None:
    """It selects among no int32; an index below 0 or above the branches takes the last one."""
    runtime = pytest.importorskip("tflite_micro.python.tflite_micro.runtime", reason="needs tflite-micro")
    source = tensorflow_source(Path(f"{file_beside('tensorflow_models.py')}:choice"))
    assert source is not None
    model = convert_in(tensorflow, source, ConversionSettings(), lambda _: None).model
    graph = model.subgraphs[0]
    place = next(i for i, tensor in enumerate(graph.inputs) if not graph.tensors[tensor].shape)
    x = np.array([1, -2, 3, 0.5], np.float32)
    for number in (-(2**31), -5, -1, 0, 1, 2, 3, 4, 2**31 - 1):
        interpreter = runtime.Interpreter.from_bytes(write_model(model))
        interpreter.set_input(np.array(number, np.int32), place)
        interpreter.set_input(x, 1 - place)
        interpreter.invoke()
        expected = {0: x + 1, 1: x * 2, 2: np.tanh(x)}.get(number, x - 5)
        np.testing.assert_allclose(interpreter.get_output(0), expected, rtol=1e-6)
