"""Runs a Program byte by byte in Python: what its C does, without compiling it.

Kernels are the reference's operators, applied to one element after another as the C loops do, so that operands in
overlapping places come out as they do in C. Memory starts as seeded noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tflmgen.program import (
    Access,
    Branch,
    Fixed,
    InputArgument,
    Instruction,
    Invoke,
    KernelCall,
    Loop,
    OutputArgument,
    Place,
    Program,
    Rename,
    Transfer,
)
from tflmgen.types import TensorType

from support.reference import BINARY

Array = NDArray[Any]

ITERATIONS_LIMIT = 200


class DerailedError(Exception):
    """The program left its arena, read what is not aligned, or a loop does not end: no output to speak of."""


class Machine:
    """A program's memory. `run` may be called again and again, as on a device."""

    def __init__(self, program: Program, seed: int = 0) -> None:
        self._program = program
        self.iterations: list[int] = []
        """How often the body of each loop that ended ran."""
        self._memory = bytearray(np.random.default_rng(seed).bytes(program.arena_bytes))

    def run(self, signature: int, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """The outputs of one call of a signature."""
        function = self._program.function(self._program.signatures[signature].function)
        for access, array in zip(function.inputs, inputs, strict=True):
            self._store(access.place, 0, np.ascontiguousarray(array).tobytes())
        with np.errstate(all="ignore"):
            self._body(function.body)
        return tuple(self._array(access) for access in function.results)

    def _array(self, access: Access) -> Array:
        type_ = access.value.type
        raw = self._load(access.place, 0, type_.bytes)
        return np.frombuffer(raw, type_.dtype.numpy).reshape(type_.max_shape)

    def _load(self, place: Place, at: int, size: int) -> bytes:
        if not isinstance(place, Fixed):
            raw = self._program.constants[place.name].data[at : at + size]
        else:
            start = place.offset + at
            raw = bytes(self._memory[start : start + size]) if start >= 0 else b""
        if len(raw) != size:
            raise DerailedError
        return raw

    def _store(self, place: Place, at: int, raw: bytes) -> None:
        if not isinstance(place, Fixed) or place.offset + at < 0 or place.offset + at + len(raw) > len(self._memory):
            raise DerailedError
        self._memory[place.offset + at : place.offset + at + len(raw)] = raw

    def _body(self, body: Sequence[Instruction]) -> None:
        for one in body:
            if isinstance(one, KernelCall):
                self._kernel(one)
            elif isinstance(one, Transfer):
                for copy in one.copies:
                    self._store(copy.destination, 0, self._load(copy.source, 0, copy.bytes))
            elif isinstance(one, Branch):
                self._body(one.then if self._flag(one.condition) else one.orelse)
            elif isinstance(one, Loop):
                self._loop(one)
            elif isinstance(one, Invoke):
                self._body(self._program.function(one.function).body)
            else:
                assert isinstance(one, Rename)

    def _loop(self, loop: Loop) -> None:
        for iteration in range(ITERATIONS_LIMIT):
            self._body(loop.condition)
            if not self._flag(loop.test):
                self.iterations.append(iteration)
                return
            self._body(loop.body)
        raise DerailedError

    def _flag(self, access: Access) -> bool:
        return self._load(access.place, 0, 1) != b"\0"

    def _kernel(self, call: KernelCall) -> None:
        inputs = [a.access for a in call.arguments if isinstance(a, InputArgument)]
        output = next(a.access for a in call.arguments if isinstance(a, OutputArgument))
        indices = [_broadcast(a.value.type, output.value.type) for a in inputs]
        target = output.value.type.dtype.numpy
        for access in (*inputs, output):
            if isinstance(access.place, Fixed) and access.place.offset % access.value.type.dtype.numpy.itemsize:
                raise DerailedError
        for n in range(output.value.type.elements):
            elements = []
            for access, index in zip(inputs, indices, strict=True):
                kind = access.value.type.dtype.numpy
                raw = self._load(access.place, index[n] * kind.itemsize, kind.itemsize)
                elements.append(np.frombuffer(raw, kind)[0])
            name = call.origin.operator_name
            result = elements[0] if name == "CAST" else BINARY[name](*elements)
            self._store(output.place, n * target.itemsize, np.asarray(result).astype(target).tobytes())


def _broadcast(source: TensorType, result: TensorType) -> list[int]:
    """For each element of the result, the element of the source that it comes from."""
    indices = np.arange(source.elements).reshape(source.max_shape)
    return [int(i) for i in np.broadcast_to(indices, result.max_shape).ravel()]
