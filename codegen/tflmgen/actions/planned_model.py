"""A model file planned for a board: where every command and the Python API begin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tflmgen.applications import Application, is_timeline, read_application
from tflmgen.compiler import Compilation
from tflmgen.emulators import Frozen, freeze_inputs
from tflmgen.hardware import AUTO_CODE, Board, with_code_in_ram
from tflmgen.input_sets import shapes_of_inputs
from tflmgen.options import BuildOptions
from tflmgen.project import InputShapes, check_plan, has_room, plan_for
from tflmgen.terminal import Console, Progress

Json = dict[str, Any]
"""A JSON object, as json.dumps() takes it; a schema in schema/ describes it."""


@dataclass(frozen=True, slots=True)
class PlannedModel:
    """A compilation with what it was made of.

    path    the model's file, for messages
    board   with the placement of --place
    frozen  the build options, with inputs that became constants
    """

    path: Path
    board: Board
    compilation: Compilation
    frozen: Frozen

    @property
    def options(self) -> BuildOptions:
        """Build options, those of the model's own file included."""
        return self.frozen.options

    @property
    def application(self) -> Application | None:
        """The application, where it is compiled alone."""
        is_alone = is_timeline(self.path) and not self.options.also
        return read_application(self.path) if is_alone else None

    @property
    def plan(self) -> Json:
        """Contents of plan.json (schema/plan.json)."""
        return self.compilation.plan


def plan_file(
    path: Path,
    board: Board,
    options: BuildOptions,
    console: Console,
    *,
    inputs: Path | None = None,
    signature: str | None = None,
    is_attached: bool = False,
    must_fit: bool = True,
) -> PlannedModel:
    """Compiles a model file for `board`.

    inputs       .npz file whose arrays give dynamic dimensions their size; None: the options do
    signature    of those sets in the file that name none
    is_attached  the firmware is on a board already, with the dimensions that its options gave it
    must_fit     raise BudgetError if arena, state or weights exceed the board's memories

    Raises WarningsError with --strict where the plan has a warning.
    """
    frozen = freeze_inputs(path, inputs, options)
    shapes = None if inputs is None or is_attached else shapes_of_inputs(path, inputs, signature, options)
    with console.progress(f"Planning {path.name}") as progress:
        board, compilation = _planned(path, board, frozen.options, shapes, progress, must_fit)
        if must_fit:
            check_plan(compilation.plan, board)
    warnings = [part["warning"] for part in compilation.plan["proof"] if part.get("warning")]
    console.refuse_warnings(warnings)
    frozen = replace(frozen, notes=(*frozen.notes, *(f"warning: {text}" for text in warnings)))
    return PlannedModel(path, board, compilation, frozen)


def _planned(
    path: Path, board: Board, options: BuildOptions, shapes: InputShapes, progress: Progress, must_fit: bool
) -> tuple[Board, Compilation]:
    """The plan, and the board with a decision where the code is, if that was left open."""
    if board.code_in != AUTO_CODE:
        return board, plan_for(path, board, options, shapes, progress, must_fit=must_fit)
    in_ram = with_code_in_ram(board)
    compilation = plan_for(path, in_ram, options, shapes, progress, must_fit=must_fit)
    if not in_ram.code_in or has_room(compilation.plan, in_ram):
        return in_ram, compilation
    in_flash = replace(board, code_in="")
    return in_flash, plan_for(path, in_flash, options, shapes, progress, must_fit=must_fit)
