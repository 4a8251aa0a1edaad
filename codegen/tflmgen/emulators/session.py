"""Session with a running model: invokes it with inputs and returns outputs and costs."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from tflmgen.architectures import Architecture, architecture_of
from tflmgen.emulators.invoke_cost import Cycles, Executed, OperatorCount, Waits
from tflmgen.emulators.link import (
    Client,
    DeviceFaultError,
    DeviceRestartedError,
    Hello,
    Invoked,
    LinkClosedError,
    LinkError,
    LinkTimeoutError,
    Stream,
    TensorInfo,
)
from tflmgen.errors import TflmgenError

MORE = 5
"""TFLMGEN_MORE: the model expects the next row, or the next rows of a window."""


class EmulatorError(TflmgenError):
    """The model did not run: no reply in time, a processor fault, or the emulator ended or is not installed."""


class RestartError(EmulatorError):
    """The device has restarted and lost inputs, outputs and state. Session.reopen() continues with it."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """Result of one invoke.

    status       tflmgen_status; there are outputs only if it is 0
    stack_bytes  of the invoke alone; 0 if not measured
    cycles       of the DWT; 0 if not measured
    operators    executed operators; None if not counted
    layers       payloads of LAYER frames (docs/understand/protocol.md)
    dims         dynamic dimensions of each output
    waits        for the flash, in addition to cycles_estimated; None if not estimated
    """

    outputs: tuple[bytes, ...]
    status: int
    stack_bytes: int
    cycles: int
    instructions: int | None
    operators: tuple[OperatorCount, ...] | None = None
    cycles_estimated: Cycles | None = None
    layers: tuple[bytes, ...] = ()
    dims: tuple[tuple[int, ...], ...] = ()
    waits: Waits | None = None


Dims = Sequence[Sequence[int]] | None
"""Dynamic dimensions of each input; None: derived from the inputs' sizes."""


class Meter(Protocol):
    """Counter of executed instructions; a session reports its resets and invokes to it."""

    def reset(self) -> None:
        """The session has put the model's state back to that of the start."""

    def measure(self, signature: int, inputs: Sequence[bytes], invoked: Invoked, dims: Dims) -> Executed:
        """Cost of the invoke that has just ended; `invoked` is the device's reply."""


@dataclass(frozen=True, slots=True)
class SignatureTensors:
    """A signature with its inputs and outputs, as the running firmware describes them."""

    key: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]


