"""Rows of the report's tables: operators, ranked lists, and stages of an application."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tflmgen.report.layer_texts import quantization_text, window_text
from tflmgen.report.occupancy import Occupancy
from tflmgen.report.palette import NEUTRAL, Palette
from tflmgen.report.steps import Json, PlanSteps, shapes
from tflmgen.terminal import count, readable, share

SHOWN_LAYERS = 16
"""Layers with a row of their own; one more row sums up the others."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell, sorted by `value` or, if that is None, by its text."""

    text: str
    value: float | None = None

    @property
    def key(self) -> str:
        """Text by which the cell is sorted."""
        return self.text if self.value is None else repr(self.value)


@dataclass(frozen=True, slots=True)
class Row:
    """Table row of one operator; `style` is its colour class."""

    step: int
    style: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class BarPart:
    """A segment of a bar, with its share in percent."""

    title: str
    amount: int
    percent: float
    style: str

    @property
    def text(self) -> str:
        """Size of the part in bytes, exact and readable."""
        return f"{count(self.amount)} bytes ({readable(self.amount)})"


def operator_columns(bench: Json | None) -> tuple[str, ...]:
    """Column titles; those of numeric columns end in '>'."""
    measured = ("runs>", "instructions>", "%>") if bench else ()
    first = ("step>", "in file", "operator", "output", "window", "kernel")
    return (*first, "MACs>", "weights>", "arena>", *measured, "line>", "quantisation")


def operator_rows(steps: PlanSteps, palette: Palette, occupied: list[int], bench: Json | None) -> Iterator[Row]:
    """Rows of all operators, in the plan's order."""
    measured = {figures["step"]: figures for figures in bench["operators"]} if bench else {}
    total = bench["total"]["instructions"] if bench else 0
    for step in steps.by_index.values():
        if step["kind"] != "operator":
            continue
        index = step["index"]
        kernel = (step["kernel"] or "").removeprefix("tflmgen_") or f"({step['variant']})"
        kernel = f"{len(step['stages'])} operators" if "stages" in step else kernel
        cells = [
            _number(index),
            Cell(f"{step['subgraph']}.{step['operator']}", step["subgraph"] * 1e6 + step["operator"]),
            Cell(steps.title(index)),
            Cell(shapes(step["outputs"])),
            Cell(window_text(step)),
            Cell(kernel),
            _number(step["macs"]),
            _number(step["weights_bytes"]),
            _number(occupied[index]),
            *(_measured(measured.get(index), total) if bench else ()),
            _number(step["line"]),
            Cell(quantization_text(step)),
        ]
        yield Row(index, palette.of_step(step), tuple(cells))


def _measured(figures: Json | None, total: int) -> tuple[Cell, ...]:
    if figures is None:
        return (_number(0), _number(None), _number(None))
    part = figures["instructions"]
    percent = Cell("", -1.0) if part is None else Cell(share(part, total), float(part))
    return (_number(figures["executions"]), _number(part), percent)


def _number(value: int | None) -> Cell:
    return Cell("", -1.0) if value is None else Cell(count(value) if value else "", float(value))


def layer_parts(steps: PlanSteps, palette: Palette) -> list[BarPart]:
    """Weights by step, the largest first, with bars relative to the largest; small ones are combined at the end."""
    sizes = {index: step["weights_bytes"] for index, step in steps.by_index.items()}
    return _ranked(sizes, steps.plan["weights"]["bytes"], steps, palette)


def work_parts(steps: PlanSteps, palette: Palette, bench: Json | None) -> list[BarPart]:
    """Instructions by step if counted, else MACs times the known executions; ranked as in layer_parts()."""
    if bench:
        work = {figures["step"]: figures["instructions"] or 0 for figures in bench["operators"]}
    else:
        work = {i: step.get("macs", 0) * steps.times(i) for i, step in steps.by_index.items()}
    return _ranked(work, sum(work.values()), steps, palette)


def _ranked(amounts: Mapping[int, int], total: int, steps: PlanSteps, palette: Palette) -> list[BarPart]:
    largest_first = sorted((index for index, amount in amounts.items() if amount), key=lambda i: -amounts[i])
    largest = amounts[largest_first[0]] if largest_first else 1
    parts = []
    for index in largest_first[:SHOWN_LAYERS]:
        step, amount = steps.by_index[index], amounts[index]
        title = f"{steps.title(index)} {shapes(step.get('outputs', ()))}".strip() + f", step {index}"
        parts.append(BarPart(title, amount, 100 * amount / largest, palette.of_step(step)))
    remainder = total - sum(part.amount for part in parts)
    if remainder:
        parts.append(BarPart("everything else", remainder, 100 * remainder / max(largest, remainder), NEUTRAL))
    return parts


PLANNED = ("operators", "arena at most", "cycles of a run")
MEASURED = ("ran", "instructions", "%")


def stage_table(steps: PlanSteps, occupancy: Occupancy, bench: Mapping[str, Any] | None) -> dict[str, object]:
    """Titles of the numeric columns, behind that of the name, and the rows; none for other models."""
    columns = (*PLANNED, *(MEASURED if bench and bench["application"] else ()))
    return {"stage_columns": columns, "stages": list(_rows(steps, occupancy, bench))}


def _rows(steps: PlanSteps, occupancy: Occupancy, bench: Mapping[str, Any] | None) -> Iterator[tuple[str, ...]]:
    """Name, number of operators, most live bytes of the arena at one of them, expected cycles of all of them once.

    With a bench of an application also the calls in which the stage ran, the instructions of all, and their share.
    """
    application: Mapping[str, Any] = (bench and bench["application"]) or {"stages": [], "calls": 0}
    measured = {stage["name"]: stage for stage in application["stages"]}
    for part in steps.plan["stages"]:
        operators = [steps.by_index[index] for index in part["steps"]]
        arena = max((occupancy.bytes[step["index"]] for step in operators), default=0)
        expected = [step["expected"]["cycles"] for step in operators if step.get("expected")]
        planned = (count(len(operators)), readable(arena), count(sum(expected)) if expected else "")
        stage = measured.get(part["name"])
        runs = () if stage is None else (_runs(stage["runs"], application["calls"]), count(stage["instructions"]))
        share = () if stage is None else (f"{100 * stage['share']:.1f}",)
        yield (part["name"], *planned, *runs, *share)


def _runs(runs: int | None, calls: int) -> str:
    return f"{count(calls if runs is None else runs)} of {count(calls)}"
