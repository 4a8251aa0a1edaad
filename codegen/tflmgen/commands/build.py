"""tflmgen build."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tflmgen.backend import entry_names
from tflmgen.compiler import Compilation
from tflmgen.option_groups import command_line
from tflmgen.options import BuildOptions, OutputOptions
from tflmgen.project import (
    PROJECT,
    Board,
    Firmware,
    board_for,
    check_folder,
    code_bytes,
    compile_for,
    compile_project,
    kept_if_whole,
    memory_use,
    peak_operator,
    print_kept,
    project_of,
    require_compiler,
    stack_worst_case,
    write,
)
from tflmgen.proof import PROVED
from tflmgen.report import dead_channel_lines, report_html
from tflmgen.terminal import Column, Console, Table, count, readable, share


def build_command(
    model: Path, board_name: str, directory: Path | None, compiled: bool, options: BuildOptions, output: OutputOptions
) -> None:
    """Writes the project to `directory`, by default ./MODEL-BOARD, and compiles it if `compiled`."""
    console = Console(output)
    board = board_for(board_name, options)
    target = directory or Path(f"{model.stem}-{board.id}")
    check_folder(target, PROJECT)
    with console.progress(f"Planning {model.name}"):
        compilation = compile_for(model, board, options)
    if compiled:
        require_compiler(board)
    firmware, plan = None, compilation.plan
    with kept_if_whole(target):
        kept_files = write(project_of(compilation, board, options, report_html(plan, board)), target)
        if compiled:
            firmware = compile_project(target, compilation, board, console)
            plan = {**plan, "firmware": _sizes(firmware, compilation, board, options, console)}
            write(project_of(compilation, board, options, report_html(plan, board, plan["firmware"])), target)
    console.json(plan)
    _report(console, plan, board, firmware)
    print_kept(console, target, kept_files)
    console.line(f"The plan in pictures: {target / 'report.html'}")
    console.line(f"Wrote {target}. {_next_step(model, target, board, options, firmware)}")


def _sizes(
    firmware: Firmware, compilation: Compilation, board: Board, options: BuildOptions, console: Console
) -> dict[str, Any]:
    """plan.json's `firmware`."""
    stack = None if board.is_host else stack_worst_case(firmware.elf, firmware.elf.parent, _entries(compilation))
    return {
        "elf": str(firmware.elf),
        "text": firmware.text,
        "data": firmware.data,
        "bss": firmware.bss,
        "code_bytes": code_bytes(firmware, compilation, board, options, console),
        "stack_worst_case": stack,
        "memories": memory_use(firmware.elf, board),
    }


def _entries(compilation: Compilation) -> tuple[str, ...]:
    """Names of the C functions that run the model, one per signature."""
    keys = [signature.key for signature in compilation.module.signatures]
    return tuple(f"{compilation.name}{infix or '_invoke'}" for infix in entry_names(keys))


def _report(console: Console, plan: Mapping[str, Any], board: Board, firmware: Firmware | None) -> None:
    arena = plan["arena"]
    state = sum(part["bytes"] for part in plan["state"])
    rows = [
        _row("arena", arena["bytes"], board.bytes_for("arena"), _arena_note(plan)),
        _row("state", state, board.bytes_for("state"), ""),
        _row("weights", plan["weights"]["bytes"], board.bytes_for("weights"), ""),
    ]
    if firmware is not None:
        rows += _firmware_rows(plan["firmware"], board, firmware)
    title = f"{plan['model']['path']} on {board.id}"
    columns = (
        Column("what", min_width=20),
        Column("bytes", numeric=True),
        Column("board", numeric=True),
        Column("%", numeric=True),
        Column("", priority=2, min_width=32, wraps=True),
    )
    console.table(Table(title, columns, rows))
    for line in dead_channel_lines(plan):
        console.line(line)
    console.line(f"validated: {', '.join((*PROVED, *(part['text'] for part in plan['proof'])))}")
    for note in plan["notes"]:
        console.line(f"note: {note}")


def _firmware_rows(sizes: Mapping[str, Any], board: Board, firmware: Firmware) -> Iterator[tuple[str, ...]]:
    """What the compiled firmware takes; sizes: plan.json's `firmware`."""
    ram, flash = (0, 0) if board.is_host else (board.ram_bytes, board.flash_bytes)
    code, stack = sizes["code_bytes"], sizes["stack_worst_case"]
    yield _row("code", code, board.bytes_for("code"), "of the model: no weights, no firmware around")
    yield _row("flash, in all", firmware.text + firmware.data, flash, "code, weights, start-up, test server")
    yield _row("static RAM, in all", firmware.data + firmware.bss, ram, "arena, state, variables; no stack")
    if stack is not None:
        yield _row("stack, at most", stack, board.bytes_for("data"), "of an invoke; interrupt handlers not counted")
    if len(board.memories) > 2:
        for memory in board.memories:
            yield _row(f"in {memory.name}", sizes["memories"][memory.name], memory.size, _roles_of(board, memory.name))


def _row(label: str, used: int, budget: int, note: str) -> tuple[str, ...]:
    return label, count(used), readable(budget) if budget else "-", share(used, budget), note


def _roles_of(board: Board, memory: str) -> str:
    """Contents of a memory for the table: `arena, state, stack`."""
    roles = [role for role, name in board.placement if name == memory]
    return ", ".join([*roles, *(["stack"] if "data" in roles else [])])


def _arena_note(plan: Mapping[str, Any]) -> str:
    size, bound = plan["arena"]["bytes"], plan["arena"]["lower_bound"]
    peak = peak_operator(plan)
    optimal = "optimal for this schedule" if size == bound else f"lower bound {count(bound)}"
    return f"{optimal}; fullest at {peak}" if peak else optimal


def _next_step(model: Path, target: Path, board: Board, options: BuildOptions, firmware: Firmware | None) -> str:
    """The command that tests this build, with a lead-in."""
    if firmware is None:
        return f"Compile it with: {shlex.join(['pio', 'run', '-d', str(target)])}"
    if board.is_host or board.has_emulator:
        return f"Test it with: {command_line('test', model, board.argument, options)}"
    flash = f"flash {firmware.elf} with a tool of yours"
    if board.is_flashable:
        flash = f"flash it with: {command_line('flash', model, board.argument, options)}"
    test = command_line("test", model, board.argument, options, suffix="--port PORT")
    return f"No emulator runs it: {flash}\nThen test it with: {test}"