class Session:
    """Session with one running firmware.

    emulator  name of the emulator, for messages
    timeout   seconds per reply
    elf, architecture  the firmware, and what it runs on, for explanations of its faults
    notes     remarks for the user
    meter     counter of instructions
    retry     seconds before a request is repeated
    place     location for messages: "in QEMU", "at PORT"
    advice    appended to the error if the firmware faults or the emulator ends
    """

    def __init__(
        self,
        stream: Stream,
        emulator: str,
        timeout: float,
        elf: Path | None = None,
        architecture: Architecture | None = None,
        notes: Sequence[str] = (),
        meter: Meter | None = None,
        retry: float = 0.5,
        place: str = "",
        advice: str = "",
    ) -> None:
        self.emulator = emulator
        self.place = place or f"in {emulator}"
        self._notes = tuple(notes)
        self._advice = f"\n{advice}" if advice else ""
        self._client = Client(stream, timeout, retry)
        self._timeout = timeout
        self._elf = elf
        self._architecture = architecture or architecture_of("")
        self._meter = meter
        self._restarts = 0
        with self._explained("does not answer. Does src/main.c still call tflmgen_serve()?"):
            hello, self.signatures = self._describe()
        self.model, self.fingerprint = hello.model, hello.fingerprint

    def _describe(self, patience: int = 3) -> tuple[Hello, tuple[SignatureTensors, ...]]:
        """Description of the firmware. Repeated since opening a port restarts some boards, even after a first reply."""
        try:
            hello = self._client.hello()
            return hello, self._signatures(hello.signatures)
        except DeviceRestartedError:
            if patience == 0:
                raise
            return self._describe(patience - 1)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the user on this run."""
        times = "once" if self._restarts == 1 else f"{self._restarts} times"
        restarts = (f"the board restarted {times}; what it was at was run again",) if self._restarts else ()
        return (*self._notes, *restarts)

    def reopen(self) -> None:
        """Continues with a restarted device, which is in its initial state."""
        self._restarts += 1
        with self._explained("does not answer after a restart"):
            if self._client.hello().fingerprint != self.fingerprint:
                raise EmulatorError(f"{self.emulator}: another firmware answers after a restart")

    def _signatures(self, count: int) -> tuple[SignatureTensors, ...]:
        client = self._client
        out = []
        for index in range(count):
            info = client.signature(index)
            inputs = tuple(client.tensor(index, False, i) for i in range(info.inputs))
            outputs = tuple(client.tensor(index, True, i) for i in range(info.outputs))
            out.append(SignatureTensors(info.key, inputs, outputs))
        return tuple(out)

    def reset(self) -> None:
        """Restores the model's initial state."""
        with self._explained("did not reset"):
            self._client.reset()
        if self._meter is not None:
            self._meter.reset()

    def invoke(self, signature: int, inputs: Sequence[bytes], dims: Dims = None) -> Invocation:
        """Runs signature `signature` (index) on `inputs`, each the tensor's bytes, little-endian.

        A dynamic tensor has the bytes of its run-time shape. `dims` are the dynamic dimensions of each input; None if
        every input has at most one, which then follows from the number of bytes. Inputs that the model accepts row by
        row, or some rows of a window at a time, are sent in as many invokes as they have such parts. So are other
        inputs that have as many parts; a dynamic one needs `dims` then.
        """
        tensors = self.signatures[signature]
        if len(inputs) != len(tensors.inputs):
            raise EmulatorError(f"signature '{tensors.key}' has {len(tensors.inputs)} inputs, not {len(inputs)}")
        with self._explained(f"did not finish {_quoted(tensors.key)}"):
            sizes = self._set_dims(signature, inputs, dims)
            rows = max((len(data) // size for data, size in zip(inputs, sizes, strict=True) if size), default=1)
            self._write_inputs(signature, inputs, sizes, rows)
            reply = self._client.invoke(signature)
            for row in range(1, rows):
                if reply.status in (0, MORE):
                    self._next_row(signature, inputs, sizes, row)
                    earlier, reply = reply, self._client.invoke(signature)
                    stack = max(earlier.stack_bytes, reply.stack_bytes)
                    reply = replace(reply, stack_bytes=stack, cycles=earlier.cycles + reply.cycles)
            if reply.stack_room and reply.stack_bytes >= reply.stack_room:
                raise EmulatorError(f"stack overflow: '{tensors.key}' used all of the {reply.stack_room} free bytes")
            shapes, outputs = self._read_outputs(signature) if reply.status == 0 else ((), ())
        if self._meter is None:
            layers = tuple(self._client.layers)
            return Invocation(outputs, reply.status, reply.stack_bytes, reply.cycles, None, layers=layers, dims=shapes)
        cost = self._meter.measure(signature, inputs, reply, dims)
        counted = cost.instructions, cost.operators, cost.cycles
        return Invocation(
            outputs, reply.status, reply.stack_bytes, reply.cycles, *counted, dims=shapes, waits=cost.waits
        )

    def _set_dims(self, signature: int, inputs: Sequence[bytes], dims: Dims) -> list[int]:
        """Sets the dimensions of dynamic inputs; returns the bytes that one invoke takes of each input."""
        sizes = []
        for index, (data, tensor) in enumerate(zip(inputs, self.signatures[signature].inputs, strict=True)):
            size = tensor.bytes
            if tensor.row_bytes:
                own = dims[index] if dims else (len(data) // tensor.row_bytes,)
                size = math.prod(own) * tensor.row_bytes
                if size <= tensor.bytes:
                    self._client.set_dims(signature, index, own)
            sizes.append(min(size, tensor.bytes))
        return sizes

    def _write_inputs(self, signature: int, inputs: Sequence[bytes], sizes: Sequence[int], rows: int) -> None:
        """Writes whole inputs, and the first of `rows` parts of `sizes` bytes of those that come in parts."""
        tensors = self.signatures[signature].inputs
        for index, (data, tensor, size) in enumerate(zip(inputs, tensors, sizes, strict=True)):
            if len(data) not in (size, size * rows):
                raise EmulatorError(f"input '{tensor.name}' has {size} bytes, not {len(data)}")
            self._client.write(signature, index, data[:size])

    def _read_outputs(self, signature: int) -> tuple[tuple[tuple[int, ...], ...], tuple[bytes, ...]]:
        """The outputs' dimensions that are known at run time only, and their bytes."""
        tensors = self.signatures[signature].outputs
        shapes = tuple(self._client.dims(signature, i) if t.row_bytes else () for i, t in enumerate(tensors))
        sizes = [math.prod(own) * t.row_bytes if own else t.bytes for t, own in zip(tensors, shapes, strict=True)]
        return shapes, tuple(self._client.read(signature, i, size) for i, size in enumerate(sizes))

    def _next_row(self, signature: int, inputs: Sequence[bytes], sizes: Sequence[int], row: int) -> None:
        """Writes part `row` of the inputs that come in parts of `sizes` bytes."""
        for index, (data, size) in enumerate(zip(inputs, sizes, strict=True)):
            if len(data) > size:
                self._client.write(signature, index, data[row * size : (row + 1) * size])

    @contextmanager
    def _explained(self, failure: str) -> Iterator[None]:
        """Turns link errors into EmulatorErrors with a text for the user."""
        try:
            yield
        except LinkTimeoutError as error:
            raise EmulatorError(f"{self.emulator}: timeout: the firmware {failure} in {self._timeout:g} s") from error
        except LinkClosedError as error:
            raise EmulatorError(f"{self.emulator} ended: {error}{self._advice}") from error
        except DeviceFaultError as error:
            raise EmulatorError(f"{self.emulator}: {self._explain(error)}{self._advice}") from error
        except DeviceRestartedError as error:
            raise RestartError(f"{self.emulator}: the board has restarted: the firmware {failure}") from error
        except LinkError as error:
            raise EmulatorError(f"{self.emulator}: {error}") from error

    def _explain(self, fault: DeviceFaultError) -> str:
        name = self._architecture.exceptions.get(fault.exception, f"exception {fault.exception}")
        causes = [text for bit, text in self._architecture.causes.items() if fault.cfsr >> bit & 1]
        if fault.address:
            causes.append(f"address 0x{fault.address:08x}")
        text = f"the firmware faulted: {name} at pc 0x{fault.pc:08x}{self._place(fault.pc)}, lr 0x{fault.lr:08x}"
        caller = self._place((fault.lr & ~1) - 2)  # lr is behind the call
        return text + caller + (f": {', '.join(causes)}" if causes else "")

    def _place(self, address: int) -> str:
        """Function, file and line of a code address from the debug information, as text; empty if unknown."""
        chain = self._architecture.toolchain
        if self._elf is None or chain is None:
            return ""
        command = [f"{chain.prefix}addr2line", "-f", "-s", "-e", str(self._elf), hex(address)]
        try:
            process = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError:
            return ""
        function, _, line = process.stdout.strip().partition("\n")
        if process.returncode != 0 or function in ("", "??"):
            return ""
        return f" in {function}()" + (f" ({line})" if "?" not in line else "")


def _quoted(key: str) -> str:
    return f"'{key}'" if key else "the invoke"
