"""Intermediate values of a run, in the order of writing, and the first difference between two runs.

The firmware of `tflmgen test --layers` sends each operator's outputs right after the operator, with the same plan as
the product: in place, overlapping dying inputs, and with fused operators. Tensors removed by fusions and views are
not sent.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.backend import emit
from tflmgen.compare.verdict import Tolerance, wrong_elements
from tflmgen.compiler import Compilation
from tflmgen.errors import TflmgenError
from tflmgen.ir import DType
from tflmgen.ir.graph import Narrowed, Origin, Value
from tflmgen.ir.program import Assembly, Branch, Instruction, KernelCall, Loop, OutputArgument, Program
from tflmgen.kernels.numeric import header_constant
from tflmgen.options import BuildOptions

LOOP, ITERATION, THEN, ELSE, CALL = (
    header_constant("memory.h", f"TFLMGEN_LAYER_{name}") for name in ("LOOP", "ITERATION", "THEN", "ELSE", "CALL")
)
"""Values of the output field: a loop begins, an iteration of it, a branch of an If, a called subgraph."""

HEAD = struct.Struct("<IIHI")
"""Header of a LAYER frame: frame number, step, output, byte offset."""

Array = NDArray[Any]


class LayersError(TflmgenError):
    """Intermediate values are not available, or some were lost in transmission."""


@dataclass(frozen=True, slots=True)
class ComparedValue:
    """One output of one execution of an operator.

    iterations  iteration of each enclosing loop, from 0
    regions     enclosing Ifs and Whiles; None inside a function, whose caller is unknown
    narrowed    the channels of the file's tensor that `array` holds, if not all
    """

    origin: Origin
    tensor: str
    iterations: tuple[int, ...]
    regions: tuple[Origin, ...] | None
    array: Array
    narrowed: Narrowed | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the file's tensor, dead channels included."""
        shape = self.array.shape
        return shape if self.narrowed is None else (*shape[:-1], self.narrowed.channels)

    @property
    def key(self) -> tuple[int, int, str, tuple[int, ...]]:
        """Identity of a value among all of a run: subgraph, operator, tensor, and iterations of loops around
        it."""
        return self.origin.subgraph, self.origin.operator, self.tensor, self.iterations


@dataclass(frozen=True, slots=True)
class LayerDifference:
    """Difference of one layer: its first wrong element, and the number of wrong elements out of `total`."""

    layer: ComparedValue
    index: tuple[int, ...]
    expected: str
    actual: str
    count: int
    total: int

    def __str__(self) -> str:
        origin = self.layer.origin
        subgraph = f"subgraph {origin.subgraph}" + (f" '{origin.subgraph_name}'" if origin.subgraph_name else "")
        location = f"{subgraph}, operator {origin.operator} ({origin.operator_name}), tensor '{self.layer.tensor}'"
        if self.layer.iterations:
            location += f", iteration {'.'.join(map(str, self.layer.iterations))}"
        index = f"[{','.join(map(str, self.index))}]"
        return (
            f"{location}: {self.count} of {self.total} wrong, the first at {index}: expected {self.expected}, "
            f"got {self.actual}"
        )


@dataclass(frozen=True, slots=True)
class _Step:
    origin: Origin
    outputs: tuple[Value, ...]
    loops: tuple[int, ...]
    regions: tuple[Origin, ...] | None


def with_layers(compilation: Compilation, options: BuildOptions) -> Compilation:
    """The plan with C code that sends intermediate values."""
    name, sha256 = compilation.name, compilation.module.sha256
    sources = emit(compilation.program, name, sha256, options.text, options.progress_hook, layers=True)
    return replace(compilation, sources=sources)


@dataclass(frozen=True, slots=True)
class Expected:
    """Reference value of a layer; `narrowed` as in Layer."""

    array: Array
    narrowed: Narrowed | None = None


def read_layers(program: Program, frames: Sequence[bytes], narrowed: Mapping[int, Narrowed]) -> list[ComparedValue]:
    """Values sent by one invoke of `program`, in order. Raises LayersError if frames are missing.

    narrowed  Module.narrowed
    """
    steps: dict[int, _Step] = {}
    for function in program.functions:
        steps.update(_steps(function.body, (), () if function.is_entry else None))
    trips: dict[int, int] = {}
    layers: list[ComparedValue] = []
    for step, output, data in _joined_frames(frames):
        if output in (LOOP, ITERATION):
            trips[step] = -1 if output == LOOP else trips[step] + 1
            continue
        if output in (THEN, ELSE, CALL):
            continue
        traced_step = steps[step]
        value = traced_step.outputs[output]
        if value.type.dtype is DType.INT4:
            continue
        array = np.frombuffer(data, value.type.dtype.numpy).reshape(value.type.max_shape)
        iterations = tuple(trips[loop] for loop in traced_step.loops)
        layers.append(
            ComparedValue(
                traced_step.origin, value.name, iterations, traced_step.regions, array, narrowed.get(value.id)
            )
        )
    return layers


