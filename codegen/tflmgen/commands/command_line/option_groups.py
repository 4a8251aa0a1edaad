"""Groups of options that commands share: each group is a dataclass, each of its fields a declared option."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

from tflmgen.options import Option, declared_options


def with_groups(function: Callable[..., None]) -> Callable[..., None]:
    """Wraps `function` for typer: each parameter whose type is a group becomes one parameter per option."""
    hints = get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters
    groups = {name: hints[name] for name in parameters if is_dataclass(hints[name])}
    plain = [p.replace(annotation=hints[p.name]) for p in parameters.values() if p.name not in groups]

    @functools.wraps(function)
    def expanded(**values: Any) -> None:
        group_values = {
            name: group(**{option: values.pop(option) for option in declared_options(group)})
            for name, group in groups.items()
        }
        function(**values, **group_values)

    flat_parameters = [*plain, *(parameter for group in groups.values() for parameter in _parameters(group))]
    expanded.__signature__ = inspect.Signature(flat_parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {p.name: p.annotation for p in flat_parameters}
    return expanded


def _parameters(group: Any) -> Iterator[inspect.Parameter]:
    for name, option in declared_options(group).items():
        kind: Any = option.type
        annotation: Any = Annotated[kind, _typer_option(option)]
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=annotation)


def _typer_option(option: Option) -> Any:
    """The option for typer. Whether a file can be read is checked where it is read."""
    return typer.Option(
        f"--{option.name.replace('_', '-')}",
        *filter(None, [option.short]),
        metavar=option.metavar,
        show_default=option.shown_default or True,
        help=option.help,
        min=option.min,
        max=option.max,
        envvar=option.envvar,
        readable=False,
    )
