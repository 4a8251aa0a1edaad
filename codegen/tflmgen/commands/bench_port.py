"""Tables of bench: stages of an application, cycles from flash, and cycles of an attached board."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tflmgen.hardware import Board
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


STAGES = (
    Column("stage", min_width=8),
    Column("ran", numeric=True),
    Column("instructions", numeric=True),
    Column("cycles", numeric=True),
    Column("%", numeric=True),
)
_DUTIES = (("typical", "typically"), ("mean", "on average"), ("worst", "at most"))


def print_application(console: Console, report: Mapping[str, Any]) -> None:
    """The stages in the file's order; nothing for other models."""
    application = report["application"]
    if application is None:
        return
    rows = [
        (
            stage["name"],
            "" if stage["runs"] is None else count(stage["runs"]),
            count(stage["instructions"]),
            count(stage["cycles_estimated"]) if stage["cycles_estimated"] else "",
            f"{100 * stage['share']:.1f}",
        )
        for stage in application["stages"]
    ]
    console.table(Table(f"Stages in {count(application['calls'])} calls", STAGES, rows))
    for line in application_lines(application):
        console.line(line)


def application_lines(application: Mapping[str, Any]) -> Iterator[str]:
    """Sentences about a second of samples."""
    if application["instructions_per_second"] is not None:
        yield f"{count(application['instructions_per_second'])} instructions per second of samples."
    if duty := application["duty"]:
        parts = ", ".join(f"{words} {duty[name]:.2%}" for name, words in _DUTIES)
        yield f"Of a period of {1000 * application['period_s']:g} ms the processor computes, estimated: {parts}."
    if energy := application["energy"]:
        yield (
            f"Estimate at {energy['active_ma']:g} mA computing, {energy['idle_ma']:g} mA waiting and "
            f"{energy['volts']:g} V: {energy['mean_ma']:.4g} mA on average, "
            f"{energy['millijoules_per_second']:.4g} mJ per second of samples."
        )


WAITS = (
    Column("cycles", numeric=True),
    Column("waits for code", numeric=True),
    Column("for constants", numeric=True),
)
INVOKES = (Column("invoke"), *WAITS, Column("ms", numeric=True))
OPERATORS = (Column("#", min_width=8), Column("operator", min_width=17), *WAITS)


def print_flash(console: Console, report: Mapping[str, Any], invokes: Sequence[tuple[str, int]]) -> None:
    """Prints the figures of api.with_flash(); nothing where the wait states are not known.

    invokes  caption and index of each input set to show
    """
    if "flash" not in report:
        return
    console.line("")
    sets, flash = report["sets"], report["flash"]
    worst = sets[report["per_invoke"]["worst"]["set"]]
    states = "no wait states" if flash["wait_cycles"] == 0 else f"{flash['wait_cycles']} wait cycles per read"
    title = f"From the flash of {flash['board']} at {flash['clock_hz'] / 1_000_000:g} MHz, {states}"
    rows = [(caption, *_cells(sets[k]), _milliseconds(sets[k])) for caption, k in invokes]
    console.table(Table(title, INVOKES, rows))
    described = {operator["step"]: operator for operator in report["operators"]}
    rows = [(*_name(described[operator["step"]]), *_cells(operator)) for operator in worst["operators"]]
    of_worst = " of the worst invoke" if len(sets) > 1 else ""
    console.table(Table(f"Operators{of_worst}, from flash", OPERATORS, rows))
    console.line(f"From flash: estimated, with accelerators on; docs/understand/counting.md. {flash['source']}.")


def _name(operator: Mapping[str, Any]) -> tuple[str, str]:
    return f"{operator['subgraph']}.{operator['operator']}", operator["name"]


def _cells(entry: Mapping[str, Any]) -> tuple[str, ...]:
    keys = ("cycles_estimated", "code_wait_cycles", "constant_wait_cycles")
    return tuple(count(entry["flash"][key]) for key in keys)


def _milliseconds(entry: Mapping[str, Any]) -> str:
    return f"{entry['flash']['milliseconds_estimated']:,.3f}"
