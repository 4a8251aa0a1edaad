"""Operators on random data and constants, with random constants for weights and tables, appended to a subgraph.

Values have rank 4 and any shape and, where the type is quantised, any of a few quantisations. Numbers of float32 are
small integers, so that every order of summation gives the same: what could grow has an activation with a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from support.model_writer import SubgraphWriter

QUANTIZATIONS = {"int8": ((0.5, 3), (0.1, -128), (0.05, 0)), "int16": ((0.01, 0), (0.002, 0))}
ELEMENTS_LIMIT = 200
"""Larger values are operands no more."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A value's shape and, where its type has it, quantisation."""

    shape: tuple[int, ...]
    quantization: tuple[float, int] | None

    @property
    def elements(self) -> int:
        return int(np.prod(self.shape))


@dataclass(frozen=True, slots=True)
class Value:
    index: int
    kind: Kind


@dataclass
class Scope:
    """A subgraph in the making with its values; `condition` is a bool tensor of it."""

    rng: np.random.Generator
    dtype: str
    graph: SubgraphWriter
    values: list[Value] = field(default_factory=list)
    condition: int = -1

    @property
    def is_quantized(self) -> bool:
        return self.dtype in QUANTIZATIONS

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def integer(self, least: int, greatest: int) -> int:
        return int(self.rng.integers(least, greatest, endpoint=True))

    def choose(self, choices: Sequence[Any]) -> Any:
        return choices[self.integer(0, len(choices) - 1)]

    def kind(self, shape: tuple[int, ...] | None = None) -> Kind:
        """Any quantisation, and any shape where none is given."""
        if shape is None:
            shape = (1, self.integer(1, 4), self.integer(1, 4), self.integer(1, 4))
        return Kind(shape, self.choose(QUANTIZATIONS[self.dtype]) if self.is_quantized else None)

    def tensor(self, kind: Kind) -> Value:
        name = f"t{len(self.graph.tensors)}"
        return Value(self.graph.tensor(name, self.dtype, kind.shape, **_in_file(kind)), kind)

    def input(self, kind: Kind) -> Value:
        self.values.append(self.tensor(kind))
        return self.values[-1]

    def constant(self, kind: Kind) -> Value:
        """All of one number, the least, the greatest or the zero point among them, or random numbers."""
        info = np.iinfo(self.dtype) if self.is_quantized else None
        low, high = (info.min, info.max) if info else (-9, 9)
        numbers = (low, high, 0, kind.quantization[1] if kind.quantization else 1)
        data = self.rng.integers(low, high, kind.shape, endpoint=True)
        if self.chance(0.5):
            data = np.full(kind.shape, self.choose(numbers))
        name = f"c{len(self.graph.tensors)}"
        return Value(self.graph.constant(name, data, self.dtype, **_in_file(kind)), kind)

    def table(self, numbers: Any, dtype: str = "int32") -> int:
        return self.graph.constant(f"c{len(self.graph.tensors)}", np.array(numbers, dtype))

    def pick(self) -> Value:
        """One of the values that are not too large; the subgraph's first input always is one."""
        small = [value for value in self.values if value.kind.elements <= ELEMENTS_LIMIT]
        return small[self.integer(0, len(small) - 1)]

    def operand(self) -> Value:
        """A random operand: a constant in two of three cases, else a value of the subgraph."""
        return self.constant(self.kind()) if self.chance(2 / 3) else self.pick()

    def apply(self, name: str, inputs: Sequence[int], kind: Kind, **options: Any) -> Value:
        result = self.tensor(kind)
        self.graph.operator(name, inputs, [result.index], options)
        self.values.append(result)
        return result

    def fitted(self, value: Value, kind: Kind) -> Value:
        """The value as one of another shape and quantisation."""
        if value.kind.shape != kind.shape:
            for shape in ((1, value.kind.elements, 1, 1), (1, kind.elements, 1, 1), kind.shape):
                name, table = ("RESHAPE", list(shape))
                if value.kind.elements != int(np.prod(shape)):
                    name, table = "RESIZE_NEAREST_NEIGHBOR", list(shape[1:3])
                value = self.apply(name, [value.index, self.table(table)], replace(value.kind, shape=shape))
        return value if value.kind == kind else self.apply("QUANTIZE", [value.index], kind)


def _in_file(kind: Kind) -> dict[str, Any]:
    return {} if kind.quantization is None else {"scale": [kind.quantization[0]], "zero_point": [kind.quantization[1]]}


Write = Callable[[Scope, Value], object]


