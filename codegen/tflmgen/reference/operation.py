"""One operator with its operands, as the functions that evaluate operators take it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType, TensorType

Array = NDArray[Any]
Real = np.float32 | np.float64

FUSED_RANGES: Sequence[tuple[float, float]] = ((-np.inf, np.inf), (0.0, np.inf), (-1.0, 1.0), (0.0, 6.0))
"""Real range of each fused activation, by its number in the schema: NONE, RELU, RELU_N1_TO_1, RELU6."""

TANH = 4
"""Number of the activation of recurrent layers."""

GREATEST_FLOAT = float(np.finfo(np.float32).max)
"""Without an activation TFLite's kernels clamp to the finite numbers."""


class UnsupportedError(Exception):
    """An operator or a case of one that the reference does not evaluate; the text names it."""


class RunTimeError(Exception):
    """The model reports an error for these inputs, as its C code does: a bound is exceeded, an argument is wrong."""


class BoundError(RunTimeError):
    """The error is that a tensor has not the room for a dimension of this run."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operator.

    inputs        elements of each input in its shape at run time; None where an optional input is absent
    input_types   their declared types; dimensions may be larger or unknown there
    options       fields of the schema's options table, absent ones missing or with their defaults
    intermediates types of inner values, None where absent
    wide          floats are evaluated in float64, to see how much rounding to float32 matters
    attributes    what a graph has instead of options; None in a file
    """

    name: str
    inputs: tuple[Array | None, ...]
    input_types: tuple[TensorType | None, ...]
    output_types: tuple[TensorType, ...]
    options: Mapping[str, Any]
    intermediates: tuple[TensorType | None, ...] = ()
    wide: bool = False
    attributes: Any = None

    def has(self, index: int) -> bool:
        """Whether an input is there: an optional one may be absent."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def array(self, index: int) -> Array:
        """Elements of an input. Raises UnsupportedError if it is absent."""
        value = self.inputs[index] if index < len(self.inputs) else None
        if value is None:
            raise UnsupportedError(f"{self.name} without input {index}")
        return value

    def real(self, index: int) -> Array:
        """Elements of an input in float64."""
        return self.array(index).astype(np.float64)

    def integers(self, index: int) -> Array:
        """Elements of an input in int64."""
        return self.array(index).astype(np.int64)

    def centred(self, index: int) -> Array:
        """Elements of a quantised input in int64, less its zero point."""
        values = self.integers(index)
        zero_point = self.zero_point(index)
        return values - zero_point if zero_point else values

    def type(self, index: int) -> TensorType:
        """Declared type of an input. Raises UnsupportedError if it is absent."""
        input_type = self.input_types[index]
        if input_type is None:
            raise UnsupportedError(f"{self.name} without input {index}")
        return input_type

    def dtype(self, index: int = 0) -> DType:
        """Element type of an input. Raises UnsupportedError if it is absent."""
        return self.type(index).dtype

    def scale(self, index: int) -> float:
        """Scale of an input, in real units per step. Raises UnsupportedError if it is absent or not quantised."""
        return scale_of(self.type(index), self.name)

    def zero_point(self, index: int) -> int:
        """Zero point of an input; 0 if it is not quantised. Raises UnsupportedError if it is absent."""
        return zero_point_of(self.type(index))

    @property
    def output(self) -> TensorType:
        """Declared type of the first output."""
        return self.output_types[0]

    @property
    def output_scale(self) -> float:
        """Scale of the first output, in real units per step. Raises UnsupportedError if it is not quantised."""
        return scale_of(self.output, self.name)

    @property
    def output_zero_point(self) -> int:
        """Zero point of the first output; 0 if it is not quantised."""
        return zero_point_of(self.output)

    @property
    def gives_floats(self) -> bool:
        """Whether the first output has floats."""
        return self.output.dtype.is_float

    @property
    def float_type(self) -> np.dtype[Any]:
        """The NumPy type in which floats are computed: float64 if the evaluation is `wide`, else float32."""
        return np.dtype(np.float64 if self.wide else np.float32)

    def rounded(self, values: Array) -> Array:
        """Real numbers as the output's float type has them."""
        return np.asarray(values).astype(self.float_type)

    def clamped_real(self, values: Array) -> Array:
        """Real numbers after the fused activation, as the output's float type has them."""
        low, high = FUSED_RANGES[self.fused_activation]
        return np.clip(self.rounded(values), max(low, -GREATEST_FLOAT), min(high, GREATEST_FLOAT))

    @property
    def fused_activation(self) -> int:
        """The schema's number of the fused activation; 0 is none. Raises UnsupportedError if it has no known range."""
        number = int(self.options.get("fused_activation_function", 0) or 0)
        if number >= len(FUSED_RANGES):
            raise UnsupportedError(f"{self.name} with activation number {number}")
        return number

    def clamped(self, values: Array) -> Array:
        """Integers in the output's type, within the range of the fused activation."""
        low, high = self.output.dtype.limits
        if self.fused_activation:
            real = FUSED_RANGES[self.fused_activation]
            low, high = (
                max(low, quantized(real[0], self.output_scale, self.output_zero_point)),
                min(high, high if np.isinf(real[1]) else quantized(real[1], self.output_scale, self.output_zero_point)),
            )
        return values.clip(low, high).astype(self.output.dtype.numpy)

    def saturated(self, values: Array) -> Array:
        """Integers within the limits of the output's type."""
        return values.clip(*self.output.dtype.limits).astype(self.output.dtype.numpy)


Evaluation = Callable[[Operation], Sequence[Array]]
"""The outputs of an operation; after them the new contents of the variable tensors that it updates, by input."""


@dataclass(frozen=True, slots=True)
class CustomReference:
    """Definition of a plug-in's operator. states: what it keeps by itself, before the first invoke."""

    evaluate: Evaluation
    states: Callable[[Operation], tuple[Array, ...]]


CustomReferences = Mapping[str, CustomReference]
"""References of custom operators, by the operator's name, "CUSTOM:Foo"."""


def scale_of(tensor: TensorType, name: str) -> float:
    """Scale of a tensor type. Raises UnsupportedError, with the operator's `name`, if it is not quantised."""
    if tensor.quantization is None:
        raise UnsupportedError(f"{name} of {tensor.dtype.label} without quantisation")
    return float(tensor.quantization.scales[0])


def zero_point_of(tensor: TensorType) -> int:
    """Zero point of a tensor type; 0 if it is not quantised."""
    return int(tensor.quantization.zero_points[0]) if tensor.quantization is not None else 0


def round_half_away(values: Any) -> Any:
    """Values rounded to the nearest integer, halves away from zero: C's round(). Keeps NaN and infinities."""
    values = np.asarray(values)
    truncated = np.trunc(values)
    return truncated + np.where(np.abs(values - truncated) >= 0.5, np.sign(values), 0).astype(values.dtype)


def quantized(real: float, scale: float, zero_point: int) -> int:
    """Quantised value of one real number, in float32 as TFLite divides."""
    if real == 0:
        return zero_point
    return zero_point + int(round_half_away(np.float32(real) / np.float32(scale)))