def _joined_frames(frames: Sequence[bytes]) -> Iterator[tuple[int, int, bytes]]:
    """(step, output, bytes) of each value, reassembled from its frames."""
    parts: list[bytes] = []
    last: tuple[int, int] | None = None
    for expected, frame in enumerate(frames):
        number, step, output, offset = HEAD.unpack_from(frame)
        if number != expected:
            raise LayersError("intermediate values were lost on the way from the board; try again")
        if offset == 0 and last is not None:
            yield (*last, b"".join(parts))
            parts = []
        last = step, output
        parts.append(frame[HEAD.size :])
    if last is not None:
        yield (*last, b"".join(parts))


def _steps(
    body: Iterable[Instruction], loops: tuple[int, ...], regions: tuple[Origin, ...] | None
) -> Iterator[tuple[int, _Step]]:
    for instruction in body:
        if isinstance(instruction, KernelCall):
            outputs = tuple(a.access.value for a in instruction.arguments if isinstance(a, OutputArgument))
            yield instruction.step, _Step(instruction.origin, outputs, loops, regions)
        elif isinstance(instruction, Assembly):
            yield (
                instruction.step,
                _Step(instruction.origin, tuple(access.value for access in instruction.outputs), loops, regions),
            )
        elif isinstance(instruction, Branch | Loop):
            inner_regions = None if regions is None else (*regions, instruction.origin)
            if isinstance(instruction, Branch):
                yield from _steps((*instruction.then, *instruction.orelse), loops, inner_regions)
            else:
                yield from _steps(
                    (*instruction.condition, *instruction.body), (*loops, instruction.step), inner_regions
                )


def last_values(layers: Sequence[ComparedValue]) -> list[ComparedValue]:
    """The last value of each tensor, in order of writing."""
    last = {(layer.origin.subgraph, layer.tensor): layer for layer in layers}
    ids = {id(layer) for layer in last.values()}
    return [layer for layer in layers if id(layer) in ids]


def comparable_pairs(
    layers: Sequence[ComparedValue], expected: Mapping[int, Expected]
) -> list[tuple[ComparedValue, Array]]:
    """(layer, reference) for each layer i with a reference `expected[i]` of its type and size.

    If one of both lacks channels, both are reduced to their common channels.
    """
    pairs = (_common(layer, expected[i]) for i, layer in enumerate(layers) if i in expected)
    return [
        (layer, array.reshape(layer.array.shape))
        for layer, array in pairs
        if array.dtype == layer.array.dtype and array.size == layer.array.size
    ]


def _common(layer: ComparedValue, expected: Expected) -> tuple[ComparedValue, Array]:
    own, reference = layer.narrowed, expected.narrowed
    narrowed = own or reference
    if narrowed is None:
        return layer, expected.array
    all_channels = range(narrowed.channels)
    channel_lists = [all_channels if channels is None else channels.kept for channels in (own, reference)]
    common = tuple(sorted(set(channel_lists[0]).intersection(channel_lists[1])))
    columns = [[channels.index(channel) for channel in common] for channels in channel_lists]
    array, reference_array = (a[..., c] for a, c in zip((layer.array, expected.array), columns, strict=True))
    return replace(layer, array=array, narrowed=Narrowed(common, narrowed.channels)), reference_array


def first_difference(pairs: Iterable[tuple[ComparedValue, Array]], tolerance: Tolerance) -> LayerDifference | None:
    """The first layer that differs from its reference, at its first wrong element; None if all agree."""
    for layer, expected in pairs:
        wrong = wrong_elements(expected, layer.array, tolerance)
        if wrong.any():
            index = tuple(int(i) for i in np.argwhere(wrong)[0])
            texts = str(expected[index]), str(layer.array[index])
            if layer.narrowed is not None:
                index = (*index[:-1], layer.narrowed.kept[index[-1]])
            return LayerDifference(layer, index, *texts, int(wrong.sum()), layer.array.size)
    return None
