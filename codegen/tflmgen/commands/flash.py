"""tflmgen flash."""

from __future__ import annotations

from pathlib import Path

from tflmgen.api import flash_project, plan_file
from tflmgen.options import BuildOptions, OutputOptions, command_line
from tflmgen.project import PROJECT, board_for, check_flashable, check_folder, print_kept
from tflmgen.terminal import Console


def flash_command(
    model: Path,
    board_name: str,
    port: str | None,
    directory: Path | None,
    options: BuildOptions,
    output: OutputOptions,
) -> None:
    """Builds `model` as a project in `directory` and flashes it; without a directory the project is temporary."""
    console = Console(output)
    board = board_for(board_name, options)
    check_flashable(board)
    if directory is not None:
        check_folder(directory, PROJECT)
    planned = plan_file(model, board, options, console)
    target, uploader, kept_files = flash_project(planned, directory, port, console)
    console.json({"model": model.name, "board": board.id, "uploader": uploader})
    for note in board.notes:
        console.line(f"note: {note}")
    print_kept(console, target, kept_files)
    console.line(f"Flashed {model.name} on {board.id} by {uploader}.")
    console.line(f"Test it with: {command_line('test', model, board.argument, options, suffix='--port PORT')}")
