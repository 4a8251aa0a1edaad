"""tflmgen flash."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tflmgen.option_groups import command_line
from tflmgen.options import BuildOptions, OutputOptions
from tflmgen.project import (
    PROJECT,
    board_for,
    check_flashable,
    check_folder,
    compile_for,
    flash,
    kept_if_whole,
    print_kept,
    project_of,
    write,
)
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
    with console.progress(f"Planning {model.name}"):
        compilation = compile_for(model, board, options)
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as folder:
        target = directory or Path(folder) / compilation.name
        with kept_if_whole(target):
            kept_files = write(project_of(compilation, board, options), target)
            uploader = flash(target, compilation, board, port, console)
    console.json({"model": model.name, "board": board.id, "uploader": uploader})
    for note in board.notes:
        console.line(f"note: {note}")
    print_kept(console, target, kept_files)
    console.line(f"Flashed {model.name} on {board.id} by {uploader}.")
    console.line(f"Test it with: {command_line('test', model, board.argument, options, suffix='--port PORT')}")
