"""Kernels: an operator becomes one call of a C kernel, or a view. Operators make them, every later stage reads them.

A kernel is a C function in firmware/kernels/. Its C signature is the `operands` as pointers, in order, and last, where
there are `params`, a pointer to one const struct that holds every number known at compile time:

    void tflmgen_add_s8(const int8_t *input1, const int8_t *input2, int8_t *output, const struct tflmgen_add_s8
    *params);

The struct is emitted as a static const object beside the call, so that the C compiler folds it where it inlines. Where
some of its numbers are known at run time only (`counts`), the call gets a copy in which these are set.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tflmgen.architectures import architecture_of
from tflmgen.ir.types import DType, TensorType

Memory = Literal["arena", "state"]
"""The arena is free between invocations; the state keeps what variables hold."""

Number = int | float | bool
ParamValue = Number | tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class Input:
    """The operator's input tensor `index` (its file's order), from the arena or from flash where it is constant."""

    index: int


@dataclass(frozen=True, slots=True)
class Output:
    """The operator's output tensor `index`."""

    index: int


@dataclass(frozen=True, slots=True)
class Scratch:
    """`bytes` of arena that live during this call only. Contents on entry are undefined."""

    bytes: int
    alignment: int = 4


@dataclass(frozen=True, slots=True)
class ConstantArray:
    """An array made at compile time and placed in flash: packed weights, folded biases, multipliers, tables."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    data: bytes

    @staticmethod
    def of(name: str, values: NDArray[Any], dtype: DType) -> ConstantArray:
        """An array in flash with the elements and the shape of `values`, converted to `dtype` in C order."""
        array = np.ascontiguousarray(values, dtype=dtype.numpy)
        return ConstantArray(name, dtype, array.shape, array.tobytes())

    @property
    def bytes_in_c(self) -> bytes:
        """The bytes that the array has in C, where NAN stands for NaNs of every sign and payload."""
        if self.dtype is not DType.FLOAT32:
            return self.data
        elements = np.frombuffer(self.data, "<f4")
        return np.where(np.isnan(elements), np.float32(np.nan), elements).tobytes()


@dataclass(frozen=True, slots=True)
class Null:
    """A NULL pointer: an optional operand that is absent."""


Operand = Input | Output | Scratch | ConstantArray | Null


@dataclass(frozen=True, slots=True)
class Overlap:
    """Output `output` may lie over input `input` if it begins at least `distance` bytes before it.

    0 means that the two may begin at the same byte (an element-wise kernel that reads each element before it writes
    it). `exact`: at this very distance, and no other. `behind`: if it begins at least `distance` bytes after it.
    `multiple`: only if what is beyond `distance` is a multiple of so many bytes. Pairs that have no Overlap must be
    disjoint. Each claim has a test that runs the kernel at this very distance.
    """

    input: int
    output: int
    distance: int = 0
    exact: bool = False
    behind: bool = False
    multiple: int = 1

    def allows(self, ahead: int) -> bool:
        """Whether the output may begin `ahead` bytes before the input."""
        more = (-ahead if self.behind else ahead) - self.distance
        return more == 0 if self.exact else more >= 0 and more % self.multiple == 0


@dataclass(frozen=True, slots=True)
class Params:
    """The const struct of a kernel call: C struct tag and its fields in order."""

    struct: str
    fields: tuple[tuple[str, ParamValue], ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """Numbers that the cycles of a call are estimated by, beside its params.

    macs: multiply-accumulate operations. family: of cost models, the one that estimates the kernel, by its name in the
    kernel's declaration; empty where none does. numbers: what the model counts with beside params, such as a filter's
    size, and flags of the C function.
    """

    macs: int = 0
    family: str = ""
    numbers: tuple[tuple[str, ParamValue], ...] = ()


@dataclass(frozen=True, slots=True)
class Kernel:
    """One C call that computes one operator.

    error: the status to return where the C function returns false; empty where it returns nothing. backward: the same
    on the same operands from the last element to the first, for an output that lies over its input and behind it.
    smaller: slower kernels that compute the same with less scratch, the fastest first. counts: fields of `params` that
    are int32 scalars of the run time: the last operands, in this order, which the C function does not get.
    """

    function: str
    header: str
    operands: tuple[Operand, ...]
    params: Params | None = None
    overlaps: tuple[Overlap, ...] = ()
    cost: Cost = field(default_factory=Cost)
    variant: str = "portable"
    error: str = ""
    backward: Kernel | None = None
    smaller: tuple[Kernel, ...] = ()
    counts: tuple[str, ...] = ()

    @property
    def macs(self) -> int:
        """Multiply-accumulate operations of one call."""
        return self.cost.macs


@dataclass(frozen=True, slots=True)
class View:
    """Output 0 has the bytes of input `input`: no code, no copy (RESHAPE, SQUEEZE, EXPAND_DIMS ...)."""

    input: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """`bytes` of input `input` from `input_offset` on are those of output `output` from `output_offset` on."""

    output: int
    output_offset: int
    input: int
    input_offset: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Pieces:
    """The outputs are made of contiguous pieces of the inputs (SPLIT, CONCATENATION ... along the outermost dimension).

    Each part covers a whole input or a whole output, and together they cover all outputs. What lies in place already
    needs no code, the rest is copied.
    """

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class ArenaRooms:
    """The RAMs that an arena may lie in, the fastest first.

    rooms: bytes that each has for it, but the last, which takes all that is left. state_in: number of the one that
    holds the state, too; None: none does. pins: (pattern of tensors' names as in fnmatch, number of a RAM); the first
    that matches decides.
    """

    rooms: tuple[int, ...]
    state_in: int | None = None
    pins: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """The processor as kernels see it: `core` is named in architectures/, features among its own.

    winograd: bytes that all weights may take where some of them are transformed for Winograd's minimal filtering; 0 for
    no such kernels. code_cache: bytes of an instruction cache in front of the flash, where longer loops would wait for
    code. constant_cache: bytes of constants that are cached. constant_waits: cycles of the core per byte of others. All
    are 0 for a flash as fast as the core, and where it is not known. arena: the RAMs of an arena in several; None: it
    lies in one.
    """

    core: str
    features: frozenset[str] = frozenset()
    optimize: str = "balanced"
    winograd: int = 0
    code_cache: int = 0
    constant_cache: int = 0
    constant_waits: float = 0
    arena: ArenaRooms | None = None

    @property
    def instructions(self) -> frozenset[str]:
        """Instruction sets that kernels are written for: the features, and those of the whole architecture."""
        return self.features | architecture_of(self.core).instructions

    @property
    def has_soft_float(self) -> bool:
        """Whether float32 is computed by a library, in tens of instructions."""
        return architecture_of(self.core).soft_float and "fpu" not in self.features


@dataclass(frozen=True, slots=True)
class OperatorInstance:
    """One operator of a model without the graph around it: types, constant operands and attributes.

    `inputs[i]` is None where an optional input is absent; `constants[i]` is None where input i is not constant.
    """

    inputs: tuple[TensorType | None, ...]
    outputs: tuple[TensorType, ...]
    constants: tuple[NDArray[Any] | None, ...]
    attributes: Any
