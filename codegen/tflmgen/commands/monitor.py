"""tflmgen monitor."""

from __future__ import annotations

import struct
import time

from tflmgen.emulators import FAULT, LARGEST_FRAME, REFUSED, REPLY, Decoder, Frame, Request, find_port, open_serial
from tflmgen.errors import TflmgenError, UsageError
from tflmgen.options import OutputOptions
from tflmgen.project import load_board
from tflmgen.terminal import Console

DEFAULT_BAUD = 115200
"""Rate of a port whose board is not named."""
SYNC = 0x7E
"""Byte that begins and ends a frame of the protocol."""


class PortLostError(TflmgenError):
    """The serial port disappeared while it was monitored."""


def monitor_command(
    port: str | None, board_name: str | None, baud: int | None, seconds: float | None, output: OutputOptions
) -> None:
    """Prints the bytes of a serial port: text unchanged, frames of the protocol decoded."""
    if baud is not None and board_name is not None:
        raise UsageError("--board tells the baud rate: leave --baud out")
    console = Console(output)
    board = load_board(board_name) if board_name is not None else None
    uart = board.uart if board is not None else None
    rate = baud or (uart.baud if uart is not None else DEFAULT_BAUD)
    name = find_port(port)
    console.line(f"{name} at {rate} baud; Ctrl-C ends.")
    watcher = Watcher()
    with open_serial(name, rate) as stream:
        deadline = float("inf") if seconds is None else time.monotonic() + seconds
        while (remaining := deadline - time.monotonic()) > 0:
            try:
                data = stream.read(min(remaining, 0.5))
            except EOFError as error:
                raise PortLostError(f"{name}: {error}") from error
            for line in watcher.feed(data):
                console.line(line)
    for line in watcher.flush():
        console.line(line)


class Watcher:
    """Incremental decoder of a byte stream into lines: text, and descriptions of the frames in between."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._frame: bytearray | None = None

    def feed(self, data: bytes) -> list[str]:
        """Adds bytes and returns the lines that they complete."""
        lines: list[str] = []
        for byte in data:
            if byte == SYNC:
                lines += self.flush()
                self._frame = bytearray([SYNC])
            elif self._frame is not None:
                self._frame.append(byte)
                frames = Decoder().feed(bytes(self._frame)) if len(self._frame) > 6 else []
                if frames:
                    lines.append(describe(frames[0]))
                    self._frame = None
                elif len(self._frame) > LARGEST_FRAME:
                    lines += self.flush()
            elif byte == 0x0A:
                lines += self.flush() or [""]
            else:
                self._text.append(byte)
        return lines

    def flush(self) -> list[str]:
        """Returns the incomplete line or frame, and forgets it."""
        broken = [f"[{len(self._frame)} bytes of a damaged frame]"] if self._frame is not None else []
        text = [_readable(bytes(self._text).rstrip(b"\r"))] if self._text else []
        self._frame = None
        self._text.clear()
        return text + broken


def describe(frame: Frame) -> str:
    """One-line description of a frame, in square brackets."""
    if frame.type == FAULT and len(frame.payload) == 20:
        names = ("exception", "pc", "lr", "cfsr", "address")
        values = struct.unpack("<5I", frame.payload)
        return "[fault: " + ", ".join(f"{n} 0x{v:08x}" for n, v in zip(names, values, strict=True)) + "]"
    if frame.type == REFUSED:
        return f"[request {frame.sequence} refused, reason {frame.payload.hex()}]"
    kinds = {int(kind): kind.name for kind in Request}
    kind = "reply to" if frame.type & REPLY else "request"
    name = kinds.get(frame.type & ~REPLY, f"type {frame.type:#04x}")
    return f"[{kind} {name}, number {frame.sequence}, {len(frame.payload)} bytes]"


def _readable(data: bytes) -> str:
    text = data.decode("utf-8", errors="backslashreplace")
    return "".join(c if c.isprintable() or c == "\t" else f"\\x{ord(c):02x}" for c in text)
