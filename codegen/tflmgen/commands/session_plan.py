"""The first steps of commands that run firmware: the board as the options place it, and the model planned for it."""

from __future__ import annotations

from pathlib import Path

from tflmgen.api import PlannedModel, plan_file
from tflmgen.emulators import check_session_options
from tflmgen.options import BuildOptions, SessionOptions
from tflmgen.project import Board, board_for, require_compiler
from tflmgen.terminal import Console


def session_board(name: str, options: BuildOptions, session: SessionOptions) -> Board:
    """The board `name` with --place, on which such a session is possible. Raises UsageError otherwise."""
    board = board_for(name, options)
    check_session_options(board, session)
    return board


def plan_session(
    model: Path,
    board: Board,
    options: BuildOptions,
    session: SessionOptions,
    console: Console,
    inputs: Path | None = None,
) -> PlannedModel:
    """`model` planned for a session on `board`, with a compiler at hand unless its firmware is on the board already."""
    is_attached = session.port is not None
    planned = plan_file(
        model, board, options, console, inputs=inputs, signature=session.signature, is_attached=is_attached
    )
    if not is_attached:
        require_compiler(board)
    return planned
