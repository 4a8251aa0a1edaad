"""Session with a model's firmware: built in a temporary folder, or running on an attached board."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tflmgen.compiler import Compilation
from tflmgen.emulators.open_session import open_port, open_session
from tflmgen.emulators.session import Session
from tflmgen.errors import TflmgenError, UsageError
from tflmgen.hardware import Board
from tflmgen.options import BuildOptions, Emulator, SessionOptions, command_line
from tflmgen.project import Firmware, compile_project, project_of, require_compiler, write
from tflmgen.terminal import Console


class OtherFirmwareError(TflmgenError):
    """The attached board runs another firmware than that of the model and options."""


@dataclass(frozen=True, slots=True)
class Running:
    """A compiled model and a session with its firmware; `firmware` is None on the host and on an attached board."""

    compilation: Compilation
    session: Session
    firmware: Firmware | None


def check_session_options(board: Board, options: SessionOptions) -> None:
    """Raises UsageError for options that contradict the board or each other."""
    if board.is_host and options.emulator is not Emulator.AUTO:
        raise UsageError("--board host runs without an emulator: leave --emulator out")
    if options.port is not None and (board.is_host or options.emulator is not Emulator.AUTO):
        raise UsageError("--port is for a board that is attached: leave --emulator out, and name the --board")


@contextmanager
def running(
    compilation: Compilation,
    board: Board,
    options: BuildOptions,
    session: SessionOptions,
    console: Console,
    count: bool = False,
) -> Iterator[Running]:
    """Builds the model's firmware in a temporary folder and runs it while the context lasts.

    count  count the instructions of each invoke

    With a port, uses the firmware on the board there. Raises OtherFirmwareError if that is not the model's.
    """
    if session.port is not None and board.uart is not None:
        with open_port(session.port, board.uart.baud, session.timeout) as attached:
            _check_firmware(attached, compilation, board, options, session.port)
            yield Running(compilation, attached, None)
        return
    require_compiler(board)
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as folder:
        directory = Path(folder) / compilation.name
        write(project_of(compilation, board, options), directory)
        firmware = None if board.is_host else compile_project(directory, compilation, board, console)
        elf = firmware.elf if firmware else None
        emulator, renode = session.emulator.value, session.renode
        plan = compilation.plan if count else None
        opened = open_session(board, directory, elf, emulator, session.timeout, renode=renode, count=plan)
        with ExitStack() as stack:
            activity = f"Compiling {compilation.name} for host" if board.is_host else f"Starting {board.id}"
            with console.progress(activity):
                connected = stack.enter_context(opened)
            yield Running(compilation, connected, firmware)


def _check_firmware(
    attached: Session, compilation: Compilation, board: Board, options: BuildOptions, port: str
) -> None:
    name, path = compilation.name, compilation.module.path
    if (attached.model, attached.fingerprint) != (name, compilation.sources.fingerprint):
        mismatch = f"model '{attached.model}'" if attached.model != name else f"another build of '{name}'"
        advice = command_line("flash", Path(path), board.argument, options)
        raise OtherFirmwareError(f"{port}: the board runs {mismatch}. Flash it: {advice}")
