"""Description of a layer for plan.json: window, quantisation, MACs and, for an operator in a stream, memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tflmgen.ir import DType
from tflmgen.ir.graph import Op, Value
from tflmgen.ir.kernel import ConstantArray, Input, Kernel
from tflmgen.ir.streams import LineBuffer, RowCall, RowStream
from tflmgen.kernels.specification import Steps

Json = dict[str, Any]


def layer_of(op: Op) -> Json:
    """Fields of a layer: `window` for convolutions and pools, `quantization` for quantised operands."""
    window, quantization = _window(op), _quantization(op)
    return {**({"window": window} if window else {}), **({"quantization": quantization} if quantization else {})}


def _window(op: Op) -> Json | None:
    steps = getattr(op.attributes, "steps", None)
    if not isinstance(steps, Steps):
        return None
    # A pool has its taps among its attributes, a filter in its shape.
    taps = getattr(op.attributes, "taps", None)
    if taps is None:
        taps = next(weights.type.max_shape[1:3] for weights in op.inputs[1:] if weights is not None)
    explicit = any((*steps.before, *steps.after))
    return {
        "size": list(taps),
        "stride": [steps.stride_height, steps.stride_width],
        "dilation": [steps.dilation_height, steps.dilation_width],
        "padding": "SAME" if steps.same else "explicit" if explicit else "VALID",
    }


def _quantization(op: Op) -> Json:
    source, weights = ([*op.inputs, None, None])[:2]
    constant = weights if weights is not None and weights.is_constant else None
    named = (("input", source), ("weights", constant), ("output", op.outputs[0] if op.outputs else None))
    return {name: quantization for name, value in named if (quantization := _quantized(value))}


def _quantized(value: Value | None) -> Json | None:
    quantization = value.type.quantization if value is not None else None
    if value is None or quantization is None or value.type.dtype in (DType.FLOAT32, DType.FLOAT16):
        return None
    return {
        "dtype": value.type.dtype.label,
        "scale": None if quantization.per_channel else quantization.scale,
        "zero_point": quantization.zero_point,
        "scales": len(quantization.scales),
    }


def stage_memory(stream: RowStream, stage: int) -> Json:
    """Memory of operator `number` of a stream, in bytes: constants that it reads, and its output's line buffer."""
    calls = [call for number, call in enumerate(stream.calls) if call.stage == stage and number in set(stream.order)]
    return {
        "weights_bytes": _constant_bytes(stream.stages[stage].op, [call.kernel for call in calls]),
        "line_bytes": _line_bytes(calls, stream.stages[stage].row_bytes),
    }


def _constant_bytes(op: Op, kernels: Sequence[Kernel]) -> int:
    packed = {o.data for kernel in kernels for o in kernel.operands if isinstance(o, ConstantArray)}
    read = {o.index for kernel in kernels for o in kernel.operands if isinstance(o, Input)}
    values = {v for i, v in enumerate(op.inputs) if i in read and v is not None and v.is_constant}
    return sum(map(len, packed)) + sum(value.type.bytes for value in values)


def _line_bytes(calls: Sequence[RowCall], row_bytes: int) -> int:
    """Bytes of scratch between the first and the last row written there; 0 for rows written to the stream's output."""
    offsets = [call.write.offset for call in calls if isinstance(call.write, LineBuffer)]
    return max(offsets) - min(offsets) + row_bytes if offsets else 0


Place = tuple[int, int]
"""Subgraph and operator of the file."""


def executions(steps: Sequence[Json]) -> dict[int, int]:
    """Step -> how often it runs in one call of its function: every branch once, a loop of unknown length once."""
    by_index = {step["index"]: step for step in steps}
    executions_by_step = {}
    for index, step in by_index.items():
        executions_by_step[index] = 1
        while step["parent"] is not None:
            step = by_index[step["parent"]]
            executions_by_step[index] *= 1 if step.get("trips") is None else step["trips"]
    return executions_by_step


def with_file_macs(steps: Sequence[Json], removed: Mapping[Place, int]) -> list[Json]:
    """`steps` with `file_macs` for each operator: computed MACs plus those that value-range analysis removed.

    removed: operator -> MACs. If an operator became several steps (a function inlined twice), they share it equally.
    """
    parts: dict[Place, list[Json]] = {}
    copies = [_copied(step) for step in steps]
    for part in _operators(copies):
        parts.setdefault((part["subgraph"], part["operator"]), []).append(part)
    for place, macs in removed.items():
        same = parts.get(place, ())
        for number, part in enumerate(same):
            part["file_macs"] += macs * (number + 1) // len(same) - macs * number // len(same)
    for step in copies:
        if "stages" in step:
            step["file_macs"] = sum(stage["file_macs"] for stage in step["stages"])
    return copies


def total_macs(steps: Sequence[Json], removed: Mapping[Place, int]) -> dict[str, int]:
    """MACs of one call, weighted by `executions`; removed operators count once, in `file` only."""
    times = executions(steps)
    operators = [step for step in steps if step["kind"] == "operator"]
    left = {(part["subgraph"], part["operator"]) for part in _operators(steps)}
    dead_macs = sum(macs for place, macs in removed.items() if place not in left)
    return {
        "computed": sum(step["macs"] * times[step["index"]] for step in operators),
        "file": sum(step["file_macs"] * times[step["index"]] for step in operators) + dead_macs,
    }


def _copied(step: Json) -> Json:
    if step["kind"] != "operator":
        return step
    copied = {**step, "file_macs": step["macs"]}
    if "stages" in step:
        copied["stages"] = [{**stage, "file_macs": stage["macs"]} for stage in step["stages"]]
    return copied


def _operators(steps: Sequence[Json]) -> Iterator[Json]:
    """The operators of the file, with the stages of a stream in place of the stream."""
    for step in steps:
        if step["kind"] == "operator":
            yield from step.get("stages", (step,))
