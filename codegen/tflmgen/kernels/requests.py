"""Requests of operators for kernels of instruction sets: one type of value for each kind of computation.

An operator may be described by several of them: a pointwise convolution is a matrix product, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir.kernel import Cost, Kernel, OperatorInstance, Overlap, ParamValue, Target
from tflmgen.kernels.numeric.int8_layer import Int8Layer
from tflmgen.kernels.numeric.int16_layer import Int16Layer
from tflmgen.kernels.numeric.quantize_math import Activation
from tflmgen.kernels.numeric.turned_product import turned
from tflmgen.kernels.specification.weights import overlaps
from tflmgen.kernels.specification.window import Fields, Steps, Window

Factor = tuple[int, int]
"""(multiplier, shift) of tflmgen_requantize."""


_MAX_PIXELS = 256
"""Largest number of pixels in a window whose sums of int8 values fit 16 bits."""


@dataclass(frozen=True, slots=True)
class KernelRequest:
    """An operator whose support rules hold, and the processor. WHAT: which operators, in the words of their page."""

    WHAT: ClassVar[str] = ""

    op: OperatorInstance
    target: Target

    @property
    def numbers(self) -> Fields:
        """Numbers for cycle estimates, such as the window's; a kernel's own numbers take precedence."""
        return ()

    @property
    def is_faster_by_portable_kernel(self) -> bool:
        """Than by one for Armv6-M, where there is none for other instruction sets."""
        return False


@dataclass(frozen=True, slots=True)
class LayerRequest(KernelRequest):
    """An int8 layer with constant weights; layer.weights: [output channels, terms]."""

    layer: Int8Layer

    @property
    def macs(self) -> int:
        """Products of one call."""
        return self.op.outputs[0].elements * int(self.layer.weights.shape[1])


@dataclass(frozen=True, slots=True)
class SlidingRequest(LayerRequest):
    """A layer of windows, those in one column given as of one line; terms: taps * (input channels of a group)."""

    window: Window

    @property
    def numbers(self) -> Fields:
        """Sizes of window, input and output, which terms of costs read."""
        return self.window.fields(len(self.layer.weights))


class Convolution(SlidingRequest):
    """Every output channel sees all input channels."""

    __slots__ = ()
    WHAT = "int8 CONV_2D without groups"

    @property
    def product(self) -> MatrixProduct | None:
        """This layer as a MatrixProduct, or None."""
        window = self.window
        whole = window.taps == window.input[1:3] and not window.reaches_out
        rows = math.prod(window.input[:3]) if window.is_pointwise else window.input[0] if whole else 0
        return MatrixProduct(self.op, self.target, self.layer, rows) if rows else None


class GroupedConvolution(SlidingRequest):
    """Channels are in groups, each with a convolution of its own."""

    __slots__ = ()
    WHAT = "int8 CONV_2D with groups, DEPTHWISE_CONV_2D with several filters per channel"

    @property
    def group_inputs(self) -> int:
        """Input channels of a group."""
        return int(self.layer.weights.shape[1]) // math.prod(self.window.taps)

    @property
    def groups(self) -> int:
        """Number of groups that the input's channels are divided into."""
        return self.window.input[3] // self.group_inputs


class DepthwiseConvolution(SlidingRequest):
    """Every input channel has filters of its own, one or several; these follow one another. terms: taps."""

    __slots__ = ()
    WHAT = "int8 DEPTHWISE_CONV_2D with one filter per channel"

    @property
    def filters(self) -> int:
        """Number of filters of each input channel (TFLite's depth multiplier)."""
        return len(self.layer.weights) // self.window.input[3]


class TransposedConvolution(SlidingRequest):
    """TRANSPOSE_CONV; the window is that of the convolution from the output to the input."""

    __slots__ = ()
    WHAT = "int8 TRANSPOSE_CONV"


@dataclass(frozen=True, slots=True)
class MatrixProduct(LayerRequest):
    """`batches` rows times the transposed weights."""

    WHAT: ClassVar[str] = "int8 FULLY_CONNECTED"

    batches: int

    @property
    def convolution(self) -> Convolution:
        """This layer as a 1xN convolution."""
        window = Window(Steps(False, 1, 1), (1, 1, self.batches, self.layer.weights.shape[1]), (1, 1))
        return Convolution(self.op, self.target, self.layer, window)

    @property
    def is_faster_by_portable_kernel(self) -> bool:
        """Whether the core has the DSP extension, with which the portable kernel multiplies two values at a time."""
        return "dsp" in self.target.instructions


@dataclass(frozen=True, slots=True)
class Int16Request(KernelRequest):
    """A layer of int16 activations and int8 weights."""

    layer: Int16Layer
    activation: Activation


