"""Multiply-accumulates (MACs) in plan.json, by operator and in total: computed, and as in the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Json = dict[str, Any]
Place = tuple[int, int]
"""Subgraph and operator of the file."""


def executions(steps: Sequence[Json]) -> dict[int, int]:
    """Step -> how often it runs in one call of its function: every branch once, a loop of unknown length once."""
    by_index = {step["index"]: step for step in steps}
    executions_by_step = {}
    for index, step in by_index.items():
        executions_by_step[index] = 1
        while step["parent"] is not None:
            step = by_index[step["parent"]]
            executions_by_step[index] *= 1 if step.get("trips") is None else step["trips"]
    return executions_by_step


def with_file_macs(steps: Sequence[Json], removed: Mapping[Place, int]) -> list[Json]:
    """`steps` with `file_macs` for each operator: computed MACs plus those that value-range analysis removed.

    removed: operator -> MACs. If an operator became several steps (a function inlined twice), they share it equally.
    """
    parts: dict[Place, list[Json]] = {}
    copies = [_copied(step) for step in steps]
    for part in _operators(copies):
        parts.setdefault((part["subgraph"], part["operator"]), []).append(part)
    for place, macs in removed.items():
        same = parts.get(place, ())
        for number, part in enumerate(same):
            part["file_macs"] += macs * (number + 1) // len(same) - macs * number // len(same)
    for step in copies:
        if "stages" in step:
            step["file_macs"] = sum(stage["file_macs"] for stage in step["stages"])
    return copies


def total_macs(steps: Sequence[Json], removed: Mapping[Place, int]) -> dict[str, int]:
    """MACs of one call, weighted by `executions`; removed operators count once, in `file` only."""
    times = executions(steps)
    operators = [step for step in steps if step["kind"] == "operator"]
    left = {(part["subgraph"], part["operator"]) for part in _operators(steps)}
    dead_macs = sum(macs for place, macs in removed.items() if place not in left)
    return {
        "computed": sum(step["macs"] * times[step["index"]] for step in operators),
        "file": sum(step["file_macs"] * times[step["index"]] for step in operators) + dead_macs,
    }


def _copied(step: Json) -> Json:
    if step["kind"] != "operator":
        return step
    copied = {**step, "file_macs": step["macs"]}
    if "stages" in step:
        copied["stages"] = [{**stage, "file_macs": stage["macs"]} for stage in step["stages"]]
    return copied


def _operators(steps: Sequence[Json]) -> Iterator[Json]:
    """The operators of the file, with the stages of a stream in place of the stream."""
    for step in steps:
        if step["kind"] == "operator":
            yield from step.get("stages", (step,))
