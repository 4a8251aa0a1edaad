"""The application that commands are added to, in the order in which its help lists them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from tflmgen.commands.command_line.option_groups import with_groups
from tflmgen.commands.command_line.protected_files import keeps_its_inputs
from tflmgen.commands.command_line.typer_classes import Command, Group
from tflmgen.failure import guarded
from tflmgen.version import VERSION

app = typer.Typer(
    name="tflmgen",
    cls=Group,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with:  tflmgen build model.tflite --board mps2_an386",
)


def command(name: str | None = None, *, epilog: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator that makes a function a command, of its own name by default."""
    add = app.command(name, cls=Command, epilog=epilog)
    return lambda function: add(with_groups(guarded(keeps_its_inputs(function))))


def _print_version(requested: bool) -> None:
    if requested:
        print(f"tflmgen {VERSION}")
        raise typer.Exit


@app.callback()
def _tflmgen(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Compile TensorFlow Lite models to C for microcontrollers, and test in an emulator that the outputs are equal."""
