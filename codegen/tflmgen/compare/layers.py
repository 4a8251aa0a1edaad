"""The intermediate values of a run, in the order in which operators wrote them, and where two runs first differ.

The firmware of `tflmgen test --layers` shows each operator's outputs right after it ran, in the very plan that ships:
in place, over dying inputs and with its fusions. What fusions and views have removed has no value to show.
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
from tflmgen.ir import (
    Assembly,
    Branch,
    DType,
    Instruction,
    KernelCall,
    Loop,
    Narrowed,
    Origin,
    OutputArgument,
    Program,
    Value,
)
from tflmgen.kernels import header_constant
from tflmgen.options import BuildOptions

LOOP, ITERATION = (header_constant("memory.h", f"TFLMGEN_LAYER_{name}") for name in ("LOOP", "ITERATION"))
"""In the place of an output's number where a loop begins, and where each of its iterations does."""

HEAD = struct.Struct("<IIHI")
"""Of a LAYER frame: its number, the step, the output, the offset of its bytes."""

Array = NDArray[Any]


class LayersError(TflmgenError):
    """Intermediate values can't be had, or not all of them arrived."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One output of one operator, each time that it ran.

    iterations: those of the loops around it, from 0
    regions: the Ifs and Whiles that it ran in; None in a function, of which the caller isn't known
    narrowed: which channels of the file's tensor these are, if not all
    """

    origin: Origin
    tensor: str
    iterations: tuple[int, ...]
    regions: tuple[Origin, ...] | None
    array: Array
    narrowed: Narrowed | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the file's tensor."""
        shape = self.array.shape
        return shape if self.narrowed is None else (*shape[:-1], self.narrowed.channels)

    @property
    def key(self) -> tuple[int, int, str, tuple[int, ...]]:
        return self.origin.subgraph, self.origin.operator, self.tensor, self.iterations


@dataclass(frozen=True, slots=True)
class LayerDifference:
    """The first of `count` wrong elements out of `total` of a layer."""

    layer: Layer
    index: tuple[int, ...]
    expected: str
    actual: str
    count: int
    total: int

    def __str__(self) -> str:
        origin = self.layer.origin
        subgraph = f"subgraph {origin.subgraph}" + (f" '{origin.subgraph_name}'" if origin.subgraph_name else "")
        where = f"{subgraph}, operator {origin.operator} ({origin.operator_name}), tensor '{self.layer.tensor}'"
        if self.layer.iterations:
            where += f", iteration {'.'.join(map(str, self.layer.iterations))}"
        index = f"[{','.join(map(str, self.index))}]"
        return (
            f"{where}: {self.count} of {self.total} wrong, the first at {index}: expected {self.expected}, "
            f"got {self.actual}"
        )


@dataclass(frozen=True, slots=True)
class _Step:
    origin: Origin
    outputs: tuple[Value, ...]
    loops: tuple[int, ...]
    regions: tuple[Origin, ...] | None


def with_layers(compilation: Compilation, options: BuildOptions) -> Compilation:
    """The same plan in C that shows its intermediate values."""
    name, sha256 = compilation.name, compilation.module.sha256
    sources = emit(compilation.program, name, sha256, options.text, options.progress_hook, layers=True)
    return replace(compilation, sources=sources)


@dataclass(frozen=True, slots=True)
class Expected:
    """What a layer is compared with; `narrowed` as a Layer has it."""

    array: Array
    narrowed: Narrowed | None = None


def read_layers(program: Program, frames: Sequence[bytes], narrowed: Mapping[int, Narrowed]) -> list[Layer]:
    """The values that one invoke of `program` showed, in order; LayersError where frames are missing.

    `narrowed` is the Module's.
    """
    steps: dict[int, _Step] = {}
    for function in program.functions:
        steps.update(_steps(function.body, (), () if function.is_entry else None))
    trips: dict[int, int] = {}
    found: list[Layer] = []
    for step, output, data in _joined(frames):
        if output in (LOOP, ITERATION):
            trips[step] = -1 if output == LOOP else trips[step] + 1
            continue
        one = steps[step]
        value = one.outputs[output]
        if value.type.dtype is DType.INT4:
            continue
        array = np.frombuffer(data, value.type.dtype.numpy).reshape(value.type.max_shape)
        iterations = tuple(trips[loop] for loop in one.loops)
        found.append(Layer(one.origin, value.name, iterations, one.regions, array, narrowed.get(value.id)))
    return found


def _joined(frames: Sequence[bytes]) -> Iterator[tuple[int, int, bytes]]:
    """(step, output, bytes) of each value, put together from the frames that it takes."""
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
    for one in body:
        if isinstance(one, KernelCall):
            outputs = tuple(a.access.value for a in one.arguments if isinstance(a, OutputArgument))
            yield one.step, _Step(one.origin, outputs, loops, regions)
        elif isinstance(one, Assembly):
            yield one.step, _Step(one.origin, tuple(access.value for access in one.outputs), loops, regions)
        elif isinstance(one, Branch | Loop):
            inside = None if regions is None else (*regions, one.origin)
            if isinstance(one, Branch):
                yield from _steps((*one.then, *one.orelse), loops, inside)
            else:
                yield from _steps((*one.condition, *one.body), (*loops, one.step), inside)


def last_of_each(layers: Sequence[Layer]) -> list[Layer]:
    """The last value of each tensor, in the order of these."""
    last = {(layer.origin.subgraph, layer.tensor): layer for layer in layers}
    kept = {id(layer) for layer in last.values()}
    return [layer for layer in layers if id(layer) in kept]


def compared(layers: Sequence[Layer], expected: Mapping[int, Expected]) -> list[tuple[Layer, Array]]:
    """The layers that have something to be compared with: `expected[i]`, of the type and size of layer i.

    Where either lacks channels, those that both have.
    """
    pairs = (_common(layer, expected[i]) for i, layer in enumerate(layers) if i in expected)
    return [
        (layer, array.reshape(layer.array.shape))
        for layer, array in pairs
        if array.dtype == layer.array.dtype and array.size == layer.array.size
    ]


def _common(layer: Layer, expected: Expected) -> tuple[Layer, Array]:
    mine, theirs = layer.narrowed, expected.narrowed
    one = mine or theirs
    if one is None:
        return layer, expected.array
    every = range(one.channels)
    kept = [every if side is None else side.kept for side in (mine, theirs)]
    both = tuple(sorted(set(kept[0]).intersection(kept[1])))
    columns = [[side.index(channel) for channel in both] for side in kept]
    array, other = (a[..., c] for a, c in zip((layer.array, expected.array), columns, strict=True))
    return replace(layer, array=array, narrowed=Narrowed(both, one.channels)), other


def first_difference(pairs: Iterable[tuple[Layer, Array]], tolerance: Tolerance) -> LayerDifference | None:
    """The first layer that differs from what is expected, at its first wrong element; None where all agree."""
    for layer, expected in pairs:
        wrong = wrong_elements(expected, layer.array, tolerance)
        if wrong.any():
            index = tuple(int(i) for i in np.argwhere(wrong)[0])
            texts = str(expected[index]), str(layer.array[index])
            if layer.narrowed is not None:
                index = (*index[:-1], layer.narrowed.kept[index[-1]])
            return LayerDifference(layer, index, *texts, int(wrong.sum()), layer.array.size)
    return None
