"""The host's side of the protocol (docs/understand/protocol.md): a client over any byte stream. Standard library only.

A copy of this file travels in each generated project, for its Robot Framework suite.
"""

from __future__ import annotations

import binascii
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

VERSION = 2
"""Version of the protocol, which HELLO reports."""

PAYLOAD = 512
"""Most bytes of a frame's payload: the size of the device's buffer."""

SYNC, ESCAPE = b"\x7e", b"\x7d"

REPLY = 0x80
"""Bit of a frame's type that makes a reply of a request."""


class Request(IntEnum):
    """Numbers of the requests, as the firmware has them."""

    HELLO = 0x01
    RESET = 0x02
    WRITE = 0x03
    INVOKE = 0x04
    READ = 0x05
    SIGNATURE = 0x06
    TENSOR = 0x07
    ROWS = 0x08


LAYER, FAULT, REFUSED = 0x40, 0xFE, 0xFF
"""Types of frames that answer no request of their own: a layer's output, registers at a fault, a refusal."""

NOT_OPEN = 3
"""Reason of a refusal: no HELLO since the device started."""


class Stream(Protocol):
    """Byte stream to and from a device."""

    def read(self, timeout: float) -> bytes:
        """Received bytes; waits up to `timeout` seconds for the first one, and returns b"" if none arrives.

        Raises EOFError after the other side has closed.
        """

    def write(self, data: bytes) -> None:
        """Sends `data`, which may be lost. Raises EOFError after the other side has closed."""


class LinkError(Exception):
    """Communication with the device failed."""


class LinkTimeoutError(LinkError):
    """No valid reply arrived in time."""


class LinkClosedError(LinkError):
    """The device has disconnected."""


class RefusedError(LinkError):
    """The device rejects the request: unknown type, or an index or range out of bounds."""


class DeviceRestartedError(LinkError):
    """The device has restarted since the last HELLO and lost inputs, outputs and state."""


class DeviceFaultError(LinkError):
    """The firmware raised a processor fault. `address` is 0 if the core does not report it."""

    def __init__(self, exception: int, pc: int, lr: int, cfsr: int, address: int) -> None:
        super().__init__(f"fault: exception {exception}, pc 0x{pc:08x}, lr 0x{lr:08x}, cfsr 0x{cfsr:08x}")
        self.exception, self.pc, self.lr, self.cfsr, self.address = exception, pc, lr, cfsr, address


@dataclass(frozen=True, slots=True)
class Hello:
    """Reply to HELLO: version of the protocol, largest payload in bytes, number of signatures, CRC-32 and name of the
    model."""

    version: int
    payload: int
    signatures: int
    fingerprint: int
    model: str


@dataclass(frozen=True, slots=True)
class SignatureInfo:
    """Reply to SIGNATURE: its key, and how many inputs and outputs it has."""

    key: str
    inputs: int
    outputs: int


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """An input or output: capacity in bytes; `row_bytes`, unless 0: bytes per index of its dynamic dimensions."""

    name: str
    bytes: int
    row_bytes: int


@dataclass(frozen=True, slots=True)
class Invoked:
    """Reply to INVOKE: stack used out of the stack available, in bytes; `cycles` is 0 without a cycle counter."""

    status: int
    stack_bytes: int
    stack_room: int
    cycles: int


@dataclass(frozen=True, slots=True)
class Frame:
    """One message; `sequence` (0 to 255) pairs a reply with its request."""

    type: int
    sequence: int
    payload: bytes


def encode(frame: Frame) -> bytes:
    """Bytes of a frame on the wire: marker, header, payload and CRC-16, with markers within them escaped."""
    body = struct.pack("<BBH", frame.type, frame.sequence, len(frame.payload)) + frame.payload
    body += binascii.crc_hqx(body, 0xFFFF).to_bytes(2, "big")
    return SYNC + body.replace(ESCAPE, b"\x7d\x5d").replace(SYNC, b"\x7d\x5e")


class Decoder:
    """Incremental decoder of received bytes into frames; drops everything that is no valid frame."""

    def __init__(self) -> None:
        self._raw: bytes | None = None

    def feed(self, data: bytes) -> list[Frame]:
        """Takes received bytes, and returns the frames that they complete, in order."""
        frames = []
        first, *remaining = data.split(SYNC)
        pieces = [] if self._raw is None else [self._raw + first]
        for piece in [*pieces, *remaining]:
            frame = self._frame(piece)
            # A piece that is a frame is done with; one that is not yet may become one when more arrives.
            self._raw = piece if frame is None and len(piece) <= 2 * (PAYLOAD + 6) else None
            if frame is not None:
                frames.append(frame)
        return frames

    @staticmethod
    def _frame(raw: bytes) -> Frame | None:
        body = raw.replace(b"\x7d\x5e", SYNC).replace(b"\x7d\x5d", ESCAPE)
        if len(body) < 6:
            return None
        kind, sequence, length = struct.unpack_from("<BBH", body)
        if length > PAYLOAD or len(body) < length + 6 or binascii.crc_hqx(body[: length + 6], 0xFFFF) != 0:
            return None
        return Frame(kind, sequence, body[4 : 4 + length])


