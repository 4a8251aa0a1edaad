"""Groups of options that commands share: each group is a dataclass, each of its fields one option."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Annotated, Any, get_type_hints

from tflmgen.commands.command_line.board_options import BOARD_GROUPS
from tflmgen.commands.command_line.build_options import BUILD_GROUPS
from tflmgen.commands.command_line.file_options import FILE_GROUPS
from tflmgen.commands.command_line.option_help import OptionHelp
from tflmgen.commands.command_line.sweep_options import SWEEP_GROUPS

OPTIONS: Mapping[type, Mapping[str, OptionHelp]] = {**BUILD_GROUPS, **FILE_GROUPS, **BOARD_GROUPS, **SWEEP_GROUPS}
"""Group -> its field -> what the help says of it."""


def with_groups(function: Callable[..., None]) -> Callable[..., None]:
    """Wraps `function` for typer: each parameter whose type is a group becomes one parameter per option."""
    hints = get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters
    groups = {name: hints[name] for name in parameters if hints[name] in OPTIONS}
    plain = [p.replace(annotation=hints[p.name]) for p in parameters.values() if p.name not in groups]

    @functools.wraps(function)
    def expanded(**values: Any) -> None:
        group_values = {
            name: group(**{f.name: values.pop(f.name) for f in fields(group)}) for name, group in groups.items()
        }
        function(**values, **group_values)

    flat_parameters = [*plain, *(parameter for group in groups.values() for parameter in _parameters(group))]
    expanded.__signature__ = inspect.Signature(flat_parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {p.name: p.annotation for p in flat_parameters}
    return expanded


def _parameters(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group)
    return [
        inspect.Parameter(
            f.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if f.default is MISSING else f.default,
            annotation=Annotated[hints[f.name], OPTIONS[group][f.name].named(f.name)],
        )
        for f in fields(group)
    ]
