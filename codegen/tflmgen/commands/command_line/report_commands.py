"""Commands that compare builds, list operators and compute many candidates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tflmgen.commands.command_line.application import command
from tflmgen.options import DiffOptions, OutputOptions, SweepOptions


@command(epilog="Example:  tflmgen diff before/bench.json bench.json --allow flash=2%")
def diff(
    old: Annotated[Path, typer.Argument(readable=False, help="A project's folder, a file of --json, or a model.")],
    new: Annotated[Path, typer.Argument(readable=False, help="The same of what came after it.")],
    *,
    choices: DiffOptions,
    output: OutputOptions,
) -> None:
    """Show what changed between two builds, or two models on --board, and fail if a size or cost grew."""
    from tflmgen.commands.diff import diff_command

    diff_command(old, new, choices, output)


@command(epilog="Example:  tflmgen operators CONV_2D")
def operators(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Only those whose names contain NAME.")
    ] = None,
    *,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            "--plugin",
            readable=False,
            metavar="FILE.py",
            show_default=False,
            help="Also list this plug-in's operators. Repeatable.",
        ),
    ] = None,
    output: OutputOptions,
) -> None:
    """List the operators that tflmgen compiles: element types, references, rules."""
    from tflmgen.commands.operators import operators_command

    operators_command(names or (), plugin or (), output)


@command(epilog="Example:  tflmgen sweep space.py --boards nucleo_f446re -o results.parquet")
def sweep(
    sources: Annotated[
        list[Path],
        typer.Argument(
            readable=False,
            metavar="SPACE.py|MODEL...",
            help="A Python file with candidates() and build(), or models: files, SavedModels' folders, net.py:make.",
        ),
    ],
    *,
    results: Annotated[
        str,
        typer.Option("--output", "-o", metavar="DIR", help="Folder or URL for the rows, in Parquet."),
    ] = "results.parquet",
    choices: SweepOptions,
    output: OutputOptions,
) -> None:
    """Compute a row of figures for each candidate, board and set of options, on all cores or a Dask cluster."""
    from tflmgen.commands.sweep import sweep_command

    sweep_command(sources, results, choices, output)
