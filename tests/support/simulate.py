"""Runs a Program byte by byte in Python: what its C does, without compiling it.

Kernels are the reference's operators, applied to one element after another as the C loops do, so that operands in
overlapping places come out as they do in C. Memory starts as seeded noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tflmgen.ir.program.instructions import (
    Access,
    Assembly,
    Branch,
    Fixed,
    Flash,
    InputArgument,
    Instruction,
    Invoke,
    KernelCall,
    Loop,
    OutputArgument,
    Place,
    Program,
    ProgramFunction,
    Rename,
    Slot,
    Transfer,
)
from tflmgen.ir.types import TensorType

Array = NDArray[Any]

BINARY: Mapping[str, Callable[[Array, Array], Any]] = {
    "ADD": np.add,
    "SUB": np.subtract,
    "MUL": np.multiply,
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
    "EQUAL": np.equal,
    "NOT_EQUAL": np.not_equal,
    "LOGICAL_AND": np.logical_and,
    "LOGICAL_OR": np.logical_or,
}

ITERATIONS_LIMIT = 200


class DerailedError(Exception):
    """The program left its arena, read what is not aligned, or a loop does not end: no output to speak of."""


class Machine:
    """A program's memory. `run` may be called again and again, as on a device."""

    def __init__(self, program: Program, seed: int = 0) -> None:
        self._program = program
        self.iterations: list[int] = []
        """How often the body of each loop that ended ran."""
        noise = np.random.default_rng(seed)
        self._memory = {
            "arena": bytearray(noise.bytes(program.arena_bytes)),
            "state": bytearray(noise.bytes(program.state_bytes)),
        }
        self._slots: list[Fixed] = []
        self.reset()

    def reset(self) -> None:
        """Variables get their first contents."""
        for variable in self._program.state:
            self._store(variable.access.place, 0, self._program.images[variable.initial].data)

    def run(self, signature: int, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """The outputs of one call of a signature."""
        function = self._program.function(self._program.signatures[signature].function)
        self._slots = [home.place for home in function.slots]
        for access, array in zip(function.inputs, inputs, strict=True):
            self._store(access.place, 0, np.ascontiguousarray(array).tobytes())
        with np.errstate(all="ignore"):
            self._body(function.body)
        return tuple(self._array(access) for access in function.results)

    def _array(self, access: Access) -> Array:
        type_ = access.value.type
        raw = self._load(access.place, 0, type_.bytes)
        return np.frombuffer(raw, type_.dtype.numpy).reshape(type_.max_shape)

    def _resolve(self, place: Place) -> Fixed | Flash:
        if not isinstance(place, Slot):
            return place
        if place.index >= len(self._slots):
            raise DerailedError
        return self._slots[place.index]

    def _load(self, place: Place, at: int, size: int) -> bytes:
        where = self._resolve(place)
        if isinstance(where, Fixed):
            start = where.offset + at
            raw = bytes(self._memory[where.memory][start : start + size]) if start >= 0 else b""
        else:
            raw = self._program.constants[where.name].data[at : at + size]
        if len(raw) != size:
            raise DerailedError
        return raw

    def _store(self, place: Place, at: int, raw: bytes) -> None:
        where = self._resolve(place)
        if not isinstance(where, Fixed):
            raise DerailedError
        memory, start = self._memory[where.memory], where.offset + at
        if start < 0 or start + len(raw) > len(memory):
            raise DerailedError
        memory[start : start + len(raw)] = raw

    def _body(self, body: Sequence[Instruction]) -> None:
        for instruction in body:
            if isinstance(instruction, KernelCall):
                self._kernel(instruction)
            elif isinstance(instruction, Assembly):
                for copy in instruction.copies:
                    self._store(copy.destination, 0, self._load(copy.source, 0, copy.bytes))
            elif isinstance(instruction, Transfer):
                self._transfer(instruction)
            elif isinstance(instruction, Branch):
                self._body(instruction.then if self._flag(instruction.condition) else instruction.orelse)
            elif isinstance(instruction, Loop):
                self._loop(instruction)
            elif isinstance(instruction, Invoke):
                self._invoke(self._program.function(instruction.function))
            else:
                assert isinstance(instruction, Rename)

    def _transfer(self, transfer: Transfer) -> None:
        for copy in transfer.copies:
            self._store(copy.destination, 0, self._load(copy.source, 0, copy.bytes))
        before = tuple(self._slots)
        for slot, source in transfer.rotation:
            if max(slot, source) >= len(before):
                raise DerailedError
            self._slots[slot] = before[source]

    def _invoke(self, function: ProgramFunction) -> None:
        caller = self._slots
        self._slots = [home.place for home in function.slots]
        self._body(function.body)
        self._slots = caller

    def _loop(self, loop: Loop) -> None:
        for iteration in range(ITERATIONS_LIMIT):
            self._body(loop.condition)
            if iteration == loop.trips or (loop.test is not None and not self._flag(loop.test)):
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
            place = self._resolve(access.place)
            if isinstance(place, Fixed) and place.offset % access.value.type.dtype.numpy.itemsize:
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
