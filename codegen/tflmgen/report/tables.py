"""The rows of the report's tables and bars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tflmgen.board import Board
from tflmgen.report.palette import Palette
from tflmgen.report.steps import Json, Plan, Steps, shapes
from tflmgen.units import count, readable, share

SHOWN_LAYERS = 16


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell shows, and what it is sorted by: a number or, where None, the text."""

    text: str
    value: float | None = None

    @property
    def key(self) -> str:
        return self.text if self.value is None else repr(self.value)


@dataclass(frozen=True, slots=True)
class Row:
    """One operator; `style` is its colour."""

    step: int
    style: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a bar: its share in percent."""

    title: str
    bytes: int
    percent: float
    style: str

    @property
    def text(self) -> str:
        return f"{count(self.bytes)} bytes ({readable(self.bytes)})"


@dataclass(frozen=True, slots=True)
class Bar:
    """A kind of memory: what takes it, of how much."""

    title: str
    used: int
    total: int
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        if not self.total:
            return f"{readable(self.used)}"
        return f"{readable(self.used)} of {readable(self.total)}, {share(self.used, self.total)} %"


def operator_columns(bench: Json | None) -> tuple[str, ...]:
    """Titles; one that ends in '>' has numbers."""
    measured = ("runs>", "instructions>", "%>") if bench else ()
    return ("step>", "in file", "operator", "output", "kernel", "MACs>", "weights>", "arena>", *measured, "line>")


def operator_rows(steps: Steps, palette: Palette, occupied: list[int], bench: Json | None) -> Iterator[Row]:
    """Every operator, in the plan's order."""
    measured = {one["step"]: one for one in bench["operators"]} if bench else {}
    total = bench["total"]["instructions"] if bench else 0
    for step in steps.by_index.values():
        if step["kind"] != "operator":
            continue
        index = step["index"]
        kernel = (step["kernel"] or "").removeprefix("tflmgen_") or f"({step['variant']})"
        kernel = ", ".join(one["name"] for one in step.get("stages", ())) or kernel
        cells = [
            _number(index),
            Cell(f"{step['subgraph']}.{step['operator']}", step["subgraph"] * 1e6 + step["operator"]),
            Cell(steps.title(index)),
            Cell(shapes(step["outputs"])),
            Cell(kernel),
            _number(step["macs"]),
            _number(step["weights_bytes"]),
            _number(occupied[index]),
            *(_measured(measured.get(index), total) if bench else ()),
            _number(step["line"]),
        ]
        yield Row(index, palette.of_step(step), tuple(cells))


def _measured(one: Json | None, total: int) -> tuple[Cell, ...]:
    if one is None:
        return (_number(0), _number(None), _number(None))
    part = one["instructions"]
    percent = Cell("", -1.0) if part is None else Cell(share(part, total), float(part))
    return (_number(one["executions"]), _number(part), percent)


def _number(value: int | None) -> Cell:
    return Cell("", -1.0) if value is None else Cell(count(value) if value else "", float(value))


def layer_parts(steps: Steps, palette: Palette) -> list[Part]:
    """Weights by step, the largest first; bars relative to the largest. What is small comes together at the end."""
    found = sorted((s for s in steps.by_index.values() if s["weights_bytes"]), key=lambda s: -s["weights_bytes"])
    largest = found[0]["weights_bytes"] if found else 1
    parts = [_layer(s, steps, palette, largest) for s in found[:SHOWN_LAYERS]]
    rest = steps.plan["weights"]["bytes"] - sum(part.bytes for part in parts)
    if rest:
        parts.append(Part("everything else", rest, 100 * rest / max(largest, rest), "c-in"))
    return parts


def _layer(step: Json, steps: Steps, palette: Palette, largest: int) -> Part:
    title = f"{steps.title(step['index'])} {shapes(step.get('outputs', ()))}".strip() + f", step {step['index']}"
    return Part(title, step["weights_bytes"], 100 * step["weights_bytes"] / largest, palette.of_step(step))


def memory_bars(plan: Plan, board: Board, firmware: Mapping[str, Any] | None) -> list[Bar]:
    """RAM and flash beside what the board has; of the model alone where there is no firmware."""
    arena, state = plan["arena"]["bytes"], sum(part["bytes"] for part in plan["state"])
    weights = plan["weights"]["bytes"]
    ram, flash = [("arena", arena, "c0"), ("state", state, "c1")], [("weights", weights, "c0")]
    if firmware is not None:
        code = firmware["code_bytes"]
        static, image = firmware["data"] + firmware["bss"], firmware["text"] + firmware["data"]
        ram.append(("other variables", static - arena - state, "c2"))
        if firmware["stack_worst_case"] is not None:
            ram.append(("stack of an invoke, at most", firmware["stack_worst_case"], "c3"))
        flash += [("code of the model", code, "c1"), ("start-up, test server", image - weights - code, "c2")]
    limits = (0, 0) if board.is_host else (board.ram_bytes, board.flash_bytes)
    return [
        _bar(title, limit, parts) for title, limit, parts in zip(("RAM", "Flash"), limits, (ram, flash), strict=True)
    ]


def _bar(title: str, limit: int, parts: list[tuple[str, int, str]]) -> Bar:
    used = sum(size for _, size, _ in parts)
    whole = max(limit, used, 1)
    return Bar(
        title, used, limit, tuple(Part(t, size, 100 * size / whole, style) for t, size, style in parts if size > 0)
    )
