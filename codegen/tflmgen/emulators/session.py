"""A model running somewhere: invoke it with inputs, get its outputs and what the run cost."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from tflmgen.emulators.invoke_cost import Cycles, Executed, OperatorCount
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

EXCEPTIONS = {2: "NMI", 3: "HardFault", 4: "MemManage fault", 5: "BusFault", 6: "UsageFault", 7: "SecureFault"}
MORE = 5
"""TFLMGEN_MORE: the model wants the next row."""

CFSR = {
    0: "instruction fetch from a protected address",
    1: "access to a protected address",
    8: "instruction fetch from an address without memory",
    9: "access to an address without memory",
    10: "access to an address without memory, some instructions earlier",
    12: "stack overflow on exception entry",
    16: "undefined instruction",
    17: "jump to ARM code or a bad address",
    19: "coprocessor or FPU switched off",
    20: "stack overflow",
    24: "unaligned access",
    25: "division by zero",
}


class EmulatorError(TflmgenError):
    """The model did not run: no answer in time, a processor fault, the emulator gone or not installed."""


class RestartError(EmulatorError):
    """The device has started anew: what was written, invoked and kept as state is gone. Session.reopen() goes on."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One invoke. `status` is a tflmgen_status; there are no outputs unless it is 0.

    `stack_bytes` (the invoke's own) and `cycles` are 0, the others None, where they are not measured. `operators` are
    those that ran. `layers` are what a firmware that shows its intermediate values sent (docs/understand/protocol.md).
    `dims` are the dimensions of each output that are known at run time only.
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


Dims = Sequence[Sequence[int]] | None
"""The dimensions of each input that are known at run time only."""


class Meter(Protocol):
    """Told of all that a session does."""

    def reset(self) -> None: ...

    def measure(self, signature: int, inputs: Sequence[bytes], invoked: Invoked, dims: Dims) -> Executed:
        """What the invoke has cost that has just ended; `invoked` is what the device answered to it."""


@dataclass(frozen=True, slots=True)
class SignatureTensors:
    key: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]


