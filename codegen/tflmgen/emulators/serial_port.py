"""Serial port of an attached board: a device, or a URL of pySerial (socket://HOST:PORT, rfc2217://HOST:PORT)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import serial  # type: ignore[import-untyped]
from serial.tools import list_ports  # type: ignore[import-untyped]

from tflmgen.errors import TflmgenError

RECONNECT = 10.0
"""Seconds to wait for a port to reappear: a board with native USB loses its port when it restarts."""

POLL = 0.05
"""Seconds for which one read waits."""
LARGEST_FRAME = 1100
"""Largest frame in bytes, with every byte escaped."""


class PortError(TflmgenError):
    """The serial port does not exist or cannot be opened."""


class SerialStream:
    """A link.Stream over a serial port. Discards bytes received before it was opened."""

    def __init__(self, name: str, baud: int) -> None:
        self._name, self._baud = name, baud
        self._lost_at = 0.0
        self._reason = ""
        try:
            self._port: Any = self._open()
        except (serial.SerialException, OSError, ValueError) as error:
            raise PortError(f"serial port {name}: {_reason(error)}. {describe_ports()}") from error
        self._port.reset_input_buffer()

    def read(self, timeout: float) -> bytes:
        """Bytes that arrive within `timeout` seconds; empty if there are none. A lost port is opened again
        meanwhile."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                data = self._arrived()
            except (serial.SerialException, OSError) as error:
                data = b""
                self._lose(error)
            if data or time.monotonic() >= deadline:
                return data

    def write(self, data: bytes) -> None:
        """Writes the bytes; what the device does not take is lost, and so is all while the port is away."""
        try:
            if self._connected():
                self._port.write(data)
        except serial.SerialTimeoutException:
            return  # a device that does not read: the request is sent again later, or times out
        except (serial.SerialException, OSError) as error:
            self._lose(error)

    def close(self) -> None:
        """Closes the port if it is open."""
        if self._port is not None:
            self._port.close()

    def _open(self) -> Any:
        exclusive = True if os.name == "posix" else None
        return serial.serial_for_url(
            self._name, baudrate=self._baud, timeout=POLL, write_timeout=2.0, exclusive=exclusive
        )

    def _arrived(self) -> bytes:
        if not self._connected():
            time.sleep(POLL)
            return b""
        data = bytes(self._port.read(1))
        while data and len(data) < 2 * LARGEST_FRAME and (waiting := self._port.in_waiting):
            data += bytes(self._port.read(waiting))
        return data

    def _lose(self, error: Exception) -> None:
        if self._port is not None:
            self._lost_at, self._reason = time.monotonic(), _reason(error)
            self._port.close()
            self._port = None

    def _connected(self) -> bool:
        """Whether the port is open, after an attempt to reopen it. Raises EOFError after RECONNECT seconds."""
        if self._port is None:
            try:
                self._port = self._open()
            except (serial.SerialException, OSError):
                if time.monotonic() - self._lost_at > RECONNECT:
                    raise EOFError(f"the serial port went away: {self._reason}") from None
        return self._port is not None


@contextmanager
def open_serial(name: str, baud: int) -> Iterator[SerialStream]:
    """Stream of port `name`. Raises PortError if it cannot be opened."""
    stream = SerialStream(name, baud)
    try:
        yield stream
    finally:
        stream.close()


def find_port(requested: str | None) -> str:
    """`requested`, else the only USB serial port. Raises PortError if there is none or more than one."""
    if requested is not None:
        return requested
    devices = [port.device for port in list_ports.comports() if port.vid is not None]
    if len(devices) != 1:
        raise PortError(f"{'no' if not devices else 'more than one'} board found: name its --port. {describe_ports()}")
    return str(devices[0])


def describe_ports() -> str:
    """Sentence that lists the serial ports of this computer."""
    ports = [f"{p.device} ({p.description})" if p.vid is not None else p.device for p in list_ports.comports()]
    return f"Ports here: {', '.join(sorted(ports))}" if ports else "This computer has no serial port"


def first_wait(baud: int) -> float:
    """Seconds before a request is repeated: transmission time of the reply at `baud`, plus that of a slow device."""
    return 0.5 + 2 * 10 * LARGEST_FRAME / baud


def _reason(error: Exception) -> str:
    """Text of the error without its class and errno."""
    return str(getattr(error, "strerror", None) or error).strip().rstrip(".")
