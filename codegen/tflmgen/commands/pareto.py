"""tflmgen inspect --pareto."""

from __future__ import annotations

from pathlib import Path

from tflmgen.api import pareto_points
from tflmgen.options import BuildOptions, OutputOptions
from tflmgen.project import board_for
from tflmgen.terminal import Column, Console, Table, count


def pareto_command(path: Path, board_name: str, options: BuildOptions, output: OutputOptions) -> None:
    """Prints the Pareto front of RAM and estimated cycles per invoke."""
    console = Console(output)
    board = board_for(board_name, options)
    with console.progress(f"Planning {path.name}"):
        points = pareto_points(path, board, options)
    titles = ("RAM", "MACs", "extra cycles", "row calls", "bytes moved", "streamed operators")
    columns = tuple(Column(title, numeric=True) for title in titles)
    rows = [tuple(count(number) for number in point.values()) for point in points]
    console.table(Table(f"RAM of {path.name} and its estimated cost per invoke", columns, rows))
    console.line("Build one with --ram-budget and its RAM. None computes a value twice.")
    console.json({"model": path.name, "board": board.id, "points": points})
