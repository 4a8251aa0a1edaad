"""An attached board's serial port: a device, or a URL as pySerial takes it (socket://HOST:PORT, rfc2217://HOST:PORT)."""

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
"""Seconds in which a port that went away may come back: a board with USB of its own takes it along when it restarts."""

POLL = 0.05
LARGEST_FRAME = 1100
"""Bytes, each of them escaped."""


class PortError(TflmgenError):
    """There is no such serial port, or it cannot be opened."""


class SerialStream:
    """A link.Stream over a serial port. What waits in the port from before is dropped."""

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
        until = time.monotonic() + timeout
        while True:
            try:
                data = self._arrived()
            except (serial.SerialException, OSError) as error:
                data = b""
                self._lose(error)
            if data or time.monotonic() >= until:
                return data

    def write(self, data: bytes) -> None:
        try:
            if self._connected():
                self._port.write(data)
        except serial.SerialTimeoutException:
            return  # a device that does not read: the request is sent again later, or times out
        except (serial.SerialException, OSError) as error:
            self._lose(error)

    def close(self) -> None:
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
        """Whether the port is there, after trying to open it again; EOFError once it has been away for too long."""
        if self._port is None:
            try:
                self._port = self._open()
            except (serial.SerialException, OSError):
                if time.monotonic() - self._lost_at > RECONNECT:
                    raise EOFError(f"the serial port went away: {self._reason}") from None
        return self._port is not None


@contextmanager
def open_serial(name: str, baud: int) -> Iterator[SerialStream]:
    """The stream of port `name`. PortError if it cannot be opened."""
    stream = SerialStream(name, baud)
    try:
        yield stream
    finally:
        stream.close()


def find_port(asked: str | None) -> str:
    """The port that was asked for, else the only one with a USB device behind it."""
    if asked is not None:
        return asked
    found = [port.device for port in list_ports.comports() if port.vid is not None]
    if len(found) != 1:
        raise PortError(f"{'no' if not found else 'more than one'} board found: name its --port. {describe_ports()}")
    return str(found[0])


def describe_ports() -> str:
    """The serial ports of this computer, in a sentence."""
    ports = [f"{p.device} ({p.description})" if p.vid is not None else p.device for p in list_ports.comports()]
    return f"Ports here: {', '.join(sorted(ports))}" if ports else "This computer has no serial port"


def first_wait(baud: int) -> float:
    """Seconds after which a request is sent again: the answer's time at `baud`, and what a slow device takes."""
    return 0.5 + 2 * 10 * LARGEST_FRAME / baud


def _reason(error: Exception) -> str:
    """Without Python's class and errno."""
    return str(getattr(error, "strerror", None) or error).strip().rstrip(".")
