"""A board at a serial port: QEMU's UART, on a pseudoterminal or behind a line on which things go wrong."""

from __future__ import annotations

import contextlib
import random
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tflmgen.hardware.board import Board


@dataclass
class Faults:
    """Faults of a serial line: a share `rate` of bytes is dropped, changed or joined by others; `delay` in seconds.

    `restarts`: after how many bytes from the computer the board restarts, each counted from the one before.
    """

    rate: float = 0.0
    delay: float = 0.0
    restarts: list[int] = field(default_factory=list)
    hang_up: bool = False
    seed: int = 1


class Device:
    """A machine of QEMU. `port` is what --port takes."""

    def __init__(self, board: Board, firmware: Path, faults: Faults | None) -> None:
        assert board.qemu
        machine, *serials = board.qemu.machine, *["-serial", "null"] * board.qemu.serial
        uart = "pty" if faults is None else "stdio"
        command = ["qemu-system-arm", "-machine", machine, *board.qemu.arguments, "-display", "none", *serials]
        self._commands, theirs = socket.socketpair()
        command += ["-serial", uart, "-chardev", f"socket,id=m,fd={theirs.fileno()}", "-mon", "chardev=m"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [*command, "-kernel", str(firmware)], stdin=pipe, stdout=pipe, bufsize=0, pass_fds=[theirs.fileno()]
        )
        theirs.close()
        self.restarted = 0
        self.disturbed = 0
        if faults is None:
            assert self._process.stdout
            line = self._process.stdout.readline().decode()  # char device redirected to /dev/pts/4 (label serial1)
            self.port = next(word for word in line.split() if word.startswith("/dev/"))
            return
        self._faults, self._random = faults, random.Random(faults.seed)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = f"socket://127.0.0.1:{self._listener.getsockname()[1]}"
        self._connection: socket.socket | None = None
        for work in (self._to_board, self._to_computer):
            threading.Thread(target=work, daemon=True).start()

    def restart(self) -> None:
        self._commands.sendall(b"system_reset\n")
        self.restarted += 1

    def _to_board(self) -> None:
        assert self._process.stdin
        left = list(self._faults.restarts)
        passed = 0
        while True:
            with contextlib.suppress(OSError):
                self._connection, _ = self._listener.accept()
                self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while data := self._connection.recv(4096):
                    passed += len(data)
                    if left and passed >= left[0]:
                        passed = 0
                        left.pop(0)
                        self._write(data[: len(data) // 2])
                        self.restart()
                        time.sleep(0.05)
                        if self._faults.hang_up:
                            self._connection.shutdown(socket.SHUT_RDWR)
                        continue
                    self._write(self._disturb(data))

    def _write(self, data: bytes) -> None:
        """Writes data to the process in up to four parts with the line's delay before each."""
        assert self._process.stdin
        step = max(1, len(data) if not self._faults.delay else len(data) // 4)
        for start in range(0, len(data), step):
            time.sleep(self._faults.delay)
            self._process.stdin.write(data[start : start + step])

    def _to_computer(self) -> None:
        assert self._process.stdout
        while data := self._process.stdout.read(4096):
            if self._connection is not None:
                with contextlib.suppress(OSError):
                    self._connection.sendall(self._disturb(data))

    def _disturb(self, data: bytes) -> bytes:
        out = bytearray()
        for byte in data:
            if self._random.random() >= self._faults.rate:
                out.append(byte)
                continue
            self.disturbed += 1
            noise = self._random.randbytes(self._random.randrange(1, 5))
            out += self._random.choice([b"", noise, bytes([byte]) + noise, b"\x7e", b"\x7d"])
        return bytes(out)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._commands.close()


@contextmanager
def device(board: Board, firmware: Path, faults: Faults | None = None) -> Iterator[Device]:
    """`board` in QEMU, running `firmware`; at a pseudoterminal, or with `faults` at a TCP port."""
    running = Device(board, firmware, faults)
    try:
        yield running
    finally:
        running.stop()