@dataclass(frozen=True, slots=True)
class Int16Convolution(Int16Request):
    """A CONV_2D of int16 by int8 in one group."""

    WHAT: ClassVar[str] = "int16 CONV_2D without groups"
    window: Window

    @property
    def numbers(self) -> Fields:
        """Sizes of window, input and output, which terms of costs read."""
        return self.window.fields(len(self.layer.weights))


class Int16TransposedConvolution(Int16Convolution):
    """TRANSPOSE_CONV of int16; the window is that of the convolution from the output to the input."""

    __slots__ = ()
    WHAT = "int16 TRANSPOSE_CONV"


class Int16Depthwise(Int16Convolution):
    """One filter per channel."""

    __slots__ = ()
    WHAT = "int16 DEPTHWISE_CONV_2D with one filter per channel"


@dataclass(frozen=True, slots=True)
class Int16MatrixProduct(Int16Request):
    """A FULLY_CONNECTED of int16 by int8; `batches` are the rows of the input."""

    WHAT: ClassVar[str] = "int16 FULLY_CONNECTED"
    batches: int


@dataclass(frozen=True, slots=True)
class FloatRequest(KernelRequest):
    """A float32 layer with constant weights and bias; weights: [output channels, terms]; bias: [output channels]."""

    weights: NDArray[np.float32]
    bias: NDArray[np.float32]
    activation: Activation


@dataclass(frozen=True, slots=True)
class FloatConvolution(FloatRequest):
    """A CONV_2D of float32 in one group."""

    WHAT: ClassVar[str] = "float32 CONV_2D without groups"
    window: Window

    @property
    def numbers(self) -> Fields:
        """Sizes of window, input and output, which terms of costs read."""
        return self.window.fields(len(self.weights))


@dataclass(frozen=True, slots=True)
class FloatMatrixProduct(FloatRequest):
    """A FULLY_CONNECTED of float32; `batches` are the rows of the input."""

    WHAT: ClassVar[str] = "float32 FULLY_CONNECTED"
    batches: int


@dataclass(frozen=True, slots=True)
class Addition(KernelRequest):
    """Int8 input 0 + sign * input 1, clamped to limits; factors: of both inputs and of their sum, see add_scales()."""

    WHAT: ClassVar[str] = "int8 ADD and SUB"

    factors: Sequence[float]
    sign: int
    limits: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Multiplication(KernelRequest):
    """Int8 input 0 * input 1; factor: what brings a product to the output's scale."""

    WHAT: ClassVar[str] = "int8 MUL"

    factor: float
    limits: tuple[int, int]


@dataclass(frozen=True, slots=True)
class PortableRequest(KernelRequest):
    """A request for kernels that share the operands and parameters of the portable kernel."""

    portable: Kernel


@dataclass(frozen=True, slots=True)
class Pooling(PortableRequest):
    """A pool of int8 values. kind: average or max."""

    WHAT: ClassVar[str] = "int8 AVERAGE_POOL_2D and MAX_POOL_2D"

    kind: str
    window: Window

    @property
    def numbers(self) -> Fields:
        """Sizes of window, input and output, which terms of costs read."""
        return self.window.fields(self.window.input[3])

    @property
    def sums_fit_16_bits(self) -> bool:
        """Whether a window is so small that sums of its int8 values fit 16 bits."""
        return math.prod(self.window.taps) <= _MAX_PIXELS

    def kernel(self, variant: str, header: str, channels: int) -> Kernel:
        """The variant of the portable kernel that reads and writes so many channels of a pixel at a time."""
        function = self.portable.function.replace("_s8", f"_{variant}_s8")
        input_overlaps = overlaps(self.op.outputs[0], self.window.group_distance(channels))
        cost = Cost(family=f"{self.kind}_pool2d_{variant}")
        return replace(
            self.portable, function=function, header=header, overlaps=input_overlaps, variant=variant, cost=cost
        )


class LookUp(PortableRequest):
    """A function of one int8 element, as a table."""

    __slots__ = ()
    WHAT = "int8 functions of one element, by table"


class BatchProduct(PortableRequest):
    """BATCH_MATMUL of int8 matrices with one scale each."""

    __slots__ = ()
    WHAT = "int8 BATCH_MATMUL"

    @property
    def orientations(self) -> tuple[Kernel, Kernel]:
        """The portable kernel, and the same with rows for columns: (A B)^T = B^T A^T."""
        return self.portable, turned(self.portable)


@dataclass(frozen=True, slots=True)
class Svdf(KernelRequest):
    """SVDF of an int8 input; factors: from sums of products to the state, and from there to the output."""

    WHAT: ClassVar[str] = "int8 SVDF"

    to_state: Factor
    to_output: Factor


@dataclass(frozen=True, slots=True)
class Lstm(KernelRequest):
    """An int8 LSTM over a sequence. sequence: the first fields of the kernels' structs."""

    WHAT: ClassVar[str] = "int8 sequence LSTM"

    sequence: tuple[tuple[str, ParamValue], ...]
    overlaps: tuple[Overlap, ...]
    macs: int
