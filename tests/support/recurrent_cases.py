"""Seeded random cases of LSTM, RNN and SVDF: each with its inputs, step after step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tflmgen.kernels.specification.operator import INTERMEDIATES

from support.conv_cases import pick
from support.kernel_harness import Array, Case, Tensor, constant, make_case, quantization, tensor

STEPS = 3

CELLS_LOG2 = (-30.9, -30, -24.4, -20, -16, -15.3, -13.5, -11.51, -8, -5, -1.2, 0, 2)
"""Logarithms of scales of cells that converters do not make and TFLite Micro takes."""

Steps = tuple[Case, list[Array]]


def inputs_of(rng: np.random.Generator, kind: Tensor) -> list[Array]:
    shape, dtype = kind.type.max_shape, kind.type.dtype
    if dtype.is_float:
        return [rng.normal(size=shape).astype(np.float32) for _ in range(STEPS)]
    low, high = dtype.limits
    return [rng.integers(low, high, shape, dtype.numpy, endpoint=True) for _ in range(STEPS)]


def quantized_lstm(
    rng: np.random.Generator,
    dtype: str,
    sizes: Sequence[int] | None = None,
    least: int = -127,
    largest_scale: float = 0.05,
    cells_log2: Sequence[float] = range(-15, -8),
) -> Steps:
    """sizes: batches, steps, inputs and cells; least: of weights; most: of their scales; cells_log2: of cells'."""
    batches, steps, inputs, cells = (int(n) for n in (sizes or rng.integers(1, 6, 4)))
    time_major = bool(rng.integers(2))
    point = int(rng.integers(-128, 128)) if dtype == "int8" else 0
    unit = 1.0 if dtype == "int8" else 2.0**-8
    source = tensor(dtype, (steps, batches, inputs) if time_major else (batches, steps, inputs), 0.03 * unit, point)
    state_scale = float(rng.uniform(0.004, 0.02)) * unit
    state = tensor(dtype, (batches, cells), state_scale, int(rng.integers(-128, 128)) if dtype == "int8" else 0)
    cell = tensor("int16", (batches, cells), 2.0 ** cells_log2[int(rng.integers(len(cells_log2)))])
    weights = [
        constant("int8", rng.integers(least, 128, (cells, n)), float(rng.uniform(0.002, largest_scale)))
        for n in [inputs] * 4 + [cells] * 4
    ]
    bias = "int32" if dtype == "int8" else "int64"
    span = 5000 if dtype == "int8" else 500000
    biases = [constant(bias, rng.integers(-span, span, cells), 1e-4) for _ in range(4)]
    options = {
        "fused_activation_function": 4,
        "cell_clip": float(pick(rng, 0.0, 0.5, 10.0)),
        "time_major": time_major,
    }
    tensors = [source, *weights, None, None, None, *biases, None, None, state, cell, None, None, None, None]
    case = make_case("UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, [tensor(dtype, (), state_scale)], options)
    return case, inputs_of(rng, source)


def fixed_lstm(rng: np.random.Generator, operator: str) -> Steps:
    """int8 with variants at random."""
    batches, steps, inputs, cells = (int(n) for n in rng.integers(1, 6, 4))
    coupled, peepholes, projected, normalized = (bool(flag) for flag in rng.integers(0, 2, 4))
    projected |= operator != "LSTM" and not (coupled or peepholes or normalized)
    # LiteRT writes out of bounds where there are more outputs than cells.
    outputs = int(rng.integers(1, cells + 1)) if projected and not peepholes else cells
    shape = (batches, inputs) if operator == "LSTM" else (batches, steps, inputs)
    source = tensor("int8", shape, 0.03, int(rng.integers(-128, 128)))
    state_scale, state_point = float(rng.uniform(0.004, 0.02)), int(rng.integers(-128, 128))
    states = [
        tensor("int8", (batches, outputs), state_scale, state_point),
        tensor("int16", (batches, cells), 2.0 ** int(rng.integers(-15, -10))),
    ]

    def weights(*extents: int) -> Tensor:
        return constant("int8", rng.integers(-127, 128, extents), float(rng.uniform(0.002, 0.05)))

    def int16s(*extents: int) -> Tensor:
        return constant("int16", rng.integers(-32767, 32768, extents), float(rng.uniform(1e-5, 1e-4)))

    def biases(*extents: int) -> Tensor:
        return constant("int32", rng.integers(-5000, 5000, extents), 1e-4)

    def gates(make: Callable[..., Tensor], present: bool, *extents: int) -> list[Tensor | None]:
        return [make(*extents) if present and not (coupled and i == 0) else None for i in range(4)]

    projection = [weights(outputs, cells), pick(rng, None, biases(outputs))] if projected else [None, None]
    inner = tuple(quantization(float(rng.uniform(1e-4, 1e-3))) for _ in range(4))
    hidden = quantization(float(rng.uniform(0.004, 0.02)), pick(rng, -128, int(rng.integers(-128, 128))))
    if not projected:
        hidden = quantization(state_scale, state_point)
    options: dict[str, Any] = {"fused_activation_function": 4, "cell_clip": float(pick(rng, 0.0, 0.3))}
    options |= {"proj_clip": float(pick(rng, 0.0, 0.5)) if projected else 0.0, INTERMEDIATES: (*inner, hidden)}
    tensors = [source, *gates(weights, True, cells, inputs), *gates(weights, True, cells, outputs)]
    tensors += [*gates(int16s, peepholes, cells)[:3], *gates(biases, True, cells), *projection, *states]
    tensors += gates(int16s, normalized, cells)
    return make_case(operator, tensors, [tensor("int8", (), state_scale, state_point)], options), inputs_of(rng, source)


def float_lstm(
    rng: np.random.Generator,
    variants: bool,
    operator: str = "UNIDIRECTIONAL_SEQUENCE_LSTM",
    hybrid: bool = False,
    largest_extent: int = 5,
) -> Steps:
    """A random float LSTM; with `variants`, at random with coupled gates, peepholes, projection, layer normalisation.

    hybrid: weights are int8. most: inputs and cells.
    """
    (batches, steps), (inputs, cells) = rng.integers(1, 6, 2).tolist(), rng.integers(1, largest_extent + 1, 2).tolist()
    coupled, peepholes, projected, normalized = (variants and bool(flag) for flag in rng.integers(0, 2, 4))
    outputs = int(rng.integers(1, 6)) if projected else cells
    time_major = operator != "LSTM" and bool(rng.integers(2))
    shape = (steps, batches, inputs) if time_major else (batches, steps, inputs)
    source = tensor("float32", (batches, inputs) if operator == "LSTM" else shape)

    def array(*extents: int) -> Tensor:
        return constant("float32", rng.normal(size=extents))

    def weights(*extents: int) -> Tensor:
        if not hybrid:
            return array(*extents)
        return constant("int8", rng.integers(-127, 128, extents), float(rng.uniform(0.005, 0.02)))

    def gates(make: Callable[..., Tensor], present: bool, *extents: int) -> list[Tensor | None]:
        return [make(*extents) if present and not (coupled and i == 0) else None for i in range(4)]

    peephole = gates(weights, peepholes, cells)[:3]
    projection = [weights(outputs, cells), pick(rng, None, array(outputs))] if projected else [None, None]
    states = [tensor("float32", (batches, outputs)), tensor("float32", (batches, cells))]
    options: dict[str, Any] = {"fused_activation_function": 4, "cell_clip": float(pick(rng, 0.0, 0.7))}
    options |= {"proj_clip": float(pick(rng, 0.0, 0.5)) if projected else 0.0}
    if operator != "LSTM":
        options["time_major"] = time_major
    if hybrid:
        options["asymmetric_quantize_inputs"] = bool(rng.integers(2))
    tensors = [source, *gates(weights, True, cells, inputs), *gates(weights, True, cells, outputs), *peephole]
    tensors += [*gates(array, True, cells), *projection, *states, *gates(array, normalized, cells)]
    return make_case(operator, tensors, [tensor("float32", ())], options), inputs_of(rng, source)


def svdf(rng: np.random.Generator, state: str, sizes: Sequence[int] | None = None, least: int = -127) -> Steps:
    """sizes: batches, inputs, units, rank and memory; least: of int8 weights of the input."""
    batches, inputs, units, rank, memory = (int(n) for n in (sizes or rng.integers(1, 6, 5)))
    filters = units * rank
    if state == "hybrid":
        source, output = tensor("float32", (batches, inputs)), tensor("float32", ())
        weights = [constant("int8", rng.integers(-127, 128, (filters, n)), 0.01) for n in (inputs, memory)]
        bias = constant("float32", rng.normal(size=units))
        held = tensor("float32", (batches, filters * memory))
        options = {"rank": rank, "fused_activation_function": int(pick(rng, 0, 1, 3))}
        options["asymmetric_quantize_inputs"] = bool(rng.integers(2))
    elif state == "float32":
        source, output = tensor(state, (batches, inputs)), tensor(state, ())
        weights = [constant(state, rng.normal(size=(filters, n))) for n in (inputs, memory)]
        bias, held = constant(state, rng.normal(size=units)), tensor(state, (batches, filters * memory))
        options = {"rank": rank, "fused_activation_function": int(pick(rng, 0, 1, 3))}
    else:
        source = tensor("int8", (batches, inputs), 0.05, int(rng.integers(-128, 128)))
        held_scale = float(rng.uniform(0.01, 0.05)) * (1.0 if state == "int8" else 2.0**-8)
        point = int(rng.integers(-128, 128)) if state == "int8" else 0
        held = tensor(state, (batches, filters * memory), held_scale, point)
        time_scale = 0.02 if state == "int8" else 1e-4
        span = 127 if state == "int8" else 32767
        weights = [
            constant("int8", rng.integers(least, 128, (filters, inputs)), 0.01),
            constant(state, rng.integers(-span, span + 1, (filters, memory)), time_scale),
        ]
        bias = constant("int32", rng.integers(-3000, 3000, units), held_scale * time_scale)
        relu = bool(rng.integers(2))
        output = tensor("int8", (), float(rng.uniform(0.02, 0.2)), -128 if relu else int(rng.integers(-128, 128)))
        options = {"rank": rank, "fused_activation_function": int(relu)}
    return make_case("SVDF", [source, *weights, bias, held], [output], options), inputs_of(rng, source)


def rnn(rng: np.random.Generator, operator: str, hybrid: bool, largest_extent: int = 5) -> Steps:
    """hybrid: weights are int8. most: inputs and units."""
    (batches, steps), (inputs, units) = rng.integers(1, 6, 2).tolist(), rng.integers(1, largest_extent + 1, 2).tolist()
    time_major = operator != "RNN" and bool(rng.integers(2))
    shape = (steps, batches, inputs) if time_major else (batches, steps, inputs)
    source = tensor("float32", (batches, inputs) if operator == "RNN" else shape)
    if hybrid:
        scale = float(rng.uniform(0.002, 0.02))
        weights = [constant("int8", rng.integers(-127, 128, (units, n)), scale) for n in (inputs, units)]
    else:
        weights = [constant("float32", rng.normal(size=(units, n))) for n in (inputs, units)]
    tensors = [source, *weights, constant("float32", rng.normal(size=units)), tensor("float32", (batches, units))]
    options: dict[str, Any] = {"fused_activation_function": int(pick(rng, 1, 3, 4))}
    if hybrid:
        options["asymmetric_quantize_inputs"] = bool(rng.integers(2))
    if operator != "RNN":
        options["time_major"] = time_major
    return make_case(operator, tensors, [tensor("float32", ())], options), inputs_of(rng, source)


def gru(rng: np.random.Generator, largest_extent: int = 5) -> Steps:
    """TflmgenGru from a first state that is an input, too. largest_extent: of inputs and units."""
    steps, (inputs, units) = int(rng.integers(1, 6)), rng.integers(1, largest_extent + 1, 2).tolist()
    source, state = tensor("float32", (steps, 1, inputs)), tensor("float32", (1, units))
    weights = [constant("float32", rng.normal(size=(3 * units, n))) for n in (inputs, units)]
    biases = [constant("float32", rng.normal(size=3 * units)) for _ in range(2)]
    tensors = [source, weights[0], biases[0], weights[1], biases[1], state]
    return make_case("CUSTOM:TflmgenGru", tensors, [tensor("float32", (1, units))]), inputs_of(rng, source)
