"""Renode: the board's .repl with its UART on a TCP socket, and the instructions of each invoke in it."""

from __future__ import annotations

import os
import select
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tflmgen.architectures import Architecture
from tflmgen.emulators.attribution import NO_STEP
from tflmgen.emulators.invoke_cost import CountError, Counts, Tally
from tflmgen.emulators.process import Child, open_child
from tflmgen.emulators.qemu_plugin import count_marks
from tflmgen.errors import TflmgenError
from tflmgen.hardware import Board
from tflmgen.toolchain import region_entries

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


COUNT_NOTE = "instructions: by the core's ExecutedInstructions in Renode, where the invoke and each step begin and end"
_BEGIN, _END = "begin", "end"
_HOOK = (
    "sysbus.cpu AddHook 0x{address:x} \"f = open('{output}', 'a'); "
    "f.write('{place} ' + str(self.ExecutedInstructions) + ' '); f.close()\""
)


class RenodeCounting:
    """The counts in one run of Renode; `hooks` are monitor commands by which it writes them to `output`."""

    estimates_cycles = False

    def __init__(self, hooks: Sequence[str], output: Path) -> None:
        self.hooks = tuple(hooks)
        self._output = output
        self._read = 0

    def read(self) -> Counts:
        """Summed counts of the invokes since the last read (one, or one per row). All must have ended."""
        words = self._output.read_text(encoding="ascii").split()
        places, numbers = words[self._read :: 2], [int(word) for word in words[self._read + 1 :: 2]]
        self._read = len(words)
        if _END not in places:
            raise CountError("Renode has recorded no invoke")
        counts: dict[int, Tally] = {}
        step: int | None = None
        for place, executed, after in zip(places, numbers, [*numbers[1:], 0], strict=True):
            step = None if place == _END else NO_STEP if place == _BEGIN else step if step is None else int(place)
            if step is not None:
                counts[step] = counts.get(step, Tally()) + Tally(after - executed)
        return counts


@contextmanager
def renode_counting(
    elf: Path, architecture: Architecture, steps: Mapping[int, int], is_whole: bool = True
) -> Iterator[RenodeCounting]:
    """Counting for a firmware.

    steps     address -> step that this instruction, and all up to the next address in `steps`, count for
    is_whole  `steps` has all instructions of the steps; otherwise each of its addresses is watched
    """
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as folder:
        output = Path(folder) / "executed"
        output.touch()
        places: dict[int, object] = dict(zip(count_marks(elf), (_BEGIN, _END), strict=True))
        watched = region_entries(elf, architecture, steps) if is_whole else steps
        places |= {address: steps[address] for address in sorted(watched) if address not in places}
        hooks = [_HOOK.format(address=a, output=output.as_posix(), place=place) for a, place in places.items()]
        yield RenodeCounting(hooks, output)
