"""Compiles a model for a board: plan, project on disk, firmware."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tflmgen.compiler import Compilation, Report, compile_model, estimate_model, unchecked, unreported
from tflmgen.frontend import TensorKey
from tflmgen.hardware import Board
from tflmgen.ir.kernel import Target
from tflmgen.options import BuildOptions
from tflmgen.project.assemble import LIBRARY, MAIN, Project, assemble
from tflmgen.project.budget import check_plan, check_weights, explain_overflow, room_for_weights
from tflmgen.project.folder import is_as_written
from tflmgen.project.folder_lock import exclusive_folder
from tflmgen.project.platformio import BuildError, Firmware, build
from tflmgen.terminal import Console
from tflmgen.toolchain import find_compiler

InputShapes = Mapping[TensorKey, tuple[int, ...]] | None
"""Shapes of the user's inputs by tensor (input_bounds.py), or None."""


def compile_for(model: Path, board: Board, options: BuildOptions) -> Compilation:
    """The compilation of plan_for(). Raises BudgetError if arena, state or weights exceed the board's memories."""
    compilation = plan_for(model, board, options, must_fit=True)
    check_plan(compilation.plan, board)
    return compilation


def plan_for(
    model: Path,
    board: Board,
    options: BuildOptions,
    input_shapes: InputShapes = None,
    report: Report = unreported,
    *,
    must_fit: bool = False,
) -> Compilation:
    """`model` compiled for the processor of `board`, however much memory it needs, with room for `input_shapes`.

    must_fit  raise BudgetError at once where the weights alone exceed their memory: check_plan() finds all the rest
    """
    check = partial(check_weights, board) if must_fit else unchecked
    compilation = compile_model(model, _target(board, options), options, input_shapes, report, check)
    return replace(compilation, plan={**compilation.plan, **_about(board)})


def estimated_plan(model: Path, board: Board, options: BuildOptions) -> dict[str, Any]:
    """The plan that plan_for() gives, without C and proof: in less time, for one candidate of many."""
    return {**estimate_model(model, _target(board, options), options), **_about(board)}


def _target(board: Board, options: BuildOptions) -> Target:
    room = room_for_weights(board) if options.winograd else 0
    return replace(board.target, optimize=options.optimize.value, winograd=room)


def _about(board: Board) -> dict[str, Any]:
    if board.is_host:
        return {"board": board.id}
    arena = {"arena_memories": list(board.arena_memories)} if board.arena_beyond else {}
    return {"board": board.id, "placement": dict(board.placement), **arena}


def project_of(compilation: Compilation, board: Board, options: BuildOptions, report: str = "") -> Project:
    """The project of a compiled model; plan.json says for which board. `report`: the text of report.html, if any."""
    name, sources = compilation.name, compilation.sources
    files: dict[str, str | bytes] = {f"lib/{name}/{path}": text for path, text in sources.files.items()}
    files |= {f"{LIBRARY}/{path}": data for path, data in compilation.plugin_files.items()}
    return assemble(
        files, sources.headers, board, name, compilation.plan, options.optimize.value, report, options.reentrant
    )


def require_compiler(board: Board) -> None:
    """Raises ToolchainError if the compiler for `board` is missing; for use before anything is written."""
    find_compiler(board.architecture)


def compile_project(directory: Path, compilation: Compilation, board: Board, console: Console) -> Firmware:
    """Compiles the project in `directory`. Raises BudgetError if the firmware doesn't fit the board."""
    with console.progress(f"Compiling {compilation.name} for {board.id}") as progress:
        try:
            return build(directory, board, progress)
        except BuildError as error:
            explained = explain_overflow(error, compilation.plan, board)
            if f"{MAIN}:" in str(error) and not is_as_written(MAIN, directory):
                name = compilation.name
                advice = f"make it call what lib/{name}/include/{name}.h declares, or move it away for a new one"
                explained = BuildError(f"{explained}\n{directory / MAIN} has been changed, so it is kept: {advice}")
            raise explained from error


def print_kept(console: Console, directory: Path, paths: Sequence[str]) -> None:
    """Prints the files with user changes, which are not updated."""
    for path in paths:
        console.line(f"note: {directory / path} has been changed, so it is kept as it is")


@contextmanager
def kept_if_whole(directory: Path) -> Iterator[None]:
    """Removes `directory` if the body fails and it didn't exist before. Raises FolderError if another process is in a
    body for this folder: it would find the wrong sources there, and might remove what this one has built.
    """
    with exclusive_folder(directory):
        fresh = not directory.exists()
        try:
            yield
        except BaseException:
            if fresh:
                shutil.rmtree(directory, ignore_errors=True)
            raise
