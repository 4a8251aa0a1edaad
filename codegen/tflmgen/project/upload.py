"""Puts a project's firmware on an attached board."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from tflmgen.compiler import Compilation
from tflmgen.errors import UsageError
from tflmgen.hardware import Board
from tflmgen.project.firmware_build import compile_project
from tflmgen.project.platformio import UploadError, check_registry, upload
from tflmgen.terminal import Console
from tflmgen.toolchain import find_program


def check_flashable(board: Board) -> None:
    """Raises UsageError if there is no uploader for `board`."""
    if board.is_host or not board.is_flashable:
        raise UsageError(
            f"--board {board.id} is not flashed: it is {'this computer' if board.is_host else 'an emulated board'}. "
            "A board of your own needs `platformio` or `upload` in its board.json"
        )


def flash(directory: Path, compilation: Compilation, board: Board, port: str | None, console: Console) -> str:
    """Builds the project in `directory` and flashes it; returns the name of the uploader.

    The uploader is the board's `upload` command, or else PlatformIO's platform, which is downloaded on first use.
    """
    if board.upload:
        firmware = compile_project(directory, compilation, board, console)
        words = [_filled(word, firmware.elf, port) for word in board.upload]
        console.line(f"Running the board's upload command: {shlex.join(words)}")
        with console.progress(f"Running {words[0]}"):
            _run([str(find_program(words[0])), *words[1:]])
        return words[0]
    assert board.platformio is not None
    try:
        check_registry(board.platformio.platform)
    except UploadError as error:
        suggestion = f"tflmgen boards new DIR --like {shlex.quote(board.argument)}"
        raise UploadError(
            f"{error}. Or name a flash tool of yours as `upload` in a board of your own: {suggestion}"
        ) from error
    with console.progress(f"Flashing {compilation.name} on {board.id}") as progress:
        upload(directory, f"{board.id}_upload", port, progress)
    return f"{board.platformio.platform.split('@')[0]}, {board.platformio.upload_protocol}"


def _filled(word: str, elf: Path, port: str | None) -> str:
    if "{port}" in word and port is None:
        raise UsageError("the board's upload command needs a --port")
    image = elf.with_suffix(".bin")
    return word.replace("{elf}", str(elf)).replace("{bin}", str(image)).replace("{port}", port or "")


def _run(command: list[str]) -> None:
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if process.returncode != 0:
        raise UploadError(f"{shlex.join(command)}: exit code {process.returncode}\n{process.stdout.strip()}")
