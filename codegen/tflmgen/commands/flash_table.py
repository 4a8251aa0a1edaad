"""Cycles at the chip's rated clock, with the wait states of its flash: tables of invokes and of operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tflmgen.terminal import Column, Console, Table, count

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
