"""tflmgen bench --port: cycles counted by the DWT of an attached board."""

from __future__ import annotations

from typing import Any

from tflmgen.project import Board
from tflmgen.terminal import Column, Console, Table, count


def print_attached(console: Console, board: Board, figures: dict[str, Any], place: str) -> None:
    """Prints the figures of api.bench_attached()."""
    sets = figures["sets"]
    rows = [
        (
            str(number),
            entry["label"],
            "not counted" if entry["cycles"] is None else count(entry["cycles"]),
            "" if entry["cycles"] is None else f"{entry['milliseconds']:,.3f}",
            count(entry["stack_bytes"]),
        )
        for number, entry in enumerate(sets)
    ]
    columns = (
        Column("#", numeric=True),
        Column("input set", min_width=20),
        Column("cycles", numeric=True),
        Column("ms", numeric=True),
        Column("stack", numeric=True),
    )
    console.table(Table(f"{figures['model']['path']} on {board.id} {place}", columns, rows))
    if any(entry["cycles"] is None for entry in sets):
        console.line(f"{board.core} counts no cycles here: it has no DWT cycle counter, or an emulator stands for it.")
    else:
        console.line(f"Cycles of the DWT's counter; milliseconds at {count(board.clock)} Hz, the clock after reset.")
    for note in figures["notes"]:
        console.line(f"note: {note}")
