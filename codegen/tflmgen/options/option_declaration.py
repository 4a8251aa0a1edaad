"""The declaration of an option: a dataclass field, with all that the command line and the Python interface need of it.

The option's name is that of the field, its type the field's, and a command has it if it takes the dataclass.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from tflmgen.options.python_values import PythonValue

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a group.

    name           of the dataclass field, and of the keyword argument; with dashes on the command line
    type           of the field
    default        of the field
    help           one sentence or two, for the command line's help and the Python interface's reference
    metavar        the value, as the help names it
    short          a second name of one letter, such as -q
    shown_default  what the help says in place of the default
    min, max       limits of a number
    envvar         environment variable that is its default
    python         what Python callers give where the command line has texts; None: the field's type
    in_header      whether the header of generated files quotes it, since it changes their text
    """

    name: str
    type: Any
    default: Any
    help: str
    metavar: str | None = None
    short: str | None = None
    shown_default: str | None = None
    min: float | None = None
    max: float | None = None
    envvar: str | None = None
    python: PythonValue | None = None
    in_header: bool = True


def option(default: T, help: str, metavar: str | None = None, **details: Any) -> T:
    """A dataclass field that is an option; details: further fields of Option."""
    declared: T = field(default=default, metadata={"help": help, "metavar": metavar, **details})
    return declared


def declared_options(group: Any) -> Mapping[str, Option]:
    """The options of a group, a dataclass or one of its values, by name."""
    hints = get_type_hints(group if isinstance(group, type) else type(group))
    return {f.name: Option(f.name, hints[f.name], f.default, **f.metadata) for f in fields(group)}


def command_line(command: str, model: Path, board: str, *groups: Any, suffix: str = "") -> str:
    """Shell command line for a command with the model, the board and the options of these groups.

    suffix  appended without quoting, for placeholders
    """
    path = f"./{model}" if str(model).startswith("-") else str(model)
    words = ["tflmgen", command, path, "--board", board, *(word for group in groups for word in option_words(group))]
    return " ".join([shlex.join(words), *([suffix] if suffix else [])])


def option_words(group: Any) -> list[str]:
    """Command-line words for the options of a group that differ from their defaults."""
    return [word for field in fields(group) for word in _words(field.name, getattr(group, field.name), field.default)]


def _words(name: str, value: Any, default: Any) -> Iterator[str]:
    if value == default or value == []:
        return
    for item in value if isinstance(value, list) else [value]:
        yield f"--{name.replace('_', '-')}"
        if item is not True:
            yield str(item.value if isinstance(item, Enum) else item)
