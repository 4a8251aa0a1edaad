"""From a model and a board to a project on disk and its firmware."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tflmgen.compiler import Compilation, compile_model
from tflmgen.frontend import TensorKey
from tflmgen.options import BuildOptions
from tflmgen.project.assemble import LIBRARY, MAIN, Project, assemble
from tflmgen.project.board import Board
from tflmgen.project.budget import check_plan, explain_overflow, room_for_weights
from tflmgen.project.folder import is_as_written
from tflmgen.project.platformio import BuildError, Firmware, build
from tflmgen.project.toolchain import find_arm_compiler, find_host_compiler
from tflmgen.terminal import Console

Given = Mapping[TensorKey, tuple[int, ...]] | None
"""What inputs at hand need (input_bounds.py)."""


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