def _activation(s: Scope) -> int:
    """A random fused activation: none for int32, RELU_N1_TO_1 or RELU6 (which have a limit) for float32."""
    return 0 if s.dtype == "int32" else s.integer(2, 3) if s.dtype == "float32" else s.integer(0, 3)


def _binary(name: str) -> Write:
    """Writes a binary operator whose second operand is a constant of the same shape or of one number per channel,
    another value, or the first operand itself.
    """

    def write(s: Scope, x: Value) -> None:
        alike = name in ("MAXIMUM", "MINIMUM")
        row = (1, 1, 1, x.kind.shape[3])
        others = [
            value
            for value in (x, *s.values)
            if value.kind == x.kind or (not alike and value.kind.shape == x.kind.shape)
        ]
        y = s.choose(others)
        if s.chance(0.5):
            kind = s.kind(s.choose((x.kind.shape, row)))
            y = s.constant(replace(x.kind, shape=kind.shape) if alike else kind)
        operands = [x.index, y.index] if s.chance(0.5) else [y.index, x.index]
        if alike:
            s.apply(name, operands, x.kind)
        else:
            s.apply(name, operands, s.kind(x.kind.shape), fused_activation_function=_activation(s))

    return write


def _weights(s: Scope, x: Value, shape: tuple[int, ...], axis: int) -> list[int]:
    """Constant weights, at times all zero or extreme, with a scale per channel or one, and at times a bias."""
    channels = shape[axis]
    low, high = (-127, 127) if s.is_quantized else (-2, 2)
    data = s.rng.integers(low, high, shape, endpoint=True)
    if s.chance(0.4):
        data = np.full(shape, s.choose((0, low, high)))
    bias = s.rng.integers(-9, 10, channels) * s.integer(0, 1) * (99 if s.is_quantized else 1)
    names = [f"{letter}{len(s.graph.tensors)}" for letter in "wb"]
    if x.kind.quantization is None:
        constants = [s.graph.constant(names[0], data, s.dtype), s.graph.constant(names[1], bias, s.dtype)]
    else:
        scales = s.rng.uniform(0.002, 0.02, s.choose((1, channels))).astype(np.float32)
        wide = "int64" if s.dtype == "int16" else "int32"
        constants = [
            s.graph.constant(names[0], data, "int8", scales, [0] * len(scales), axis),
            s.graph.constant(names[1], bias, wide, scales * np.float32(x.kind.quantization[0]), [0] * len(scales)),
        ]
    return constants[: s.integer(1, 2)] if s.dtype != "int16" else constants


