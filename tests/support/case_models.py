"""Cases of single operators (kernel_harness.py) as files, for reference runtimes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tflmgen.ir.types import TensorType
from tflmgen.kernels.specification.operator import INTERMEDIATES
from tflmgen.kernels.table import OPERATORS

from support.model_writer import ModelWriter

if TYPE_CHECKING:
    from support.kernel_harness import Case


def model_bytes(case: Case, open_axis: int | None = None) -> bytes:
    """A .tflite file that holds the case's operator alone; this axis of its inputs and outputs is open."""
    writer = ModelWriter()
    graph = writer.subgraph("main")
    indices = []
    for i, item in enumerate(case.inputs):
        if item is None:
            indices.append(-1)
            continue
        label = item.type.dtype.label
        if item.data is None:
            indices.append(graph.tensor(f"in{i}", label, list(item.type.max_shape), **_file_quantization(item.type)))
        else:
            packed = item.type.blocks
            blocks = None if packed is None else graph.blocks(packed.scales, packed.size)
            quantized = _file_quantization(item.type)
            indices.append(graph.constant(f"const{i}", item.data, dtype=label, blocks=blocks, **quantized))
    outputs = [
        graph.tensor(f"out{i}", t.dtype.label, list(t.max_shape), **_file_quantization(t))
        for i, t in enumerate(case.outputs[: len(case.outputs) - len(OPERATORS[case.operator].updates)])
    ]
    updates = OPERATORS[case.operator].updates
    options = dict(case.options)
    inner = [
        graph.tensor(f"inner{i}", "int16", [0], list(q.scales), list(q.zero_points)) if q else -1
        for i, q in enumerate(options.pop(INTERMEDIATES, ()))
    ]
    if case.operator == "STABLEHLO_SCATTER":
        function = options.pop("reduce_function")
        options["update_computation_subgraph_index"] = add_body(writer, BODIES[function], case.outputs[0].dtype.label)
    graph.operator(case.operator, indices, outputs, options, intermediates=inner or None)
    run_time = [i for i, item in enumerate(case.inputs) if item and item.data is None]
    for i in updates:
        graph.tensors[indices[i]]["is_variable"] = True
    graph.inputs = [indices[i] for i in run_time if i not in updates]
    graph.outputs = outputs
    for kind in (graph.tensors[i] for i in (*graph.inputs, *outputs)) if open_axis is not None else ():
        kind["shape_signature"] = [-1 if axis == open_axis else size for axis, size in enumerate(kind["shape"])]
    return bytes(writer.finish())


BODIES = ("", "STABLEHLO_ADD", "STABLEHLO_MULTIPLY", "STABLEHLO_MINIMUM", "STABLEHLO_MAXIMUM")
"""The operator that joins two elements, by its number in the schema; 0: the second is the result."""


def add_body(writer: ModelWriter, operator: str, dtype: str) -> int:
    """Index of a new subgraph that joins two scalars with an operator; without one the second is the result."""
    body = writer.subgraph("body")
    body.inputs = [body.tensor(name, dtype, []) for name in "ab"]
    body.outputs = [body.tensor("joined", dtype, [])] if operator else body.inputs[1:]
    if operator:
        body.operator(operator, body.inputs, body.outputs)
    return body.index


def _file_quantization(kind: TensorType) -> dict[str, Any]:
    q = kind.quantization
    return {"scale": list(q.scales), "zero_point": list(q.zero_points), "axis": q.axis} if q else {}
