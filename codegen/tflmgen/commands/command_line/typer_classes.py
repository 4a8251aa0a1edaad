"""Typer's classes with this project's errors and help, for every supported version of Typer."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from tflmgen.errors import UsageError
from tflmgen.failure import INTERRUPTED, failure_of, print_failure

SYNTAX_ERROR: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
"""Base class of command-line parsing errors: Click's, or that of the copy of Click in newer versions of Typer."""

_PYDANTIC_PREFIX = ": Value error, "
"""Prefix that Pydantic, with which newer versions of Typer parse options, puts before an invalid value's reason."""

_ALIKE = 0.7
"""Least likeness of an option's name to what was typed for which it is suggested."""

HELP_SHOWN = "NoArgsIsHelpError"
"""Name of the exception raised after a command without arguments has printed its help."""


class Command(TyperCommand):
    """A command whose help shows flags without a type: some versions of Typer show <bool>, as if a value followed."""

    def get_params(self, ctx: Any) -> Any:
        """Typer's parameters of the command, flags without a type. Called by Typer."""
        return _without_types_of_flags(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands that reports malformed command lines in the format of all other errors."""

    def get_params(self, ctx: Any) -> Any:
        """Typer's parameters of the group, flags without a type. Called by Typer."""
        return _without_types_of_flags(super().get_params(ctx))

    def main(self, args: Sequence[str] | None = None, *positional: Any, **settings: Any) -> Any:
        """Runs a command line, and exits with the code of the project's errors. Called by Typer."""
        words = list(sys.argv[1:] if args is None else args)
        try:
            code = super().main(args, *positional, **{**settings, "standalone_mode": False})
        except typer.Abort:
            code = INTERRUPTED
        except SYNTAX_ERROR as error:
            failure = failure_of(UsageError(_text(error)), {})
            code = failure.code
            if type(error).__name__ != HELP_SHOWN:
                print_failure(failure, as_json="--json" in words)
        sys.exit(code or 0)


def _text(error: Any) -> str:
    """The error on one line, with the --help to read."""
    context = getattr(error, "ctx", None)
    if suggested := getattr(error, "possibilities", None):
        # Typer suggests from a likeness of 0.6 on, to which the hyphens contribute that all options have in common.
        error.possibilities = get_close_matches(error.option_name, suggested, cutoff=_ALIKE)
    command = context.command_path if context is not None else "tflmgen"
    text = " ".join(error.format_message().split()).replace(_PYDANTIC_PREFIX, ": ", 1)
    return f"{text}{'' if text.endswith(('.', '?')) else '.'} See {command} --help"


def _without_types_of_flags(parameters: Sequence[Any]) -> Sequence[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = ""
    return parameters