def _window(s: Scope, x: Value) -> tuple[tuple[int, int], tuple[int, int], dict[str, int]]:
    """The taps, the output's height and width, and the options of an operator with windows."""
    same, strides = s.chance(0.5), (s.integer(1, 2), s.integer(1, 2))
    sizes = x.kind.shape[1:3]
    taps = tuple(s.integer(1, 3 if same else min(3, size)) for size in sizes)
    out = tuple(
        -(-size // stride) if same else (size - tap) // stride + 1
        for size, tap, stride in zip(sizes, taps, strides, strict=True)
    )
    options = {"padding": int(not same), "stride_h": strides[0], "stride_w": strides[1]}
    return (taps[0], taps[1]), (out[0], out[1]), options | {"fused_activation_function": _activation(s)}


UNDILATED = {"dilation_h_factor": 1, "dilation_w_factor": 1}


def _convolution(s: Scope, x: Value) -> None:
    (taps, out, options), channels = _window(s, x), s.choose((1, 2, 4, 8))
    weights = _weights(s, x, (channels, *taps, x.kind.shape[3]), 0)
    s.apply("CONV_2D", [x.index, *weights], s.kind((x.kind.shape[0], *out, channels)), **options, **UNDILATED)


def _depthwise(s: Scope, x: Value) -> None:
    (taps, out, options), multiplier = _window(s, x), s.choose((1, 1, 2))
    channels = x.kind.shape[3] * multiplier
    options |= UNDILATED | {"depth_multiplier": multiplier}
    weights = _weights(s, x, (1, *taps, channels), 3)
    s.apply("DEPTHWISE_CONV_2D", [x.index, *weights], s.kind((x.kind.shape[0], *out, channels)), **options)


def _dense(s: Scope, x: Value) -> None:
    units = s.integer(1, 8)
    options = {"keep_num_dims": True, "fused_activation_function": _activation(s)}
    weights = _weights(s, x, (units, x.kind.shape[3]), 0)
    s.apply("FULLY_CONNECTED", [x.index, *weights], s.kind((*x.kind.shape[:3], units)), **options)


def _pool(name: str) -> Write:
    def write(s: Scope, x: Value) -> None:
        taps, out, options = _window(s, x)
        options |= {"filter_height": taps[0], "filter_width": taps[1]}
        s.apply(name, [x.index], replace(x.kind, shape=(x.kind.shape[0], *out, x.kind.shape[3])), **options)

    return write


def _pad(name: str) -> Write:
    """Writes a pad, at times by nothing; a MIRROR_PAD by no more than there is to reflect."""

    def write(s: Scope, x: Value) -> None:
        greatest = [min(2, size - 1) if name == "MIRROR_PAD" else 2 for size in x.kind.shape]
        table = [[s.integer(0, m), s.integer(0, m)] if axis else [0, 0] for axis, m in enumerate(greatest)]
        table = [[0, 0]] * 4 if s.chance(0.3) else table
        shape = tuple(size + sum(edges) for size, edges in zip(x.kind.shape, table, strict=True))
        operands = [x.index, s.table(table)]
        if name == "PADV2":
            operands.append(s.constant(replace(x.kind, shape=(1,))).index)
        options = {"mode": s.integer(0, 1)} if name == "MIRROR_PAD" else {}
        s.apply(name, operands, replace(x.kind, shape=shape), **options)

    return write


def _reshape(s: Scope, x: Value) -> None:
    shape = s.choose((x.kind.shape, (1, 1, 1, x.kind.elements), (1, x.kind.elements, 1, 1)))
    s.apply("RESHAPE", [x.index, s.table(shape)], replace(x.kind, shape=shape))


def _resize(s: Scope, x: Value) -> None:
    batches, height, width, channels = x.kind.shape
    size = s.choose(((height, width), (s.integer(1, 5), s.integer(1, 5))))
    kind = replace(x.kind, shape=(batches, *size, channels))
    s.apply("RESIZE_NEAREST_NEIGHBOR", [x.index, s.table(size)], kind)


def _reverse(s: Scope, x: Value) -> None:
    s.apply("REVERSE_V2", [x.index, s.table([s.integer(0, 3)])], x.kind)


def _transpose(s: Scope, x: Value) -> None:
    order = s.rng.permutation(4)
    s.apply("TRANSPOSE", [x.index, s.table(order)], replace(x.kind, shape=tuple(x.kind.shape[i] for i in order)))


def _space_to_depth(s: Scope, x: Value) -> None:
    batches, height, width, channels = x.kind.shape
    block = 2 if height % 2 == width % 2 == 0 and s.chance(0.5) else 1
    kind = replace(x.kind, shape=(batches, height // block, width // block, channels * block**2))
    s.apply("SPACE_TO_DEPTH", [x.index], kind, block_size=block)


def _concatenation(s: Scope, x: Value) -> None:
    axis, length = s.integer(1, 3), s.integer(1, 3)
    other = s.constant(replace(x.kind, shape=(*x.kind.shape[:axis], length, *x.kind.shape[axis + 1 :])))
    shape = (*x.kind.shape[:axis], x.kind.shape[axis] + length, *x.kind.shape[axis + 1 :])
    operands = [x.index, other.index] if s.chance(0.5) else [other.index, x.index]
    s.apply("CONCATENATION", operands, replace(x.kind, shape=shape), axis=axis)


def _unary(name: str) -> Write:
    return lambda s, x: s.apply(name, [x.index], s.kind(x.kind.shape))


MOVES: tuple[Write, ...] = (
    *map(_pad, ("MIRROR_PAD", "PAD", "PADV2")),
    *(_concatenation, _reshape, _resize, _reverse, _space_to_depth, _transpose),
)
BINARY: tuple[Write, ...] = tuple(map(_binary, ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM")))
WEIGHTED: tuple[Write, ...] = (_convolution, _depthwise, _dense, _pool("MAX_POOL_2D"))
QUANTIZED: tuple[Write, ...] = (*map(_unary, ("QUANTIZE", "RELU")), _pool("AVERAGE_POOL_2D"))
OPERATORS = {
    "float32": (*MOVES, *BINARY, *WEIGHTED),
    "int32": (*MOVES, *BINARY),
    "int8": (*MOVES, *BINARY, *WEIGHTED, *WEIGHTED, *QUANTIZED),
    "int16": (*MOVES, *BINARY, *WEIGHTED, *QUANTIZED),
}
"""By element type; an operand that is a constant comes with any of them."""
