"""tflmgen sweep."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tflmgen.actions import named_boards
from tflmgen.errors import UsageError
from tflmgen.options import BuildOptions, OutputOptions, SweepOptions
from tflmgen.sweep import (
    Limits,
    Row,
    Space,
    SweepSummary,
    pareto_rows,
    read_rows,
    read_space,
    row_for_json,
    run_sweep,
    tasks_of,
    write_reports,
)
from tflmgen.terminal import Column, Console, Table, count, readable, three_digits
from tflmgen.user_files import parse_json

COLUMNS = (
    Column("model", min_width=16),
    Column("board", priority=2),
    Column("RAM", numeric=True),
    Column("weights", numeric=True),
    Column("ms", numeric=True),
    Column("score", numeric=True),
)
MAX_ROWS = 12
"""Rows of the Pareto front that are printed."""

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def sweep_command(sources: Sequence[Path], results: str, choices: SweepOptions, output: OutputOptions) -> None:
    """Computes the rows that the results lack, and prints the Pareto front of all."""
    console = Console(output)
    limits = Limits(choices.timeout, _bytes(choices.memory))
    space = read_space(sources)
    tasks = list(tasks_of(space.candidates, _boards(space, choices), _options(space, choices), choices.measure))
    if not tasks:
        raise UsageError(f"{sources[0]}: candidates() gives none")
    start = f"Waiting for workers of {choices.scheduler}" if choices.scheduler else "Starting workers"
    with console.progress(f"{start} for {count(len(tasks))} rows") as progress:
        summary = run_sweep(
            tasks,
            results,
            scheduler=choices.scheduler or "",
            workers=choices.workers or os.cpu_count() or 1,
            cache=choices.cache or "",
            limits=limits,
            report=lambda summary: progress(progress_text(summary), summary.had + summary.done, summary.total),
        )
    wanted = {task.id for task in tasks}
    rows = [row for row in read_rows(results) if row["task"] in wanted]
    front = pareto_rows(rows)
    if choices.report is not None:
        with console.progress("Writing reports") as progress:
            write_reports(choices.report, rows, front, {task.id: task for task in tasks}, progress)
    console.json(_json(summary, results, rows, front))
    _print(console, summary, results, rows, front)
    if choices.report is not None:
        console.line(f"Wrote {choices.report}.")


def progress_text(summary: SweepSummary) -> str:
    """Rows per second, time that is left, and the slowest and fastest worker's rows per second."""
    per_second = summary.done / max(summary.seconds, 1e-9)
    left = round((summary.total - summary.had - summary.done) / max(per_second, 1e-9))
    each = [number / max(summary.seconds, 1e-9) for number in summary.rows_per_worker.values()]
    spread = f"{min(each):.1f}-{max(each):.1f} per worker" if len(each) > 1 else ""
    minutes = f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"
    return ", ".join(filter(None, [f"{per_second:.1f} rows/s", spread, minutes, summary.dashboard]))


def _boards(space: Space, choices: SweepOptions) -> tuple[str, ...]:
    if choices.boards is None and space.boards:
        return tuple(board for name in space.boards for board in _names(name))
    if choices.boards is None:
        raise UsageError("--boards is missing: names with commas between, or all")
    return _names(choices.boards)


def _names(text: str) -> tuple[str, ...]:
    boards = named_boards(text, BuildOptions())
    if not boards:
        raise UsageError(f"--boards {text!r} names none: all, or names with commas between")
    return tuple(board.id for board in boards) if text == "all" else tuple(n.strip() for n in text.split(",") if n)


def _options(space: Space, choices: SweepOptions) -> tuple[Mapping[str, Any], ...]:
    if choices.options:
        return tuple(_set(text) for text in choices.options)
    return space.options or ({},)


def _set(text: str) -> dict[str, Any]:
    """Keyword arguments of tflmgen.compile from KEY=VALUE words; values are JSON where they can be, else texts."""
    values: dict[str, Any] = {}
    for word in text.split():
        key, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"--options {text!r}: '{word}' is not KEY=VALUE")
        try:
            values[key] = parse_json(value)
        except ValueError:
            values[key] = value
    return values


def _bytes(text: str | None) -> int:
    if text is None:
        return 0
    number, unit = (text[:-1], UNITS[text[-1]]) if text[-1:] in UNITS else (text, 1)
    if not number.isdecimal():
        raise UsageError(f"--memory {text}: requires a number of bytes such as 4G or 800M")
    return int(number) * unit


def _json(summary: SweepSummary, results: str, rows: list[Row], front: list[Row]) -> dict[str, Any]:
    return {
        "results": results,
        "rows": len(rows),
        "computed": summary.done,
        "seconds": round(summary.seconds, 3),
        "statuses": _statuses(rows),
        "workers": [
            {"worker": worker, "rows": number, "cpu_seconds": round(summary.cpu_per_worker[worker], 3)}
            for worker, number in summary.rows_per_worker.items()
        ],
        "pareto": [row_for_json(row) for row in front],
    }


def _statuses(rows: Sequence[Row]) -> dict[str, int]:
    names = [row["status"] for row in rows]
    return {name: names.count(name) for name in sorted(set(names))}


def _print(console: Console, summary: SweepSummary, results: str, rows: list[Row], front: list[Row]) -> None:
    shown = front[:: max(1, -(-len(front) // MAX_ROWS))]
    title = f"Pareto front of {count(len(rows))} rows: {len(front)}"
    console.table(Table(title, COLUMNS, [_row(row) for row in shown]))
    if len(shown) < len(front):
        console.line(f"{len(shown)} of {len(front)} are shown; --json and --report have all.")
    for problem in list(dict.fromkeys(row["problem"] for row in rows if row["problem"]))[:3]:
        console.line(f"note: {problem}")
    states = ", ".join(f"{number} {name}" for name, number in _statuses(rows).items())
    rate = f" at {summary.done / summary.seconds:.1f} rows/s" if summary.seconds else ""
    console.line(f"{count(summary.done)} rows computed{rate}, {count(summary.had)} were there: {states}.")
    console.line(f"Rows: {results}")


def _row(row: Row) -> tuple[str, ...]:
    time, score = row["milliseconds_estimated"], row["score"]
    return (
        row["model"],
        row["board"],
        readable(row["ram_bytes"]),
        readable(row["weights_bytes"]),
        "-" if time is None else f"~{three_digits(time)}",
        "-" if score is None else f"{score:.4g}",
    )
