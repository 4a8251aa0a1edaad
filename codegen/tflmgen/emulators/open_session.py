"""Opens a session with a board: in Renode, in QEMU, or on the host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tflmgen.emulators.host import run_host
from tflmgen.emulators.link import Stream
from tflmgen.emulators.qemu import run_qemu
from tflmgen.emulators.qemu_count import qemu_counter
from tflmgen.emulators.renode import run_renode
from tflmgen.emulators.renode_count import COUNT_NOTE, renode_counter
from tflmgen.emulators.serial_port import first_wait, open_serial
from tflmgen.emulators.session import EmulatorError, Meter, Session
from tflmgen.project import QEMU_PROGRAM, Board, find_renode, has_program, list_boards

HOST, QEMU, RENODE = "host", "QEMU", "Renode"

NO_MVE = "Renode's releases, up to 1.16.1, do not run all of MVE"


@contextmanager
def open_session(
    board: Board,
    project_dir: Path,
    firmware: Path | None,
    emulator: str = "auto",
    timeout: float = 60.0,
    sanitize: bool = False,
    renode: str | None = None,
    count: Mapping[str, Any] | None = None,
) -> Iterator[Session]:
    """Runs the model of the project in `project_dir` on `board` while the context lasts.

    firmware  ELF file; None for the host, which compiles the project itself
    emulator  auto, renode or qemu; auto is what is installed of both: QEMU rather than Renode where it counts per
              operator or the board has MVE, else Renode rather than QEMU; with a note where it is the second choice
    timeout   seconds per reply; the start of an emulator has its own limit
    sanitize  compile for the host with the address and undefined-behaviour sanitizers
    renode    path of Renode, as for find_renode()
    count     the project's plan, to count the instructions of each invoke (not on the host)
    """
    if board.is_host:
        with run_host(project_dir, sanitize) as pipe:
            yield Session(pipe, HOST, timeout)
        return
    if firmware is None:
        raise EmulatorError(f"{project_dir}: no firmware to run")
    emulator_name, program, notes = _choose(board, emulator, renode, count is not None)
    with ExitStack() as stack:
        if emulator_name == RENODE and program is not None:
            stream, meter = _in_renode(stack, program, board, project_dir, firmware, count is not None)
            notes = notes if meter is None else (*notes, COUNT_NOTE)
        else:
            stream, meter = _in_qemu(stack, board, project_dir, firmware, count, timeout)
        advice = ""
        if emulator_name == RENODE and _needs_mve(board):
            advice = f"{NO_MVE}: try --emulator qemu" if board.qemu is not None else NO_MVE
        yield Session(stream, emulator_name, timeout, firmware, notes, meter, advice=advice)


def _in_renode(
    stack: ExitStack, program: Path, board: Board, project_dir: Path, firmware: Path, counts: bool
) -> tuple[Stream, Meter | None]:
    """The firmware in Renode, and what counts its instructions, until `stack` closes."""
    counter = stack.enter_context(renode_counter(firmware)) if counts else None
    hooks = () if counter is None else counter.hooks
    return stack.enter_context(run_renode(program, board, project_dir, firmware, hooks)), counter


def _in_qemu(
    stack: ExitStack, board: Board, project_dir: Path, firmware: Path, plan: Mapping[str, Any] | None, timeout: float
) -> tuple[Stream, Meter | None]:
    """The same in QEMU; plan: plan.json's contents, where instructions are to be counted."""
    plugin = None if plan is None else stack.enter_context(qemu_counter(board, firmware, project_dir, plan, timeout))
    arguments = () if plugin is None else plugin.arguments
    return stack.enter_context(run_qemu(board, firmware, arguments)), plugin


@contextmanager
def open_port(port: str, baud: int, timeout: float) -> Iterator[Session]:
    """Session with the model that runs on the board at serial port `port`."""
    with open_serial(port, baud) as stream:
        yield Session(stream, port, timeout, retry=first_wait(baud), place=f"at {port}")


def _choose(board: Board, emulator: str, renode: str | None, counts: bool) -> tuple[str, Path | None, tuple[str, ...]]:
    """Emulator to use, path of Renode if it is that, and notes for the user."""
    if emulator == "auto":
        return _choose_installed(board, renode, counts)
    if emulator == "qemu":
        if board.qemu is None:
            raise EmulatorError(f"board {board.id} has no QEMU machine")
        return QEMU, None, ()
    if board.renode is None:
        raise EmulatorError(f"board {board.id} has no Renode platform")
    program = find_renode(renode)
    if program is None:
        raise EmulatorError(
            "Renode is not installed. Unpack a portable package of https://github.com/renode/renode/releases "
            "and put it on PATH, or name its program by --renode or TFLMGEN_RENODE"
        )
    return RENODE, program, ()


def _choose_installed(board: Board, renode: str | None, counts: bool) -> tuple[str, Path | None, tuple[str, ...]]:
    """What --emulator auto stands for: of the emulators that the board has, one that the computer has, too."""
    installed = find_renode(renode)
    program = installed if board.renode is not None else None
    prefers_qemu = board.qemu is not None and (counts or _needs_mve(board))
    if board.qemu is not None and (prefers_qemu or program is None) and has_program(QEMU_PROGRAM):
        if prefers_qemu:
            return QEMU, None, () if counts or board.renode is None else (f"{NO_MVE}: ran in QEMU",)
        return QEMU, None, () if installed else ("Renode is not installed: ran in QEMU",)
    if program is not None:
        return RENODE, program, ("QEMU is not installed: ran in Renode",) if prefers_qemu else ()
    if board.qemu is None:
        renode_too = "Renode is not installed" if board.renode else "none of Renode's either"
        attached = "Attached to this computer, it is tested by --port PORT"
        raise EmulatorError(f"board {board.id} has no QEMU machine, and {renode_too}. {attached}{_twin_advice(board)}")
    return QEMU, None, ()


def _twin_advice(board: Board) -> str:
    """What to say of a board of the same core that QEMU emulates, if there is one."""
    twins = [b for b in list_boards() if b.qemu and b.features == board.features and board.core.startswith(b.core)]
    if not twins:
        return ""
    twin = max(twins, key=lambda b: b.ram_bytes)
    flash = f" --flash-of {board.id}" if board.flash else ""
    return f". Its core's instructions are counted by: tflmgen bench MODEL --board {twin.id}{flash}"


def _needs_mve(board: Board) -> bool:
    return "mve" in board.features
