"""Renode: the board's .repl with its UART on a TCP socket, and the instructions of each invoke in it."""

from __future__ import annotations

import os
import select
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tflmgen.emulators.invoke_cost import CountError, Executed
from tflmgen.emulators.link import Invoked
from tflmgen.emulators.process import Child, open_child
from tflmgen.emulators.qemu_plugin import count_marks
from tflmgen.emulators.session import Dims
from tflmgen.errors import TflmgenError
from tflmgen.hardware import Board

SCRIPT = """\
mach create "board"
machine LoadPlatformDescription {platform}
sysbus LoadELF {firmware}
{hooks}emulation CreateServerSocketTerminal {port} "protocol" false
connector Connect {uart} protocol
start
"""
"""Renode script. It listens last, so that an accepted connection reaches a complete machine."""

START_LIMIT = 60.0
"""Seconds until Renode must listen: about ten times its start on an idle computer."""

FAILURES = (
    "There was an error executing command",
    "Could not tokenize",
    "Could not find file",
    "No such command or device",
)
"""First words of Renode's lines on a failed command of the script; its monitor then stays at its prompt."""

FAILURE_PAUSE = 0.3
"""Seconds until the lines that follow such a line, with the reason, are written too."""

LAST_LINES = 8
"""Lines of Renode's output that an error quotes."""
LAST_COLUMNS = 200
"""Lines of Renode's log in an error message, and characters per line."""


class RenodeError(TflmgenError):
    """Renode did not start."""


class SocketStream:
    """A link.Stream over a TCP connection to Renode; its log goes into the error if it ends."""

    def __init__(self, connection: socket.socket, process: Child) -> None:
        self._connection, self._process = connection, process

    def read(self, timeout: float) -> bytes:
        """Bytes that arrive within `timeout` seconds; empty if there are none. Raises EOFError if Renode has ended."""
        if not select.select([self._connection], [], [], max(0.0, timeout))[0]:
            if _has_failed(self._process):
                raise EOFError(_explain_failure(self._process))
            return b""
        try:
            data = self._connection.recv(65536)
        except ConnectionError:
            data = b""
        if not data:
            raise EOFError(self._explain_end())
        return data

    def write(self, data: bytes) -> None:
        """Writes all bytes. Raises EOFError if Renode has ended."""
        try:
            self._connection.sendall(data)
        except OSError as error:
            raise EOFError(self._explain_end()) from error

    def _explain_end(self) -> str:
        return f"{self._process.end() or 'it closed the connection'}; {_last_lines(self._process)}"


@contextmanager
def run_renode(
    program: Path, board: Board, project: Path, firmware: Path, hooks: Sequence[str]
) -> Iterator[SocketStream]:
    """Runs `firmware` on `board` in Renode while the context lasts; `hooks`: monitor commands to run before the start.

    Renode quits at the end of its standard input, which open_child() therefore keeps open.
    """
    assert board.renode is not None
    platform = board.renode.platform
    repl = platform if platform.startswith("@") else f"@{_escaped(project / 'renode' / platform)}"
    # Renode deletes folders renode-* of others in its temporary folder, and leaves its own there when it is killed.
    with tempfile.TemporaryDirectory(prefix="tflmgen-", ignore_cleanup_errors=True) as folder:
        port = _free_port()
        script = Path(folder) / "board.resc"
        elf, lines = f"@{_escaped(firmware)}", "".join(f"{hook}\n" for hook in hooks)
        text = SCRIPT.format(platform=repl, port=port, uart=board.renode.uart, firmware=elf, hooks=lines)
        script.write_text(text, encoding="utf-8")
        command = [str(program), "--disable-gui", "--console", "--plain", _escaped(script)]
        environment = {**os.environ, "TMPDIR": folder}
        with open_child(command, piped=False, environment=environment) as child, _connect(port, child) as link:
            yield SocketStream(link, child)


def _escaped(path: Path) -> str:
    """Absolute path in the quoting of Renode's monitor."""
    return str(path.resolve()).replace(" ", "\\ ")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _connect(port: int, child: Child) -> socket.socket:
    """Waits until Renode listens, and connects."""
    deadline = time.monotonic() + START_LIMIT
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=5)
        except OSError:
            if _has_failed(child):
                raise RenodeError(_explain_failure(child)) from None
            if child.process.poll() is not None:
                end = f"Renode ended before it ran the firmware ({child.end()})"
            elif time.monotonic() > deadline:
                end = f"Renode does not listen after {START_LIMIT:g} s"
            else:
                time.sleep(0.1)
                continue
            raise RenodeError(f"{end}; {_last_lines(child)}") from None


def _has_failed(child: Child) -> bool:
    """Whether a line of the script failed; a description of registers that is not there to download is no failure."""
    output_text = child.output()
    return (
        any(line.startswith(FAILURES) for line in output_text.splitlines()) and "Failed to download" not in output_text
    )


def _explain_failure(child: Child) -> str:
    time.sleep(FAILURE_PAUSE)
    return f"a line of Renode's script failed; {_last_lines(child)}"


def _last_lines(child: Child) -> str:
    lines = [line.rstrip()[:LAST_COLUMNS] for line in child.output().splitlines() if line.strip()]
    return "\n  ".join(["its last lines:", *lines[-LAST_LINES:]]) if lines else "it said nothing"


COUNT_NOTE = "instructions: by the core's ExecutedInstructions in Renode, at the beginning and end of the invoke"


class RenodeCounter:
    """A session.Meter; `hooks` are monitor commands that make Renode write the counts to `output`."""

    def __init__(self, hooks: Sequence[str], output: Path) -> None:
        self.hooks = tuple(hooks)
        self._output = output
        self._read = 0

    def reset(self) -> None:
        """Does nothing: the counter is cumulative."""

    def measure(self, signature: int, inputs: Sequence[bytes], invoked: Invoked, dims: Dims) -> Executed:  # noqa: ARG002
        """See session.Meter."""
        numbers = [int(word) for word in self._output.read_text(encoding="ascii").split()][self._read :]
        if len(numbers) < 2:
            raise CountError("Renode has recorded no invoke")
        self._read += len(numbers)
        return Executed(sum(numbers[1::2]) - sum(numbers[::2]))


@contextmanager
def renode_counter(elf: Path) -> Iterator[RenodeCounter]:
    """Counter for a firmware."""
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as folder:
        output = Path(folder) / "executed"
        output.touch()
        script = f"f = open('{output.as_posix()}', 'a'); f.write(str(self.ExecutedInstructions) + ' '); f.close()"
        hooks = [f'sysbus.cpu AddHook 0x{address:x} "{script}"' for address in count_marks(elf)]
        yield RenodeCounter(hooks, output)
