"""tflmgen bench --port: cycles counted by the DWT of an attached board."""

from __future__ import annotations

from typing import Any

from tflmgen import __version__
from tflmgen.commands.bench_report import Measured
from tflmgen.compiler import Compilation
from tflmgen.emulators import Vectors, run_set, run_sets, running
from tflmgen.options import BuildOptions, SessionOptions
from tflmgen.project import Board
from tflmgen.terminal import Column, Console, Table, count


def bench_port(
    compilation: Compilation,
    board: Board,
    vectors: Vectors,
    generated: bool,
    options: BuildOptions,
    session: SessionOptions,
    console: Console,
) -> None:
    """Prints the DWT cycles of one invoke per input set. The JSON follows schema/bench_port.json."""
    with (
        running(compilation, board, options, session, console) as run,
        console.progress("Starting") as progress,
    ):
        signatures = compilation.module.signatures
        results = run_sets(run.session, signatures, vectors.sets, vectors.stateful, progress)
        if generated:
            results = [run_set(run.session, signatures, vectors.sets[0], "second invoke")]
        place, notes = run.session.place, run.session.notes
    measured = [Measured(s.label, s.signature, r.invocation) for s, r in zip(vectors.sets, results, strict=True)]
    sets = [_set(measured_set, compilation, board) for measured_set in measured]
    plan = compilation.plan
    console.json(
        {
            "tflmgen": __version__,
            "model": plan["model"],
            "options": plan["options"],
            "board": board.id,
            "port": session.port,
            "notes": list(notes),
            "clock_hz": board.clock,
            "sets": sets,
            "arena_bytes": plan["arena"]["bytes"],
            "weights_bytes": plan["weights"]["bytes"],
        }
    )
    _print(console, f"{plan['model']['path']} on {board.id} {place}", board, sets, notes)


def _set(measured_set: Measured, compilation: Compilation, board: Board) -> dict[str, Any]:
    cycles = measured_set.invocation.cycles or None
    return {
        "label": measured_set.label,
        "signature": compilation.module.signatures[measured_set.signature].key,
        "cycles": cycles,
        "milliseconds": None if cycles is None else round(1000 * cycles / board.clock, 3),
        "stack_bytes": measured_set.invocation.stack_bytes,
    }


def _print(console: Console, title: str, board: Board, sets: list[dict[str, Any]], notes: tuple[str, ...]) -> None:
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
    console.table(Table(title, columns, rows))
    if any(entry["cycles"] is None for entry in sets):
        console.line(f"{board.core} counts no cycles here: it has no DWT cycle counter, or an emulator stands for it.")
    else:
        console.line(f"Cycles of the DWT's counter; milliseconds at {count(board.clock)} Hz, the clock after reset.")
    for note in notes:
        console.line(f"note: {note}")
