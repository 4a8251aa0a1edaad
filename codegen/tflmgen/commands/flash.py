"""tflmgen flash."""

from __future__ import annotations

from pathlib import Path

from tflmgen.actions import flash_project
from tflmgen.commands.prepared_model import PreparedModel
from tflmgen.options import command_line
from tflmgen.project import PROJECT, check_flashable, check_folder, print_kept


def flash_command(prepared: PreparedModel, port: str | None, directory: Path | None) -> None:
    """Builds the model as a project in `directory` and flashes it; without a directory the project is temporary."""
    console, board, model = prepared.console, prepared.board, prepared.path
    check_flashable(board)
    if directory is not None:
        check_folder(directory, PROJECT)
    target, uploader, kept_files = flash_project(prepared.planned(), directory, port, console)
    console.json({"model": model.name, "board": board.id, "uploader": uploader})
    for note in board.notes:
        console.line(f"note: {note}")
    print_kept(console, target, kept_files)
    console.line(f"Flashed {model.name} on {board.id} by {uploader}.")
    console.line(f"Test it with: {command_line('test', model, board.argument, prepared.options, suffix='--port PORT')}")
