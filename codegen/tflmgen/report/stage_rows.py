"""Rows of the report's table of an application's stages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tflmgen.report.occupancy import Occupancy
from tflmgen.report.steps import Steps
from tflmgen.terminal import count, readable

PLANNED = ("operators", "arena at most", "cycles of a run")
MEASURED = ("ran", "instructions", "%")


def stage_table(steps: Steps, occupancy: Occupancy, bench: Mapping[str, Any] | None) -> dict[str, object]:
    """Titles of the numeric columns, behind that of the name, and the rows; none for other models."""
    columns = (*PLANNED, *(MEASURED if bench and bench["application"] else ()))
    return {"stage_columns": columns, "stages": list(_rows(steps, occupancy, bench))}


def _rows(steps: Steps, occupancy: Occupancy, bench: Mapping[str, Any] | None) -> Iterator[tuple[str, ...]]:
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
