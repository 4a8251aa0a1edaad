"""Groups of options that commands share: each group is a dataclass, each of its fields one option."""

from __future__ import annotations

import functools
import inspect
import shlex
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from tflmgen.options import BuildOptions, OutputOptions, SessionOptions

OPTIONS: Mapping[type, Mapping[str, Any]] = {
    BuildOptions: {
        "name": typer.Option("--name", metavar="NAME", show_default="the file's name", help="Prefix of all names."),
        "optimize": typer.Option("--optimize", help="What the generated code is to be best at."),
        "max_iterations": typer.Option(
            "--max-iterations",
            metavar="[LOOP=]N",
            show_default=False,
            help="Return an error once a loop runs more than N times: every loop, or LOOP, the subgraph of its body "
            "or SUBGRAPH:OPERATOR. Repeatable.",
        ),
        "max_shape": typer.Option(
            "--max-shape",
            metavar="NAME=4,3",
            show_default=False,
            help="The largest shape of a tensor of open shape: an input, an output, or SUBGRAPH:TENSOR. Repeatable.",
        ),
        "max_dim": typer.Option(
            "--max-dim", metavar="N", min=1, help="The most that each dimension left open in every other tensor can be."
        ),
        "progress_hook": typer.Option(
            "--progress-hook", help="Run the macro TFLMGEN_PROGRESS(step) after each operator, for a watchdog."
        ),
        "no_overlap": typer.Option(
            "--no-overlap",
            help="Keep the output of every operator apart from its inputs, to see what the overlap saves.",
        ),
        "no_range_analysis": typer.Option(
            "--no-range-analysis",
            help="Compute everything that the file says, also channels and branches that no input makes a difference "
            "to.",
        ),
        "winograd": typer.Option(
            "--winograd",
            help="Let 3x3 convolutions take fewer multiplications and 3.6 times the weights, where that is faster and "
            "the board's flash holds them.",
        ),
        "plugin": typer.Option(
            "--plugin",
            metavar="FILE.py",
            show_default=False,
            help="A Python file that defines custom operators. Repeatable.",
        ),
        "ram_budget": typer.Option(
            "--ram-budget",
            metavar="BYTES",
            show_default=False,
            help="Find the fastest code whose arena and state keep to this: 20000, 32K.",
        ),
        "push_rows": typer.Option(
            "--push-rows",
            metavar="INPUT",
            show_default=False,
            help="Take this input row by row, so that it never exists whole. Repeatable.",
        ),
        "place": typer.Option(
            "--place",
            metavar="WHAT=MEMORY",
            show_default=False,
            help="Which memory of the board holds the arena, state, weights, code or data: arena=dtcm. Repeatable.",
        ),
    },
    SessionOptions: {
        "emulator": typer.Option(
            "--emulator", help="What runs the firmware; auto is Renode, or QEMU where there is no Renode and for MVE."
        ),
        "signature": typer.Option("--signature", metavar="KEY", help="Which of the model's signatures to use."),
        "timeout": typer.Option("--timeout", metavar="SECONDS", min=0.001, help="How long to wait for each answer."),
        "renode": typer.Option(
            "--renode",
            metavar="PROGRAM",
            show_default="renode of PATH",
            envvar="TFLMGEN_RENODE",
            help="Renode's program.",
        ),
        "port": typer.Option(
            "--port",
            metavar="PORT",
            help="Serial port of an attached board, which `tflmgen flash` has flashed with the same model and options.",
        ),
    },
    OutputOptions: {
        "json": typer.Option("--json", help="Print JSON instead of text for people."),
        "quiet": typer.Option("--quiet", "-q", help="Print nothing but errors (and --json)."),
        "wide": typer.Option("--wide", help="Print tables in full, however wide they get."),
    },
}


def command_line(command: str, model: Path, board: str, *groups: Any, more: str = "") -> str:
    """The shell's words for a command with the model, the board and the options of these groups.

    more  follows as it is, placeholders for example
    """
    path = f"./{model}" if str(model).startswith("-") else str(model)
    words = ["tflmgen", command, path, "--board", board, *(word for group in groups for word in option_words(group))]
    return " ".join([shlex.join(words), *([more] if more else [])])


def option_words(group: Any) -> list[str]:
    """The command line's words for each option of a group that is not at its default; each is named as its field."""
    words: list[str] = []
    for field in fields(group):
        value = getattr(group, field.name)
        if value == field.default or value == []:
            continue
        option = "--" + field.name.replace("_", "-")
        for one in value if isinstance(value, list) else [value]:
            words += [option] if one is True else [option, str(one.value if isinstance(one, Enum) else one)]
    return words


def with_groups(function: Callable[..., None]) -> Callable[..., None]:
    """`function` with each parameter whose type is a group replaced by the group's options, as typer sees it."""
    hints = get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters
    groups = {name: hints[name] for name in parameters if hints[name] in OPTIONS}
    plain = [p.replace(annotation=hints[p.name]) for p in parameters.values() if p.name not in groups]

    @functools.wraps(function)
    def expanded(**values: Any) -> None:
        made = {name: group(**{f.name: values.pop(f.name) for f in fields(group)}) for name, group in groups.items()}
        function(**values, **made)

    shown = [*plain, *(parameter for group in groups.values() for parameter in _parameters(group))]
    expanded.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    expanded.__annotations__ = {p.name: p.annotation for p in shown}
    return expanded


def _parameters(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group)
    return [
        inspect.Parameter(
            f.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if f.default is MISSING else f.default,
            annotation=Annotated[hints[f.name], OPTIONS[group][f.name]],
        )
        for f in fields(group)
    ]
