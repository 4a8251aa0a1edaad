"""Seeded random cases of the operators with weights and windows.

Their `dtype` is that of input and output; "hybrid" is float32 by int8 weights.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from tflmgen.ir.types import DType

from support.kernel_harness import Array, Case, Tensor, constant, make_case, random_values, scale_of, tensor

Run = tuple[Case, list[Array | None]]


def pick(rng: np.random.Generator, *choices: Any) -> Any:
    return choices[rng.integers(len(choices))]


def int8_tensor(rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Tensor:
    zero_point = pick(rng, -128, 127, 0, int(rng.integers(-128, 128)))
    return tensor("int8", shape, float(rng.uniform(0.001, 0.2)), zero_point)


def weights(rng: np.random.Generator, shape: tuple[int, ...], channel_axis: int | None) -> Tensor:
    """int8 weights, at times extreme ones; one scale per index of `channel_axis`, or one in all."""
    span = pick(rng, 127, 127, 5)
    values = pick(rng, rng.integers(-span, span + 1, shape), np.where(rng.random(shape) < 0.5, -span, span))
    count = 1 if channel_axis is None else shape[channel_axis]
    return constant("int8", values, rng.uniform(0.0005, 0.05, count), 0, channel_axis or 0)


def int16_tensor(rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Tensor:
    return tensor("int16", shape, float(rng.uniform(1e-5, 1e-3)))


def bias(
    rng: np.random.Generator, channels: int, dtype: str, scales: Array | float, wide: bool = True
) -> Tensor | None:
    """A random bias, or None. For int16 activations it has 64 bits; unless `wide`, now and then 32."""
    if rng.random() < 0.25:
        return None
    if dtype == "float32":
        return constant("float32", rng.normal(size=channels))
    scale = np.resize(scales, channels).astype(np.float32)
    if dtype == "int16":
        kind = "int64" if wide or rng.random() < 0.7 else "int32"
        return constant(kind, rng.integers(-(2**24), 2**24, channels), scale, 0, 0)
    return constant("int32", rng.integers(-20000, 20000, channels), scale, 0, 0)


def activation(rng: np.random.Generator) -> int:
    return int(pick(rng, 0, 0, 1, 2, 3))


def geometry(rng: np.random.Generator, dilated: bool) -> tuple[dict[str, Any], tuple[int, int], tuple[int, int]]:
    """Options, input size and filter size (height, width) such that a VALID window fits."""
    taps = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    dilation = (int(pick(rng, 1, 1, 2, 3)), int(pick(rng, 1, 1, 2, 3))) if dilated else (1, 1)
    options: dict[str, Any] = {
        "padding": int(rng.integers(2)),
        "stride_h": int(rng.integers(1, 4)),
        "stride_w": int(rng.integers(1, 4)),
        "fused_activation_function": activation(rng),
    }
    if dilated:
        options |= {"dilation_h_factor": dilation[0], "dilation_w_factor": dilation[1]}
    reach = [(t - 1) * d + 1 for t, d in zip(taps, dilation, strict=True)]
    least = (1, 1) if options["padding"] == 0 else (reach[0], reach[1])
    return options, (least[0] + int(rng.integers(6)), least[1] + int(rng.integers(6))), taps


def _filter(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], axis: int, per_channel: bool) -> Tensor:
    if dtype == "float32":
        return constant("float32", rng.normal(size=shape))
    return weights(rng, shape, axis if per_channel else None)


def _bias_for(
    rng: np.random.Generator, dtype: str, x: Tensor, w: Tensor, channels: int, wide: bool = False
) -> Tensor | None:
    if dtype in ("float32", "hybrid"):
        return bias(rng, channels, "float32", 1.0)
    assert w.type.quantization is not None
    return bias(rng, channels, dtype, scale_of(x) * np.array(w.type.quantization.scales), wide)


def at_run_time(rng: np.random.Generator, item: Tensor | None) -> Tensor | None:
    """Now and then a weight or bias that is no constant."""
    if item is None or item.type.dtype is DType.INT64 or rng.random() >= 0.15:
        return item
    return Tensor(item.type)


def values_of(case: Case, rng: np.random.Generator) -> list[Array | None]:
    """Random values, with biases small enough for the accumulators."""
    values = random_values(case, rng)
    if len(values) > 2 and values[2] is not None and values[2].dtype.kind == "i":
        values[2] = values[2] >> 16
    return values


def _input(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Tensor:
    by_dtype = {"int8": int8_tensor, "int16": int16_tensor}
    if dtype == "hybrid":
        return tensor("float32", shape)
    return by_dtype[dtype](rng, shape) if dtype in by_dtype else tensor(dtype, shape)


def _output(rng: np.random.Generator, dtype: str, terms: int) -> Tensor:
    """An output whose scale now and then makes results saturate, or shift left."""
    if dtype in ("float32", "hybrid"):
        return tensor("float32", ())
    if dtype == "int16":
        return tensor("int16", (), float(rng.uniform(0.0002, 0.002)) * np.sqrt(terms) * pick(rng, 1.0, 1.0, 0.01))
    scale = float(rng.uniform(0.05, 0.5)) * np.sqrt(terms) * pick(rng, 1.0, 1.0, 0.01, 1e-4)
    return tensor("int8", (), scale, int(rng.integers(-128, 128)))


def conv2d(rng: np.random.Generator, dtype: str) -> Run:
    options, size, taps = geometry(rng, dilated=True)
    groups, filter_channels = int(pick(rng, 1, 1, 2, 3)), int(rng.integers(1, 6))
    channels = groups * int(rng.integers(1, 4))
    x = _input(rng, dtype, (int(pick(rng, 1, 1, 2)), *size, filter_channels * groups))
    w = _filter(rng, dtype, (channels, *taps, filter_channels), 0, bool(rng.integers(2)))
    b = _bias_for(rng, dtype, x, w, channels)
    y = _output(rng, dtype, taps[0] * taps[1] * filter_channels)
    case = make_case("CONV_2D", [x, at_run_time(rng, w), at_run_time(rng, b)], [y], options)
    return case, values_of(case, rng)


def depthwise_conv2d(rng: np.random.Generator, dtype: str) -> Run:
    options, size, taps = geometry(rng, dilated=True)
    channels, multiplier = int(rng.integers(1, 6)), int(pick(rng, 1, 1, 2, 3))
    x = _input(rng, dtype, (int(pick(rng, 1, 1, 2)), *size, channels))
    w = _filter(rng, dtype, (1, *taps, channels * multiplier), 3, bool(rng.integers(2)))
    b = _bias_for(rng, dtype, x, w, channels * multiplier, wide=True)
    y = _output(rng, dtype, taps[0] * taps[1])
    weighted = [x, at_run_time(rng, w), at_run_time(rng, b)]
    # TFLite Micro dies of a third input that is declared and absent.
    case = make_case(
        "DEPTHWISE_CONV_2D", weighted if b else weighted[:2], [y], options | {"depth_multiplier": multiplier}
    )
    return case, values_of(case, rng)


def conv3d(rng: np.random.Generator, dtype: str) -> Run:
    taps, dilations = (tuple(int(n) for n in rng.integers(1, bound, 3)) for bound in (4, 3))
    options = {"padding": int(rng.integers(2)), "fused_activation_function": activation(rng)}
    options |= {f"stride_{axis}": int(rng.integers(1, 4)) for axis in "dhw"}
    options |= {f"dilation_{axis}_factor": dilation for axis, dilation in zip("dhw", dilations, strict=True)}
    least = [1 if options["padding"] == 0 else (t - 1) * d + 1 for t, d in zip(taps, dilations, strict=True)]
    channels, outputs = int(rng.integers(1, 5)), int(pick(rng, 1, 2, 3, 4, 7, 8, 13))
    x = tensor(dtype, (int(pick(rng, 1, 1, 2)), *(n + int(rng.integers(4)) for n in least), channels))
    w = constant(dtype, rng.normal(size=(*taps, channels, outputs)))
    b = at_run_time(rng, bias(rng, outputs, dtype, 1.0))
    case = make_case("CONV_3D", [x, w, b] if b else [x, w], [tensor(dtype, ())], options)
    return case, random_values(case, rng)


def fully_connected(rng: np.random.Generator, dtype: str) -> Run:
    depth, units = int(rng.integers(1, 40)), int(rng.integers(1, 12))
    lead = pick(rng, (1,), (3,), (2, 2))
    keep = bool(rng.integers(2)) and len(lead) > 0
    per_channel = bool(rng.integers(2)) and not (keep and len(lead) > 1)
    x = _input(rng, dtype, (*lead, depth))
    w = _filter(rng, dtype, (units, depth), 0, per_channel)
    b = _bias_for(rng, dtype, x, w, units)
    y = _output(rng, dtype, depth)
    options: dict[str, Any] = {"fused_activation_function": activation(rng), "keep_num_dims": keep}
    if dtype == "hybrid":
        options["asymmetric_quantize_inputs"] = bool(rng.integers(2))
    case = make_case("FULLY_CONNECTED", [x, at_run_time(rng, w), at_run_time(rng, b)], [y], options)
    return case, values_of(case, rng)


def pool2d(rng: np.random.Generator, dtype: str, operator: str) -> Run:
    options, size, taps = geometry(rng, dilated=False)
    x = _input(rng, dtype, (int(pick(rng, 1, 1, 2)), *size, int(rng.integers(1, 6))))
    options |= {"filter_height": taps[0], "filter_width": taps[1]}
    case = make_case(operator, [x], [x], options)
    return case, random_values(case, rng)


def with_int4_filter(rng: np.random.Generator, run: Run) -> Run:
    """The same with a constant filter of int4, at times extreme."""
    case, values = run
    source, old, *rest = case.inputs
    assert old
    shape = old.type.max_shape
    data = pick(rng, rng.integers(-7, 8, shape), np.where(rng.random(shape) < 0.5, -8, 7)).astype(np.int8)
    small = Tensor(replace(old.type, dtype=DType.INT4), data)
    return replace(case, inputs=(source, small, *rest)), [values[0], None, *values[2:]]


WEIGHTED = (conv2d, depthwise_conv2d, fully_connected)
