"""What the help says of an option, whose name is that of its field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import typer


@dataclass(frozen=True, slots=True)
class OptionHelp:
    """One option of a group.

    metavar        the value, as the help names it
    short          a second name of one letter, such as -q
    shown_default  what the help says in place of the default
    min, max       limits of a number
    envvar         environment variable that is its default
    """

    text: str
    metavar: str | None = None
    short: str | None = None
    shown_default: str | None = None
    min: float | None = None
    max: float | None = None
    envvar: str | None = None

    def named(self, field: str) -> Any:
        """The option of a field, for typer. Whether a file can be read is checked where it is read."""
        names = [f"--{field.replace('_', '-')}", *([self.short] if self.short else [])]
        return typer.Option(
            *names,
            metavar=self.metavar,
            show_default=self.shown_default or True,
            help=self.text,
            min=self.min,
            max=self.max,
            envvar=self.envvar,
            readable=False,
        )
