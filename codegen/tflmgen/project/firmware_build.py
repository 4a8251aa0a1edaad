"""From a model and a board to a project on disk, its firmware, and a session with it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tflmgen.commands.option_groups import Emulator, SessionOptions, command_line
from tflmgen.compiler import Compilation, compile_model
from tflmgen.emulators.open_session import open_port, open_session
from tflmgen.emulators.session import Session
from tflmgen.errors import TflmgenError, UsageError
from tflmgen.frontend.shape_bounds import TensorKey
from tflmgen.options import BuildOptions
from tflmgen.project.assemble import LIBRARY, MAIN, Project, assemble, write
from tflmgen.project.board import Board
from tflmgen.project.budget import check_plan, explain_overflow, room_for_weights
from tflmgen.project.folder import is_as_written
from tflmgen.project.platformio import BuildError, Firmware, build
from tflmgen.project.toolchain import find_arm_compiler, find_host_compiler
from tflmgen.terminal.console import Console

Given = Mapping[TensorKey, tuple[int, ...]] | None
"""What inputs at hand need (given.py)."""


class OtherFirmwareError(TflmgenError):
    """The attached board runs something else than what it was asked for."""


@dataclass(frozen=True, slots=True)
class Running:
    """A compiled model and a session with its firmware; `firmware` is None on the host and on an attached board."""

    compilation: Compilation
    session: Session
    firmware: Firmware | None


def compile_for(model: Path, board: Board, options: BuildOptions, given: Given = None) -> Compilation:
    """As plan_for(); BudgetError if the plan alone is more than the board has."""
    compilation = plan_for(model, board, options, given)
    check_plan(compilation.plan, board)
    return compilation


def plan_for(model: Path, board: Board, options: BuildOptions, given: Given = None) -> Compilation:
    """`model` compiled for the processor of `board`, however much memory it needs, with room for the rows `given`."""
    room = room_for_weights(board) if options.winograd else 0
    target = replace(board.target, optimize=options.optimize.value, winograd=room)
    compilation = compile_model(model, target, options, given)
    return replace(compilation, plan={**compilation.plan, **_about(board)})


def _about(board: Board) -> dict[str, Any]:
    return {"board": board.id} if board.is_host else {"board": board.id, "placement": dict(board.placement)}


def project_of(compilation: Compilation, board: Board, options: BuildOptions, report: str = "") -> Project:
    """The project of a compiled model; plan.json says for which board. `report`: the text of report.html, if any."""
    name, sources = compilation.name, compilation.sources
    files: dict[str, str | bytes] = {f"lib/{name}/{path}": text for path, text in sources.files.items()}
    files |= {f"{LIBRARY}/{path}": data for path, data in compilation.plugin_files.items()}
    return assemble(files, sources.headers, board, name, compilation.plan, options.optimize.value, report)


def require_compiler(board: Board) -> None:
    """Raises ToolchainError, before anything is written, where the compiler for `board` is missing."""
    if board.is_host:
        find_host_compiler()
    else:
        find_arm_compiler()


def compile_project(directory: Path, compilation: Compilation, board: Board, console: Console) -> Firmware:
    """The firmware of the project in `directory`; BudgetError if it doesn't fit the board."""
    with console.progress(f"Compiling {compilation.name} for {board.id}") as progress:
        try:
            return build(directory, board.id, progress)
        except BuildError as error:
            explained = explain_overflow(error, compilation.plan, board)
            if f"{MAIN}:" in str(error) and not is_as_written(MAIN, directory):
                name = compilation.name
                advice = f"make it call what lib/{name}/include/{name}.h declares, or move it away for a new one"
                explained = BuildError(f"{explained}\n{directory / MAIN} has been changed, so it is kept: {advice}")
            raise explained from error


def print_kept(console: Console, directory: Path, kept: Sequence[str]) -> None:
    """Say which files are the user's now, so that what is new does not reach them."""
    for path in kept:
        console.line(f"note: {directory / path} has been changed, so it is kept as it is")


@contextmanager
def kept_if_whole(directory: Path) -> Iterator[None]:
    """Remove `directory` if the body fails and it didn't exist before: no half-made project is left behind."""
    fresh = not directory.exists()
    try:
        yield
    except BaseException:
        if fresh:
            shutil.rmtree(directory, ignore_errors=True)
        raise


def check_session_options(board: Board, options: SessionOptions) -> None:
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
    """The model's firmware, built in a folder of its own that goes away afterwards, and running.

    count  count what each invoke executes

    With a port, the firmware of the board there, which must be the model's. OtherFirmwareError if it isn't.
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
            what = f"Compiling {compilation.name} for host" if board.is_host else f"Starting {board.id}"
            with console.progress(what):
                connected = stack.enter_context(opened)
            yield Running(compilation, connected, firmware)


def _check_firmware(
    attached: Session, compilation: Compilation, board: Board, options: BuildOptions, port: str
) -> None:
    name, path = compilation.name, compilation.module.path
    if (attached.model, attached.fingerprint) != (name, compilation.sources.fingerprint):
        other = f"model '{attached.model}'" if attached.model != name else f"another build of '{name}'"
        advice = command_line("flash", Path(path), board.argument, options)
        raise OtherFirmwareError(f"{port}: the board runs {other}. Flash it: {advice}")
