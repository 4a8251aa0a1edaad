"""What operators ask for kernels of instruction sets with: one type of value for each kind of computation.

An operator may be described by several of them: a pointwise convolution is a matrix product, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tflmgen.ir import Kernel, OperatorInstance, Overlap, ParamValue, Target
from tflmgen.kernels.numeric.int8_layer import Layer
from tflmgen.kernels.numeric.int16_layer import Int16Layer
from tflmgen.kernels.numeric.quantize_math import Activation
from tflmgen.kernels.numeric.weights import overlaps
from tflmgen.kernels.numeric.window import Steps, Window

Factor = tuple[int, int]
"""(multiplier, shift) of tflmgen_requantize."""


_MOST_PIXELS = 256
"""Of a window whose sums of int8 values fit 16 bits."""


@dataclass(frozen=True, slots=True)
class Request:
    """An operator whose support rules hold, and the processor."""

    op: OperatorInstance
    target: Target


@dataclass(frozen=True, slots=True)
class LayerRequest(Request):
    """An int8 layer with constant weights; layer.weights: [output channels, terms]."""

    layer: Layer

    @property
    def macs(self) -> int:
        """Products of one call."""
        return self.op.outputs[0].elements * int(self.layer.weights.shape[1])


@dataclass(frozen=True, slots=True)
class WindowRequest(LayerRequest):
    """terms: taps * (input channels of a group)."""

    window: Window


class Convolution(WindowRequest):
    """Every output channel sees all input channels; where windows are in one column, they are given as of one line."""

    __slots__ = ()

    @property
    def product(self) -> MatrixProduct | None:
        """The same as a matrix product, where it is one."""
        window = self.window
        whole = window.taps == window.input[1:3] and not window.reaches_out
        rows = math.prod(window.input[:3]) if window.is_pointwise else window.input[0] if whole else 0
        return MatrixProduct(self.op, self.target, self.layer, rows) if rows else None


class GroupedConvolution(WindowRequest):
    """Channels are in groups, each with a convolution of its own."""

    __slots__ = ()

    @property
    def group_inputs(self) -> int:
        """Input channels of a group."""
        return int(self.layer.weights.shape[1]) // math.prod(self.window.taps)

    @property
    def groups(self) -> int:
        return self.window.input[3] // self.group_inputs


class DepthwiseConvolution(WindowRequest):
    """Every input channel has filters of its own, one or several; these follow one another. terms: taps."""

    __slots__ = ()

    @property
    def filters(self) -> int:
        """Of each input channel."""
        return len(self.layer.weights) // self.window.input[3]


class TransposedConvolution(WindowRequest):
    """TRANSPOSE_CONV; the window is that of the convolution from the output to the input."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class MatrixProduct(LayerRequest):
    """`batches` rows times the transposed weights."""

    batches: int

    @property
    def convolution(self) -> Convolution:
        """The same over a line of pixels."""
        window = Window(Steps(False, 1, 1), (1, 1, self.batches, self.layer.weights.shape[1]), (1, 1))
        return Convolution(self.op, self.target, self.layer, window)

    @property
    def is_faster_by_portable_kernel(self) -> bool:
        """On cores with the DSP extension that multiplies two values at a time, those for Armv6-M one."""
        return "dsp" in self.target.instructions


@dataclass(frozen=True, slots=True)
class Int16Request(Request):
    """A layer of int16 activations and int8 weights."""

    layer: Int16Layer
    activation: Activation


@dataclass(frozen=True, slots=True)
class Int16Convolution(Int16Request):
    window: Window


class Int16Depthwise(Int16Convolution):
    """One filter per channel."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Int16MatrixProduct(Int16Request):
    batches: int


@dataclass(frozen=True, slots=True)
class Addition(Request):
    """Int8 input 0 + sign * input 1, clamped to limits; factors: of both inputs and of their sum, see add_scales()."""

    factors: Sequence[float]
    sign: int
    limits: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Multiplication(Request):
    """Int8 input 0 * input 1; factor: what brings a product to the output's scale."""

    factor: float
    limits: tuple[int, int]


@dataclass(frozen=True, slots=True)
class PortableRequest(Request):
    """What the portable kernel computes, whose operands and parameters others share."""

    portable: Kernel


@dataclass(frozen=True, slots=True)
class Pooling(PortableRequest):
    """Of int8 values; kind: average or max."""

    kind: str
    window: Window

    @property
    def sums_fit_16_bits(self) -> bool:
        return math.prod(self.window.taps) <= _MOST_PIXELS

    def kernel(self, variant: str, header: str, channels: int) -> Kernel:
        """The variant of the portable kernel that reads and writes so many channels of a pixel at a time."""
        function = self.portable.function.replace("_s8", f"_{variant}_s8")
        over_input = overlaps(self.op.outputs[0], self.window.group_distance(channels))
        return replace(self.portable, function=function, header=header, overlaps=over_input, variant=variant)


class LookUp(PortableRequest):
    """A function of one int8 element, as a table."""

    __slots__ = ()


class BatchProduct(PortableRequest):
    """BATCH_MATMUL of int8 matrices with one scale each."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Svdf(Request):
    """SVDF of an int8 input; factors: from sums of products to the state, and from there to the output."""

    to_state: Factor
    to_output: Factor


@dataclass(frozen=True, slots=True)
class Lstm(Request):
    """An int8 LSTM over a sequence. sequence: the first fields of the kernels' structs."""

    sequence: tuple[tuple[str, ParamValue], ...]
    overlaps: tuple[Overlap, ...]
    macs: int
