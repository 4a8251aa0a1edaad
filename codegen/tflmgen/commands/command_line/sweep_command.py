"""The command that computes many candidates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tflmgen.commands.command_line.application import command
from tflmgen.options import OutputOptions, SweepOptions


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
