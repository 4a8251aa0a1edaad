"""Opens a session with a board: in Renode, in QEMU, or on the host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tflmgen.emulators.attribution import attribute
from tflmgen.emulators.cycle_models import cycle_model_of
from tflmgen.emulators.host import run_host
from tflmgen.emulators.invoke_cost import Counting, Executed, join_counts
from tflmgen.emulators.link import Invoked, Stream
from tflmgen.emulators.qemu import run_qemu
from tflmgen.emulators.qemu_plugin import plugin
from tflmgen.emulators.renode import COUNT_NOTE, renode_counting, run_renode
from tflmgen.emulators.serial_port import first_wait, open_serial
from tflmgen.emulators.session import Dims, EmulatorError, Meter, Session
from tflmgen.emulators.step_runs import Start, StepRuns, step_runs
from tflmgen.hardware import Board, list_boards
from tflmgen.project import read_about
from tflmgen.toolchain import find_renode, has_program


def describe_flash(board: Board) -> str:
    """Lines of the description; empty where the board's wait states are not known."""
    return "".join(f"{line}\n" for line in _lines(board))


def _lines(board: Board) -> Iterator[str]:
    flash = board.flash
    if flash is None:
        return
    for memory in board.memories:
        if memory.kind == "flash":
            yield f"region {memory.origin:x} {memory.size:x}"
    yield f"read {flash.read_bytes}"
    yield f"wait {flash.wait_cycles}"
    if flash.sequential_wait_states != flash.wait_states:
        yield f"sequential {flash.sequential_wait_cycles}"
    if flash.prefetch:
        yield "prefetch"
    model = cycle_model_of(board.core)
    if model is not None and model.uses_low:
        yield "low"
    for name, cache in (("code", flash.code_cache), ("constants", flash.constant_cache)):
        if cache is not None:
            yield f"{name} {cache.sets} {cache.associativity} {cache.line_bytes}"
    if flash.unified:
        yield "unified"


Plan = Mapping[str, Any]


class OperatorCounter:
    """A session.Meter of an emulator that counts, by operator."""

    def __init__(self, plan: Plan, counting: Counting, runs: StepRuns) -> None:
        self._plan = plan
        self._counting = counting
        self._runs = runs

    def reset(self) -> None:
        """Repeats a reset in the session that counts."""
        self._runs.reset()

    def measure(self, signature: int, inputs: Sequence[bytes], invoked: Invoked, dims: Dims) -> Executed:  # noqa: ARG002
        """See session.Meter."""
        runs, shares = self._runs.invoke(signature, inputs, dims)
        executed = join_counts(self._plan, self._counting.read(), runs, shares)
        return executed if self._counting.estimates_cycles else replace(executed, cycles=None, waits=None)


def _steps_of(elf: Path, project: Path, plan: Plan) -> Mapping[int, int]:
    """Address -> step of the instructions of the model's C in the firmware `elf` of the project."""
    lines = {step["index"]: step["line"] for step in plan["steps"] if step.get("line")}
    return attribute(elf, f"{read_about(project)['name']}.c", lines)


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
    emulator  auto, renode or qemu; auto is what is installed of both: QEMU rather than Renode where it counts, since
              it estimates cycles, or the board has MVE, else Renode; with a note where it is the second choice
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
            stream, meter = _in_renode(stack, program, board, project_dir, firmware, count, timeout)
            notes = notes if meter is None else (*notes, COUNT_NOTE)
        else:
            stream, meter = _in_qemu(stack, board, project_dir, firmware, count, timeout)
        advice = ""
        if emulator_name == RENODE and _needs_mve(board):
            advice = f"{NO_MVE}: try --emulator qemu" if board.qemu is not None else NO_MVE
        yield Session(stream, emulator_name, timeout, firmware, board.architecture, notes, meter, advice=advice)


def _in_renode(
    stack: ExitStack,
    program: Path,
    board: Board,
    project_dir: Path,
    firmware: Path,
    plan: Plan | None,
    timeout: float,
) -> tuple[Stream, Meter | None]:
    """The firmware in Renode, and what counts its instructions, until `stack` closes."""

    @contextmanager
    def start(elf: Path, steps: Mapping[int, int]) -> Iterator[tuple[Stream, Counting]]:
        with (
            renode_counting(elf, board.architecture, steps, is_whole=elf == firmware) as counting,
            run_renode(program, board, project_dir, elf, counting.hooks) as stream,
        ):
            yield stream, counting

    if plan is None:
        return stack.enter_context(run_renode(program, board, project_dir, firmware, ())), None
    return _counted(stack, board, project_dir, firmware, plan, timeout, start)


def _in_qemu(
    stack: ExitStack, board: Board, project_dir: Path, firmware: Path, plan: Plan | None, timeout: float
) -> tuple[Stream, Meter | None]:
    """The firmware in QEMU, and what counts its instructions and estimates cycles.

    Wait states are those of `board.flash`, in all memories of kind flash.
    """

    @contextmanager
    def start(elf: Path, steps: Mapping[int, int]) -> Iterator[tuple[Stream, Counting]]:
        flash = describe_flash(board) if elf == firmware else ""
        with plugin(board, elf, steps, flash) as counting, run_qemu(board, elf, counting.arguments) as stream:
            yield stream, counting

    if plan is None:
        return stack.enter_context(run_qemu(board, firmware, ())), None
    return _counted(stack, board, project_dir, firmware, plan, timeout, start)


def _counted(
    stack: ExitStack, board: Board, project_dir: Path, firmware: Path, plan: Plan, timeout: float, start: Start
) -> tuple[Stream, Meter]:
    """The firmware as it is, and a second one that tells how often each step runs."""
    steps = _steps_of(firmware, project_dir, plan)
    runs = stack.enter_context(step_runs(board, project_dir, plan, timeout, start))
    stream, counting = stack.enter_context(start(firmware, steps))
    return stream, OperatorCounter(plan, counting, runs)


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
    """The emulator of --emulator auto: one that the board supports and this computer has."""
    installed = find_renode(renode)
    program = installed if board.renode is not None else None
    prefers_qemu = board.qemu is not None and (counts or _needs_mve(board))
    if board.qemu is not None and (prefers_qemu or program is None) and has_program(board.architecture.qemu):
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
    """Advice to use a board of the same core that QEMU emulates; empty if there is none."""
    twins = [b for b in list_boards() if b.qemu and b.features == board.features and board.core.startswith(b.core)]
    if not twins:
        return ""
    twin = max(twins, key=lambda b: b.ram_bytes)
    flash = f" --flash-of {board.id}" if board.flash else ""
    return f". Its core's instructions are counted by: tflmgen bench MODEL --board {twin.id}{flash}"


def _needs_mve(board: Board) -> bool:
    return "mve" in board.features
