"""Commands about boards, and a model on many of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tflmgen.commands.command_line.application import app, command
from tflmgen.commands.command_line.arguments import Models
from tflmgen.commands.command_line.option_groups import with_groups
from tflmgen.commands.command_line.typer_classes import Command, Group
from tflmgen.failure import guarded
from tflmgen.options import BuildOptions, NewBoardOptions, OutputOptions

boards_app = typer.Typer(cls=Group, invoke_without_command=True, context_settings=app.info.context_settings)
app.add_typer(boards_app, name="boards")


@boards_app.callback(epilog="Example:  tflmgen boards")
@with_groups
@guarded
def boards(context: typer.Context, *, output: OutputOptions) -> None:
    """List the boards, their memory, and the emulators found here that run them."""
    from tflmgen.commands.boards import boards_command

    if context.invoked_subcommand is None:
        boards_command(output)


@boards_app.command("new", cls=Command, epilog="Example:  tflmgen boards new my_board --like nucleo_f446re")
@with_groups
@guarded
def boards_new(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The new board's folder; its name is the board's.")],
    *,
    answers: NewBoardOptions,
    output: OutputOptions,
) -> None:
    """Write the folder of a board of your own, for --board DIR."""
    from tflmgen.commands.boards_new import boards_new_command

    boards_new_command(directory, answers, output)


@command(epilog="Example:  tflmgen fit kws.tflite --boards all")
def fit(
    models: Models,
    *,
    boards: Annotated[
        str, typer.Option("--boards", metavar="A,B", help="Boards, or all that come with tflmgen.")
    ] = "all",
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE.csv", help="Also write the table as CSV.")] = None,
    options: BuildOptions,
    output: OutputOptions,
) -> None:
    """Show which boards MODEL fits: RAM, weights and estimated time on each. Nothing is compiled."""
    from tflmgen.commands.fit import fit_command
    from tflmgen.commands.prepared_model import prepared_file

    model, options = prepared_file(models, options, output)
    fit_command(model, boards, csv, options, output)
