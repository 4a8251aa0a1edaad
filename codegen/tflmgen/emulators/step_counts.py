"""Execution counts of all steps of a plan, from the counts of the steps with code."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

Plan = Mapping[str, Any]
Step = Mapping[str, Any]
Blocks = Mapping[tuple[int, int], Sequence[Step]]
"""(enclosing step, 0 or 1) -> steps of that block, in order. 0: then or condition; 1: else or body."""


def executions(plan: Plan, function: str, counts: Mapping[int, int]) -> dict[int, int]:
    """Step -> number of executions in one invoke of `function`, for all steps.

    counts  step -> executions, for the steps with code; those of a While are executions of its test, which a counted
            loop lacks

    A step without code, such as a view, runs as often as the other steps of its block. If both blocks of an If have no
    code, it is unknown which one ran, and both count as not executed.
    """
    entries = {s["function"]: s["index"] for s in plan["steps"] if s["kind"] == "entry"}
    blocks = blocks_of(plan["steps"])
    runs: dict[int, int] = {}
    calls = Counter({function: 1})
    for name in _callers_first(plan["steps"], entries):
        runs[entries[name]] = calls[name]
        _fill(blocks, (entries[name], 0), calls[name], counts, runs)
        for step in plan["steps"]:
            if step["kind"] == "call" and step["function"] == name:
                calls[step["callee"]] += runs[step["index"]]
    return runs


def _callers_first(steps: Sequence[Step], entries: Mapping[str, int]) -> list[str]:
    callers = {name: {s["function"] for s in steps if s["kind"] == "call" and s["callee"] == name} for name in entries}
    ordered: list[str] = []
    while callers:
        ready = [name for name, of in callers.items() if of <= set(ordered)]
        ordered += ready
        for name in ready:
            del callers[name]
    return ordered


def blocks_of(steps: Sequence[Step]) -> Blocks:
    """Steps by block. A then-branch ends with its boundary step, a condition with the While step."""
    kinds = {step["index"]: step["kind"] for step in steps}
    then_ends = {step["parent"]: step["index"] for step in steps if step["kind"] == "then"}
    blocks: defaultdict[tuple[int, int], list[Step]] = defaultdict(list)
    for step in steps:
        parent = step["parent"]
        if parent is None:
            continue
        end = then_ends.get(parent, parent) if kinds[parent] == "if" else parent
        number = int(kinds[parent] in ("if", "while") and step["index"] > end)
        blocks[parent, number].append(step)
    return blocks


def _fill(
    blocks: Blocks, block: tuple[int, int], runs: int, counts: Mapping[int, int], executions: dict[int, int]
) -> None:
    """Sets the execution counts of a block that ran `runs` times, and of all blocks in it."""
    for step in blocks[block]:
        index = step["index"]
        executions[index] = runs
        if step.get("trips") is not None:
            parts = runs, runs * step["trips"]
        elif step["kind"] == "while":
            executions[index] = counts.get(index, runs)
            parts = executions[index], executions[index] - runs
        elif step["kind"] == "if":
            then_runs, else_runs = (_known_runs(blocks[index, number], counts) for number in (0, 1))
            parts = (
                then_runs if then_runs is not None else 0 if else_runs is None else runs - else_runs,
                else_runs if else_runs is not None else 0 if then_runs is None else runs - then_runs,
            )
        else:
            continue
        for number in (0, 1):
            _fill(blocks, (index, number), parts[number], counts, executions)


def _known_runs(block: Sequence[Step], counts: Mapping[int, int]) -> int | None:
    """Number of executions of a block, by its first step with a count; None if there is none."""
    return next((counts[s["index"]] for s in block if s["index"] in counts and s["kind"] != "while"), None)
