"""Keywords that talk to the firmware, for the Robot Framework suite beside this file. Standard library only."""

from __future__ import annotations

import ast
import io
import math
import random
import re
import socket
import struct
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

from link import Client, SignatureInfo

__all__ = (
    "connect_to_firmware",
    "decimal",
    "free_port",
    "model_should_be",
    "outputs_should_equal",
    "outputs_should_repeat",
    "renode_path",
)

FLOATS = {"f2": "e", "f4": "f", "f8": "d"}
SEED = 1


class SocketStream:
    """A link.Stream over TCP."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def read(self, timeout: float) -> bytes:
        self._connection.settimeout(max(timeout, 0.001))
        try:
            data = self._connection.recv(65536)
        except TimeoutError:
            return b""
        if not data:
            raise EOFError("Renode has closed the connection")
        return data

    def write(self, data: bytes) -> None:
        self._connection.settimeout(None)
        self._connection.sendall(data)

    def close(self) -> None:
        self._connection.close()


@dataclass
class Connection:
    stream: SocketStream
    client: Client
    signatures: list[SignatureInfo]

    def inputs(self, signature: int) -> list[int]:
        """Bytes of each input."""
        count = self.signatures[signature].inputs
        return [self.client.tensor(signature, False, i).bytes for i in range(count)]

    def invoke(self, signature: int, inputs: list[bytes]) -> list[bytes]:
        for index, data in enumerate(inputs):
            self.client.write(signature, index, data)
        done = self.client.invoke(signature)
        key = self.signatures[signature].key
        if done.status != 0:
            raise AssertionError(f"signature '{key}' returned status {done.status}")
        if done.stack_room and done.stack_bytes >= done.stack_room:
            raise AssertionError(f"signature '{key}' used all of the {done.stack_room} free bytes of stack")
        count = self.signatures[signature].outputs
        sizes = [self.client.tensor(signature, True, i).bytes for i in range(count)]
        return [self.client.read(signature, i, size) for i, size in enumerate(sizes)]


@dataclass(frozen=True)
class Array:
    """One array of an .npz file; `dtype` as in NumPy's format, such as <f4."""

    dtype: str
    data: bytes

    def text(self) -> str:
        return self.data.decode("utf-32-le" if self.dtype[0] != ">" else "utf-32-be").rstrip("\0")

    def number(self) -> int:
        return int.from_bytes(self.data, "little")


_open: list[Connection] = []


def free_port() -> int:
    """A TCP port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def renode_path(path: str) -> str:
    """A path as Renode's monitor reads it; what begins with @ stays as it is."""
    return path if path.startswith("@") else "@" + str(Path(path).resolve()).replace(" ", "\\ ")


def decimal(number: str) -> str:
    """A number as Renode's monitor prints it, which is hexadecimal unless its user prefers another format."""
    return str(int(number.strip(), 0))


def connect_to_firmware(port: str, timeout: float = 60.0) -> None:
    """Connect to the firmware's UART on TCP port `port`; each answer may take `timeout` seconds."""
    while _open:
        _open.pop().stream.close()
    until = time.monotonic() + float(timeout)
    while True:
        try:
            stream = SocketStream(socket.create_connection(("127.0.0.1", int(port)), timeout=5))
            break
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
    client = Client(stream, float(timeout))
    count = client.hello().signatures
    _open.append(Connection(stream, client, [client.signature(i) for i in range(count)]))


def model_should_be(name: str, signatures: str) -> None:
    """The firmware holds model `name` with `signatures` signatures."""
    connection = _open[-1]
    hello = connection.client.hello()
    if (hello.model, hello.signatures) != (name, int(signatures)):
        raise AssertionError(f"the firmware serves {hello.model} with {hello.signatures} signatures")


def outputs_should_repeat() -> None:
    """Each signature succeeds on made-up inputs, twice from reset, with equal outputs."""
    connection = _open[-1]
    for signature in range(len(connection.signatures)):
        generator = random.Random(SEED)
        # Bytes 0 and 1 make small integers, valid booleans and tiny floats: fit for indices and loop counters.
        inputs = [
            bytes(generator.randrange(2) if i % 8 == 0 else 0 for i in range(n)) for n in connection.inputs(signature)
        ]
        outputs = []
        for _ in range(2):
            connection.client.reset()
            outputs.append(connection.invoke(signature, inputs))
        if outputs[0] != outputs[1]:
            key = connection.signatures[signature].key
            raise AssertionError(f"signature '{key}' gives other outputs after a reset")


def outputs_should_equal(vectors: str, atol: str, rtol: str) -> None:
    """Run the sets of an .npz file (s0_in_0, s0_out_0 ...): integers equal exactly, floats within the tolerances."""
    connection = _open[-1]
    arrays = _read_npz(Path(vectors))
    sets = sorted({int(match[1]) for name in arrays if (match := re.fullmatch(r"s(\d+)_(?:in|out)_\d+", name))})
    if not sets:
        raise AssertionError(f"{vectors}: no sets (s0_in_0, s0_out_0 ...)")
    keys = [signature.key for signature in connection.signatures]
    stateful = "stateful" in arrays and arrays["stateful"].number() != 0
    for k in sets:
        signature = keys.index(arrays[f"s{k}_sig"].text()) if f"s{k}_sig" in arrays else 0
        if k == sets[0] or not stateful:
            connection.client.reset()
        inputs = [arrays[f"s{k}_in_{i}"].data for i in range(connection.signatures[signature].inputs)]
        for j, actual in enumerate(connection.invoke(signature, inputs)):
            expected = arrays[f"s{k}_out_{j}"]
            if not _equal(expected, actual, float(atol), float(rtol)):
                raise AssertionError(f"{vectors}: set {k}, output {j} differs")


def _equal(expected: Array, actual: bytes, atol: float, rtol: float) -> bool:
    code = FLOATS.get(expected.dtype[1:])
    if code is None or len(actual) != len(expected.data):
        return actual == expected.data
    count = len(actual) // struct.calcsize(code)
    values = struct.unpack(f"<{2 * count}{code}", actual + expected.data)
    return all(_close(values[i], values[count + i], atol, rtol) for i in range(count))


def _close(actual: float, expected: float, atol: float, rtol: float) -> bool:
    if math.isnan(expected) or math.isinf(expected):
        return actual == expected or (math.isnan(actual) and math.isnan(expected))
    return abs(actual - expected) <= atol + rtol * abs(expected)


def _read_npz(path: Path) -> dict[str, Array]:
    with zipfile.ZipFile(path) as archive:
        return {name[:-4]: _read_npy(archive.read(name)) for name in archive.namelist() if name.endswith(".npy")}


def _read_npy(data: bytes) -> Array:
    """NumPy's format: magic, version, length of the header, header (a Python literal), elements."""
    stream = io.BytesIO(data)
    if stream.read(6) != b"\x93NUMPY":
        raise ValueError("not an .npy array")
    major, _ = stream.read(2)
    (length,) = struct.unpack("<H", stream.read(2)) if major == 1 else struct.unpack("<I", stream.read(4))
    header = ast.literal_eval(stream.read(length).decode())
    if header["fortran_order"] and len(header["shape"]) > 1:
        raise ValueError("an array in column order: save it by numpy.ascontiguousarray")
    return Array(header["descr"], stream.read())
