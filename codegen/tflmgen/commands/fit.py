"""tflmgen fit."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tflmgen.actions import BoardFit, fit_boards, named_boards
from tflmgen.errors import UsageError
from tflmgen.options import BuildOptions, OutputOptions
from tflmgen.terminal import Column, Console, Table, readable, three_digits
from tflmgen.user_files import write_whole

COLUMNS = (
    Column("board", min_width=14),
    Column("core", priority=2),
    Column("fits"),
    Column("RAM", numeric=True),
    Column("of", numeric=True),
    Column("weights", numeric=True),
    Column("flash", numeric=True),
    Column("ms", numeric=True),
    Column("at", numeric=True),
)


def fit_command(model: Path, boards: str, csv_path: Path | None, options: BuildOptions, output: OutputOptions) -> None:
    """Prints a row per board: whether the model fits, and what it takes."""
    console = Console(output)
    chosen = named_boards(boards, options)
    if not chosen:
        raise UsageError(f"--boards {boards!r} names none: all, or names with commas between")
    with console.progress(f"Planning {model.name}") as progress:
        fits = fit_boards(model, chosen, options, progress)
    console.json({"model": model.name, "boards": [_json(fit) for fit in fits]})
    console.table(Table(f"{model.name} on {len(fits)} boards", COLUMNS, [_row(fit) for fit in fits]))
    problems = {fit.problem: None for fit in fits if fit.problem}
    for problem in problems:
        console.line(f"note: {problem}")
    console.line("RAM: arena and state. Weights and the model's code share the flash.")
    console.line("ms: worst-case path by estimate; + lacks operators without one.")
    console.line("at: rated clock and wait states (ws) of the flash, else the clock after reset.")
    console.line(f"It fits {sum(fit.fits for fit in fits)} of {len(fits)}. Exact sizes: tflmgen build, tflmgen bench.")
    if csv_path is not None:
        write_whole(csv_path, _csv(fits).encode())
        console.line(f"Wrote {csv_path}.")


def _row(fit: BoardFit) -> tuple[str, ...]:
    milliseconds = "-" if fit.milliseconds is None else f"~{three_digits(fit.milliseconds)}{'+' if fit.unknown else ''}"
    waits = "" if fit.wait_states is None else f", {fit.wait_states} ws"
    return (
        fit.board,
        fit.core,
        "yes" if fit.fits else "no",
        "-" if fit.ram_bytes is None else readable(fit.ram_bytes),
        readable(fit.ram_of) if fit.ram_of else "-",
        "-" if fit.weights_bytes is None else readable(fit.weights_bytes),
        readable(fit.flash_of) if fit.flash_of else "-",
        milliseconds,
        "-" if fit.clock is None else f"{fit.clock / 1_000_000:g} MHz{waits}",
    )


def _json(fit: BoardFit) -> dict[str, Any]:
    return {
        "board": fit.board,
        "core": fit.core,
        "fits": fit.fits,
        "arena_bytes": fit.arena_bytes,
        "ram_bytes": fit.ram_bytes,
        "ram_of": fit.ram_of,
        "weights_bytes": fit.weights_bytes,
        "flash_of": fit.flash_of,
        "cycles_estimated": fit.cycles,
        "milliseconds_estimated": fit.milliseconds,
        "clock": fit.clock,
        "wait_states": fit.wait_states,
        "operators_without_estimate": fit.unknown,
        "problem": fit.problem or None,
    }


def _csv(fits: tuple[BoardFit, ...]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(asdict(fits[0])), lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(fit) for fit in fits)
    return text.getvalue()
