"""Work of a hop of sliding windows: a table for people, from plan.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tflmgen.terminal import Column, Console, Table, count

LAYERS = (
    Column("#"),
    Column("operator", min_width=17),
    Column("rows", numeric=True),
    Column("exact cone", numeric=True),
    Column("computed", numeric=True),
    Column("MACs", numeric=True),
)


def print_hops(console: Console, plan: Mapping[str, Any]) -> None:
    """Rows of each layer that a hop computes, and a line about all of them; nothing where no window slides."""
    for hop in plan["slide"]:
        title = f"Rows per hop{_of_signature(hop)}"
        console.table(Table(title, LAYERS, [*map(_row, hop["layers"])]))
    for line in hop_lines(plan):
        console.line(line)


def hop_lines(plan: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each signature with sliding windows."""
    for hop in plan["slide"]:
        macs = hop["macs"]
        share, by_cone = macs["computed"] / max(1, macs["window"]), macs["computed"] / max(1, macs["cone"])
        yield (
            f"A hop{_of_signature(hop)} computes {count(macs['computed'])} of a window's {count(macs['window'])} MACs "
            f"({share:.1%}), {by_cone:.2f} times its exact cone; it keeps {count(hop['cache_bytes'])} bytes of rows"
            f"{_phases(hop)}."
        )


def _phases(hop: dict[str, Any]) -> str:
    return f" of {hop['phases']} windows" if hop["phases"] > 1 else ""


def _of_signature(hop: dict[str, Any]) -> str:
    return f" of '{hop['signature']}'" if hop["signature"] else ""


def _row(layer: dict[str, Any]) -> tuple[str, ...]:
    rows = [count(layer[key]) for key in ("rows", "cone_rows", "computed_rows")] if layer["row_wise"] else ["all"] * 3
    macs = round(layer["macs"] * layer["computed_rows"] / layer["rows"])
    return f"{layer['subgraph']}.{layer['operator']}", layer["name"], *rows, count(macs) if macs else ""
