"""The rows of the report's tables and bars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tflmgen.board import Board, Memory
from tflmgen.report.palette import NEUTRAL, Palette
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
    amount: int
    percent: float
    style: str

    @property
    def text(self) -> str:
        return f"{count(self.amount)} bytes ({readable(self.amount)})"


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
    sizes = {index: step["weights_bytes"] for index, step in steps.by_index.items()}
    return _ranked(sizes, steps.plan["weights"]["bytes"], steps, palette)


def work_parts(steps: Steps, palette: Palette, bench: Json | None) -> list[Part]:
    """Instructions by step where they were counted, else MACs, each as often as it surely runs; ranked likewise."""
    if bench:
        done = {one["step"]: one["instructions"] or 0 for one in bench["operators"]}
    else:
        done = {i: step.get("macs", 0) * steps.times(i) for i, step in steps.by_index.items()}
    return _ranked(done, sum(done.values()), steps, palette)


def _ranked(amounts: Mapping[int, int], total: int, steps: Steps, palette: Palette) -> list[Part]:
    found = sorted((index for index, amount in amounts.items() if amount), key=lambda i: -amounts[i])
    largest = amounts[found[0]] if found else 1
    parts = []
    for index in found[:SHOWN_LAYERS]:
        step, amount = steps.by_index[index], amounts[index]
        title = f"{steps.title(index)} {shapes(step.get('outputs', ()))}".strip() + f", step {index}"
        parts.append(Part(title, amount, 100 * amount / largest, palette.of_step(step)))
    rest = total - sum(part.amount for part in parts)
    if rest:
        parts.append(Part("everything else", rest, 100 * rest / max(largest, rest), NEUTRAL))
    return parts


KINDS = {"ram": "RAM", "flash": "Flash"}
IN_FLASH = frozenset({"weights", "code"})


def memory_bars(plan: Plan, board: Board, firmware: Mapping[str, Any] | None) -> list[Bar]:
    """Each memory that something is placed in, RAM first, beside its size; of the model alone without a firmware."""
    places = dict(board.placement)
    found: dict[str, list[tuple[str, int, str]]] = {}
    for what, title, size, style in _placed(plan, firmware):
        kind = KINDS["flash" if what in IN_FLASH else "ram"]
        found.setdefault(places.get(what, kind), []).append((title, size, style))
    memories = sorted(board.memories, key=lambda m: m.kind != "ram")
    limits = {m.name: (_memory_title(m), m.size) for m in memories} or {kind: (kind, 0) for kind in KINDS.values()}
    return [_bar(*limits[name], found[name]) for name in limits if name in found]


def _memory_title(memory: Memory) -> str:
    kind = KINDS[memory.kind]
    return kind if memory.name.lower() == memory.kind else f"{kind} {memory.name}"


def _placed(plan: Plan, firmware: Mapping[str, Any] | None) -> Iterator[tuple[str, str, int, str]]:
    """(what the linker script places, title, bytes, colour)"""
    arena, state = plan["arena"]["bytes"], sum(part["bytes"] for part in plan["state"])
    weights = plan["weights"]["bytes"]
    yield "arena", "arena", arena, "c0"
    yield "state", "state", state, "c1"
    if firmware is not None:
        yield "data", "other variables", firmware["data"] + firmware["bss"] - arena - state, "c2"
        yield "data", "stack of an invoke, at most", firmware["stack_worst_case"] or 0, "c3"
    yield "weights", "weights", weights, "c0"
    if firmware is not None:
        yield "code", "code of the model", firmware["code_bytes"], "c1"
        image = firmware["text"] + firmware["data"]
        yield "code", "start-up, test server", image - weights - firmware["code_bytes"], "c2"


def _bar(title: str, limit: int, parts: list[tuple[str, int, str]]) -> Bar:
    used = sum(size for _, size, _ in parts)
    whole = max(limit, used, 1)
    shown = [Part(title, size, 100 * size / whole, style) for title, size, style in parts if size > 0]
    return Bar(title, used, limit, tuple(shown))
