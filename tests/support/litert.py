"""Runs a case through LiteRT's reference kernels, for operators that TFLite Micro lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flatbuffers
import numpy as np
import pytest

from support.case_models import model_bytes
from support.kernel_harness import Array, Case


def run_litert(case: Case, values: Sequence[Array | None], resolver: Any = None) -> list[Array]:
    """The outputs of LiteRT for a model of this one operator."""
    return run_litert_model(model_bytes(case), [v for v in values if v is not None], resolver)


def run_litert_model(model: bytes, values: Sequence[Array], resolver: Any = None) -> list[Array]:
    """The outputs of LiteRT's BUILTIN_REF, or of other kernels of its, for a model."""
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    interpreter = litert.Interpreter(
        model_content=model,
        experimental_op_resolver_type=resolver or litert.OpResolverType.BUILTIN_REF,
        num_threads=1,
    )
    interpreter.allocate_tensors()
    for detail, value in zip(interpreter.get_input_details(), values, strict=True):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    details = interpreter.get_output_details()
    return [np.array(interpreter.get_tensor(detail["index"])) for detail in details]


def with_biases(model: bytes) -> bytes:
    """The model with biases of zeros for depthwise convolutions that have none: LiteRT demands what means the same."""
    schema: Any = pytest.importorskip("ai_edge_litert.schema_py_generated", reason="ai-edge-litert is not installed")
    file = schema.ModelT.InitFromPackedBuf(model, 0)
    depthwise = schema.BuiltinOperator.DEPTHWISE_CONV_2D
    for graph in file.subgraphs:
        for op in graph.operators if graph.operators is not None else ():
            inputs = [int(i) for i in op.inputs]
            if file.operatorCodes[op.opcodeIndex].builtinCode == depthwise and inputs[2:] in ([], [-1]):
                channels = int(graph.tensors[op.outputs[0]].shape[-1])
                is_float = graph.tensors[inputs[0]].type == schema.TensorType.FLOAT32
                zeros, bias = schema.BufferT(), schema.TensorT()
                zeros.data = list(bytes(4 * channels))
                bias.name, bias.shape, bias.buffer = "bias", [channels], len(file.buffers)
                bias.type = schema.TensorType.FLOAT32 if is_float else schema.TensorType.INT32
                file.buffers.append(zeros)
                graph.tensors.append(bias)
                op.inputs = [*inputs[:2], len(graph.tensors) - 1]
    builder = flatbuffers.Builder(len(model))
    builder.Finish(file.Pack(builder), b"TFL3")
    return bytes(builder.Output())