class Session:
    """`emulator` and `notes` are for reports; `timeout` seconds are what each answer of the firmware may take.

    `meter` tells what an invoke executed; `retry` is after how many seconds a request is sent again; `place` is "in" or
    "at" where the firmware runs; `advice` goes with a fault of the firmware and an end of the emulator.
    """

    def __init__(
        self,
        stream: Stream,
        emulator: str,
        timeout: float,
        elf: Path | None = None,
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
        self._meter = meter
        self._restarts = 0
        with self._explained("does not answer. Does src/main.c still call tflmgen_serve()?"):
            hello, self.signatures = self._describe()
        self.model, self.fingerprint = hello.model, hello.fingerprint

    def _describe(self, patience: int = 3) -> tuple[Hello, tuple[SignatureTensors, ...]]:
        """What the firmware says of itself. Opening a port restarts some boards, maybe after their first answer."""
        try:
            hello = self._client.hello()
            return hello, self._signatures(hello.signatures)
        except DeviceRestartedError:
            if patience == 0:
                raise
            return self._describe(patience - 1)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of this run."""
        times = "once" if self._restarts == 1 else f"{self._restarts} times"
        restarts = (f"the board restarted {times}; what it was at was run again",) if self._restarts else ()
        return (*self._notes, *restarts)

    def reopen(self) -> None:
        """Go on with a device that has restarted; it is in its initial state."""
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
        """Back to the model's initial state."""
        with self._explained("did not reset"):
            self._client.reset()
        if self._meter is not None:
            self._meter.reset()

    def invoke(self, signature: int, inputs: Sequence[bytes], dims: Dims = None) -> Invocation:
        """Run signature number `signature` on `inputs`, each the tensor's bytes, little-endian.

        A tensor with dimensions known at run time only has as many bytes as these take; `dims` are these of each input,
        or None where each has one at most, which then follows from the bytes. One that the model takes by rows has a
        row's bytes on the device: then there is an invoke for each, until the model wants no more.
        """
        tensors = self.signatures[signature]
        if len(inputs) != len(tensors.inputs):
            raise EmulatorError(f"signature '{tensors.key}' has {len(tensors.inputs)} inputs, not {len(inputs)}")
        with self._explained(f"did not finish {_quoted(tensors.key)}"):
            rows = max((len(d) // t.bytes for d, t in zip(inputs, tensors.inputs, strict=True) if t.bytes), default=1)
            for index, (data, tensor) in enumerate(zip(inputs, tensors.inputs, strict=True)):
                if tensor.row_bytes and len(data) <= tensor.bytes and len(data) % tensor.row_bytes == 0:
                    own = dims[index] if dims else (len(data) // tensor.row_bytes,)
                    self._client.set_dims(signature, index, own)
                elif len(data) not in (tensor.bytes, tensor.bytes * rows):
                    raise EmulatorError(f"input '{tensor.name}' has {tensor.bytes} bytes, not {len(data)}")
                self._client.write(signature, index, data[: tensor.bytes])
            done = self._client.invoke(signature)
            for row in range(1, rows):
                if done.status == MORE:
                    self._next_row(signature, inputs, row)
                    before, done = done, self._client.invoke(signature)
                    stack = max(before.stack_bytes, done.stack_bytes)
                    done = replace(done, stack_bytes=stack, cycles=before.cycles + done.cycles)
            if done.stack_room and done.stack_bytes >= done.stack_room:
                raise EmulatorError(f"stack overflow: '{tensors.key}' used all of the {done.stack_room} free bytes")
            outputs: tuple[bytes, ...] = ()
            shapes: tuple[tuple[int, ...], ...] = ()
            if done.status == 0:
                varies = [bool(tensor.row_bytes) for tensor in tensors.outputs]
                shapes = tuple(self._client.dims(signature, i) if v else () for i, v in enumerate(varies))
                outputs = tuple(
                    self._client.read(signature, i, math.prod(own) * tensor.row_bytes if own else tensor.bytes)
                    for i, (tensor, own) in enumerate(zip(tensors.outputs, shapes, strict=True))
                )
        if self._meter is None:
            layers = tuple(self._client.layers)
            return Invocation(outputs, done.status, done.stack_bytes, done.cycles, None, layers=layers, dims=shapes)
        cost = self._meter.measure(signature, inputs, done, dims)
        counted = cost.instructions, cost.operators, cost.cycles
        return Invocation(outputs, done.status, done.stack_bytes, done.cycles, *counted, dims=shapes)

    def _next_row(self, signature: int, inputs: Sequence[bytes], row: int) -> None:
        """Writes row `row` of the input that comes by rows."""
        for index, (data, tensor) in enumerate(zip(inputs, self.signatures[signature].inputs, strict=True)):
            if len(data) > tensor.bytes:
                self._client.write(signature, index, data[row * tensor.bytes : (row + 1) * tensor.bytes])

    @contextmanager
    def _explained(self, failure: str) -> Iterator[None]:
        """Say in the user's words what went wrong."""
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
        name = EXCEPTIONS.get(fault.exception, f"exception {fault.exception}")
        causes = [text for bit, text in CFSR.items() if fault.cfsr >> bit & 1]
        if fault.address:
            causes.append(f"address 0x{fault.address:08x}")
        text = f"the firmware faulted: {name} at pc 0x{fault.pc:08x}{self._place(fault.pc)}, lr 0x{fault.lr:08x}"
        caller = self._place((fault.lr & ~1) - 2)  # lr is behind the call
        return text + caller + (f": {', '.join(causes)}" if causes else "")

    def _place(self, address: int) -> str:
        """Function, file and line of a code address, as far as the firmware's debug information tells."""
        if self._elf is None:
            return ""
        command = ["arm-none-eabi-addr2line", "-f", "-s", "-e", str(self._elf), hex(address)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError:
            return ""
        function, _, line = done.stdout.strip().partition("\n")
        if done.returncode != 0 or function in ("", "??"):
            return ""
        return f" in {function}()" + (f" ({line})" if "?" not in line else "")


def _quoted(key: str) -> str:
    return f"'{key}'" if key else "the invoke"
