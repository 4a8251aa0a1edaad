"""Compares random ONNX graphs, lowered and run by the reference interpreter, with ONNX Runtime, all in this process."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
import onnx
from tflmgen.errors import ModelError
from tflmgen.frontend.onnx.convert_graph import OnnxOptions, to_tflite
from tflmgen.reference import Interpreter, RunTimeError, magnitude_of
from tflmgen.sources.output_differences import is_within

from support import random_onnx_layer_makers, random_onnx_makers, random_onnx_move_makers
from support.random_onnx_nodes import MAKERS, Array, random_graph

OPERATORS = sorted(MAKERS)
"""Operators of the random graphs."""
TOLERANCE = 2e-4

assert random_onnx_makers, (random_onnx_layer_makers, random_onnx_move_makers)


def compare(op: str, seed: int) -> tuple[str, str]:
    """How a random graph went: "equal", "wrong", "refused" here, or "open" where ONNX Runtime has no result."""
    return compare_model(*random_graph(op, seed))


def compare_model(model: onnx.ModelProto, inputs: Mapping[str, Array]) -> tuple[str, str]:
    """The same of a model, whose last node is its operator."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        wanted = session.run(None, dict(inputs))
    except Exception as error:
        # Exceptions of the runtime have no common class.
        return "open", str(error)
    try:
        lowered = to_tflite(model, "m.onnx", OnnxOptions())
    except ModelError as error:
        return "refused", str(error)
    signature = lowered.signatures[0]
    operands = [inputs[name] for name, _ in signature.inputs]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            actual = Interpreter(lowered).invoke(signature, operands)
    except RunTimeError as error:
        return "refused", str(error)
    magnitude = magnitude_of(operands)
    for name, ours, theirs in zip((name for name, _ in signature.outputs), actual, wanted, strict=True):
        if ours.dtype != theirs.dtype:
            return "wrong", f"{name} is {ours.dtype}, not {theirs.dtype}"
        if not is_within(ours, np.asarray(theirs), TOLERANCE, magnitude):
            node = onnx.helper.printable_node(model.graph.node[-1])
            version = model.opset_import[0].version
            return (
                "wrong",
                f"version {version}: {node}: {_text(ours)} for {_text(np.asarray(theirs))}",
            )
    return "equal", ""


def _text(array: Array) -> str:
    return f"{array.shape} {array.reshape(-1)[:6]}"