class Client:
    """Stop-and-wait client: one request at a time, repeated until its reply arrives or `patience` seconds have passed.

    layers  payloads of the LAYER frames of the last INVOKE, in order
    retry   seconds before the first repetition; each further wait doubles, up to 4 times `retry`, or 16 times for
            INVOKE, which may take long
    """

    def __init__(self, stream: Stream, patience: float, retry: float = 0.5) -> None:
        self.retransmissions = 0
        self._stream = stream
        self._patience = patience
        self._retry = retry
        self._sequence = 0
        self._decoder = Decoder()
        self._arrived: list[Frame] = []
        self._heard = 0.0
        self.layers: list[bytes] = []

    def hello(self) -> Hello:
        """Asks who the device is. Raises LinkError if it speaks another version of the protocol."""
        data = self.request(Request.HELLO, first_wait=self._retry / 10)  # what comes before it listens is lost
        if data[0] != VERSION:
            raise LinkError(f"the device speaks version {data[0]} of the protocol, this is version {VERSION}")
        version, payload, signatures, fingerprint = struct.unpack_from("<BHHI", data)
        return Hello(version, payload, signatures, fingerprint, data[9:].decode(errors="replace"))

    def signature(self, signature: int) -> SignatureInfo:
        """Describes the signature with this index. Raises RefusedError if there is none."""
        data = self.request(Request.SIGNATURE, struct.pack("<H", signature))
        inputs, outputs = struct.unpack_from("<HH", data)
        return SignatureInfo(data[4:].decode(errors="replace"), inputs, outputs)

    def tensor(self, signature: int, output: bool, index: int) -> TensorInfo:
        """Describes one input or output of a signature. Raises RefusedError if there is none."""
        data = self.request(Request.TENSOR, struct.pack("<HBH", signature, output, index))
        size, row = struct.unpack_from("<II", data)
        return TensorInfo(data[8:].decode(errors="replace"), size, row)

    def set_dims(self, signature: int, index: int, dims: Sequence[int]) -> None:
        """Sets the dynamic dimensions of input `index` for the following invokes."""
        self.request(Request.ROWS, struct.pack(f"<HBH{len(dims)}i", signature, False, index, *dims))

    def dims(self, signature: int, index: int) -> tuple[int, ...]:
        """Dynamic dimensions of output `index` after the last invoke."""
        data = self.request(Request.ROWS, struct.pack("<HBH", signature, True, index))
        return struct.unpack(f"<{len(data) // 4}i", data)

    def reset(self) -> None:
        """Puts the model's persistent state back to that of the start."""
        self.request(Request.RESET)

    def write(self, signature: int, index: int, data: bytes) -> None:
        """Writes `data` to the first bytes of input `index`."""
        step = PAYLOAD - 8
        for offset in range(0, len(data), step):
            head = struct.pack("<HHI", signature, index, offset)
            self.request(Request.WRITE, head + data[offset : offset + step])

    def invoke(self, signature: int) -> Invoked:
        """Runs a signature with the inputs written before; values of layers that arrive meanwhile stand in `layers`."""
        self.layers = []
        return Invoked(*struct.unpack("<BIII", self.request(Request.INVOKE, struct.pack("<H", signature))))

    def read(self, signature: int, index: int, size: int) -> bytes:
        """Reads the first `size` bytes of output `index`."""
        parts = []
        for offset in range(0, size, PAYLOAD):
            count = min(PAYLOAD, size - offset)
            parts.append(self.request(Request.READ, struct.pack("<HHIH", signature, index, offset, count)))
        return b"".join(parts)

    def request(self, kind: Request, payload: bytes = b"", first_wait: float | None = None) -> bytes:
        """Sends one request and returns the payload of its reply."""
        self._sequence = (self._sequence + 1) % 256
        frame = encode(Frame(kind, self._sequence, payload))
        wait = self._retry if first_wait is None else first_wait
        max_wait = wait * (16 if kind is Request.INVOKE else 4)
        deadline = time.monotonic() + self._patience
        while True:
            try:
                self._stream.write(frame)
                reply = self._await(kind, min(time.monotonic() + wait, max(deadline, self._heard + self._patience)))
            except EOFError as error:
                raise LinkClosedError(str(error)) from error
            if reply is not None:
                return reply
            if time.monotonic() >= max(deadline, self._heard + self._patience):
                raise LinkTimeoutError(f"no answer to {kind.name}")
            self.retransmissions += 1
            wait = min(2 * wait, max_wait)

    def _await(self, kind: Request, deadline: float) -> bytes | None:
        while True:
            while self._arrived:
                frame = self._arrived.pop(0)
                if frame.type == FAULT and len(frame.payload) == 20:
                    raise DeviceFaultError(*struct.unpack("<5I", frame.payload))
                if frame.type == LAYER and frame.sequence == self._sequence:
                    self.layers.append(frame.payload)
                    self._heard = time.monotonic()
                    continue
                if frame.sequence != self._sequence:
                    continue  # the answer to an earlier request that was sent twice
                if frame.type == REFUSED and frame.payload == bytes([NOT_OPEN]):
                    raise DeviceRestartedError("the device has restarted")
                if frame.type == REFUSED:
                    raise RefusedError(f"the device refused {kind.name}, reason {frame.payload.hex()}")
                if frame.type == kind | REPLY:
                    return frame.payload
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return None
            self._arrived += self._decoder.feed(self._stream.read(remaining))
