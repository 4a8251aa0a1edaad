"""tflmgen boards new."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path

import typer

from tflmgen.hardware import known_cores, missing, new_board
from tflmgen.options import NewBoardOptions, OutputOptions
from tflmgen.terminal import Console
from tflmgen.user_files import parse_json


def boards_new_command(directory: Path, answers: NewBoardOptions, output: OutputOptions) -> None:
    """Writes the folder of a new board. On a terminal, prompts for missing answers."""
    console = Console(output)
    if missing(answers) and console.shows_text and _is_terminal():
        answers = _ask(answers)
    board = new_board(directory, answers)
    console.json({"id": board.id, "folder": str(directory), "board": _written(directory)})
    console.line(f"Wrote {directory}: {board.title}.")
    if answers.uart is not None:
        console.line("Its UART's clocks and pins are not set up yet: see `setup` in docs/use/boards.md.")
    if board.qemu is None and board.renode is None:
        console.line("No emulator runs it, unless its board.json names one: `qemu`, `renode`.")
    console.line(f"Build for it with: tflmgen build MODEL --board {shlex.quote(board.argument)}")


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _ask(answers: NewBoardOptions) -> NewBoardOptions:
    template = typer.prompt("Like which board? (Enter: like none)", default="", show_default=False)
    if template:
        return replace(answers, like=template)
    core = answers.core or typer.prompt(f"Processor ({', '.join(known_cores())})")
    memories = list(answers.memory or ())
    if not memories:
        flash = typer.prompt("Flash, ORIGIN:SIZE", default="0x08000000:512K")
        ram = typer.prompt("RAM, ORIGIN:SIZE", default="0x20000000:128K")
        memories = [f"FLASH={flash}:flash", f"RAM={ram}:ram"]
    uart = answers.uart or typer.prompt("UART, DRIVER@BASE:CLOCK")
    return replace(answers, core=core, memory=memories, uart=uart)


def _written(directory: Path) -> object:
    return parse_json((directory / "board.json").read_text(encoding="utf-8"))
