"""tflmgen build."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tflmgen.actions import save_project
from tflmgen.applications import library_stem
from tflmgen.commands.hop_table import hop_lines
from tflmgen.commands.prepared_model import PreparedModel
from tflmgen.hardware import Board
from tflmgen.options import command_line
from tflmgen.project import PROJECT, Firmware, arena_parts, check_folder, peak_operator, print_kept, state_bytes
from tflmgen.proof import PROVED
from tflmgen.report import dead_channel_lines, note_lines, time_words
from tflmgen.terminal import Column, Console, Table, count, readable, share


def build_command(prepared: PreparedModel, directory: Path | None, compiled: bool) -> None:
    """Writes the project to `directory`, by default ./MODEL-BOARD, and compiles it if `compiled`."""
    console, board = prepared.console, prepared.board
    target = directory or Path(f"{library_stem(prepared.path, prepared.options)}-{board.id}")
    check_folder(target, PROJECT)
    built = save_project(prepared.planned(), target, compiled, console)
    console.json(built.plan)
    _report(console, built.plan, board, built.firmware)
    print_kept(console, target, built.kept_files)
    console.line(f"The plan in pictures: {target / 'report.html'}")
    console.line(f"Wrote {target}. {_next_step(prepared, target, built.firmware)}")


def _report(console: Console, plan: Mapping[str, Any], board: Board, firmware: Firmware | None) -> None:
    state = state_bytes(plan)
    rows = [
        *_arena_rows(plan, board),
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
    if time := time_words(plan):
        console.line(f"An invoke takes {time}, estimated.")
    for line in dead_channel_lines(plan):
        console.line(line)
    for line in hop_lines(plan):
        console.line(line)
    console.line(f"validated: {', '.join((*PROVED, *(part['text'] for part in plan['proof'])))}")
    for line in note_lines(plan):
        console.line(line)


def _firmware_rows(sizes: Mapping[str, Any], board: Board, firmware: Firmware) -> Iterator[tuple[str, ...]]:
    """Table rows of the compiled firmware's memory; sizes: plan.json's `firmware`."""
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


def _arena_rows(plan: Mapping[str, Any], board: Board) -> Iterator[tuple[str, ...]]:
    """A row, and where the arena lies in several memories, one for each of its parts."""
    parts = [] if board.is_host else arena_parts(plan, board)
    if len(parts) < 2:
        yield _row("arena", plan["arena"]["bytes"], board.bytes_for("arena"), _arena_note(plan))
        return
    sizes = {memory.name: memory.size for memory in board.memories}
    yield _row("arena", plan["arena"]["bytes"], sum(sizes[name] for name, _ in parts), "in several memories")
    for name, size in parts:
        yield _row(f"  in {name}", size, sizes[name], "")


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


def _next_step(prepared: PreparedModel, target: Path, firmware: Firmware | None) -> str:
    """The command that tests this build, with a lead-in."""
    model, board, options = prepared.path, prepared.board, prepared.options
    if firmware is None:
        return f"Compile it with: {shlex.join(['pio', 'run', '-d', str(target)])}"
    if board.is_host or board.has_emulator:
        return f"Test it with: {command_line('test', model, board.argument, options)}"
    flash = f"flash {firmware.elf} with a tool of yours"
    if board.is_flashable:
        flash = f"flash it with: {command_line('flash', model, board.argument, options)}"
    test = command_line("test", model, board.argument, options, suffix="--port PORT")
    return f"No emulator runs it: {flash}\nThen test it with: {test}"
