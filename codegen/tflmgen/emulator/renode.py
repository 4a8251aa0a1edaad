"""Renode: the board's .repl with its UART on a TCP socket."""

from __future__ import annotations

import os
import select
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tflmgen.board import Board
from tflmgen.emulator.process import Child, open_child
from tflmgen.errors import TflmgenError

SCRIPT = """\
mach create "board"
machine LoadPlatformDescription {platform}
emulation CreateServerSocketTerminal {port} "protocol" false
connector Connect {uart} protocol
sysbus LoadELF {firmware}
{hooks}start
"""


class RenodeError(TflmgenError):
    """Renode did not start."""


class SocketStream:
    """A link.Stream over a TCP connection to an emulator, whose process explains its end."""

    def __init__(self, connection: socket.socket, process: Child) -> None:
        self._connection, self._process = connection, process

    def read(self, timeout: float) -> bytes:
        if not select.select([self._connection], [], [], max(0.0, timeout))[0]:
            return b""
        data = self._connection.recv(65536)
        if not data:
            raise EOFError(self._process.last_words())
        return data

    def write(self, data: bytes) -> None:
        try:
            self._connection.sendall(data)
        except OSError as error:
            raise EOFError(self._process.last_words()) from error


@contextmanager
def run_renode(
    program: Path, board: Board, project: Path, firmware: Path, timeout: float, hooks: Sequence[str] = ()
) -> Iterator[SocketStream]:
    """`firmware` running on `board` in Renode; `hooks` are commands of Renode's monitor, run before the start."""
    assert board.renode is not None
    platform = board.renode.platform
    repl = platform if platform.startswith("@") else _quoted(project / "renode" / platform)
    # Renode deletes what other instances keep in a temporary folder that they share.
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as folder:
        port = _free_port()
        script = Path(folder) / "board.resc"
        elf, lines = _quoted(firmware), "".join(f"{hook}\n" for hook in hooks)
        text = SCRIPT.format(platform=repl, port=port, uart=board.renode.uart, firmware=elf, hooks=lines)
        script.write_text(text, encoding="utf-8")
        command = [str(program), "--disable-gui", "--console", "--plain", str(script)]
        environment = {**os.environ, "TMPDIR": folder}
        with open_child(command, piped=False, environment=environment) as child, _connect(port, child, timeout) as link:
            yield SocketStream(link, child)


def _quoted(path: Path) -> str:
    """A path as Renode's monitor reads it."""
    return "@" + str(path.resolve()).replace(" ", "\\ ")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _connect(port: int, child: Child, timeout: float) -> socket.socket:
    """The connection, once Renode listens."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=5)
        except OSError:
            if time.monotonic() > deadline or child.process.poll() is not None:
                raise RenodeError(f"Renode does not listen after {timeout:g} s: {child.last_words()}") from None
            time.sleep(0.1)
