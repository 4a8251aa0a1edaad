"""tflmgen monitor."""

from __future__ import annotations

import time

from tflmgen.emulators import PortWatcher, find_port, open_serial
from tflmgen.errors import TflmgenError, UsageError
from tflmgen.hardware import load_board
from tflmgen.options import OutputOptions
from tflmgen.terminal import Console

DEFAULT_BAUD = 115200
"""Rate of a port whose board is not named."""


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
    watcher = PortWatcher()
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
