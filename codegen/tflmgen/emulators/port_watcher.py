"""Lines of an attached board's serial port: text, and frames of the protocol decoded."""

from __future__ import annotations

import struct

from tflmgen.emulators.link import FAULT, REFUSED, REPLY, Decoder, Frame, Request
from tflmgen.emulators.serial_port import LARGEST_FRAME

SYNC = 0x7E
"""Byte that begins and ends a frame of the protocol."""


class PortWatcher:
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
