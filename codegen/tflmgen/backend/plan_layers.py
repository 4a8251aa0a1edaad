"""Description of a layer for plan.json: window, quantisation and, for an operator in a stream, memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tflmgen.ir import ConstantArray, DType, Input, Kernel, Line, Op, RowCall, RowStream, Value
from tflmgen.kernels import Steps

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
    offsets = [call.write.offset for call in calls if isinstance(call.write, Line)]
    return max(offsets) - min(offsets) + row_bytes if offsets else 0
