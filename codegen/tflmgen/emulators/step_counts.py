"""How often each step of a plan ran, from the counts of those that have code of their own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

Plan = Mapping[str, Any]
Step = Mapping[str, Any]
Blocks = Mapping[tuple[int, int], Sequence[Step]]
"""The steps of each block, in order, by the step around it and 0 or 1: then and else, condition and body."""


def executions(plan: Plan, function: str, counts: Mapping[int, int]) -> dict[int, int]:
    """Step -> how often it ran, for all steps, in one invoke of `function`.

    counts  step -> its runs, for the steps that have code; a while's are those of its test, which it lacks where its
            number of trips is known. A step without code, such as a view, runs as often as the others of its block. A
            branch whose two blocks have no code is empty, and which of them ran is unknown: none, then.
    """
    entries = {s["function"]: s["index"] for s in plan["steps"] if s["kind"] == "entry"}
    blocks = blocks_of(plan["steps"])
    found: dict[int, int] = {}
    calls = Counter({function: 1})
    for name in _callers_first(plan["steps"], entries):
        found[entries[name]] = calls[name]
        _fill(blocks, (entries[name], 0), calls[name], counts, found)
        for step in plan["steps"]:
            if step["kind"] == "call" and step["function"] == name:
                calls[step["callee"]] += found[step["index"]]
    return found


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
    """A then-branch ends with its boundary, a condition with the while itself."""
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


def _fill(blocks: Blocks, block: tuple[int, int], runs: int, counts: Mapping[int, int], found: dict[int, int]) -> None:
    """Set what the steps of a block that ran `runs` times, and those of all blocks in it, ran."""
    for step in blocks[block]:
        index = step["index"]
        found[index] = runs
        if step.get("trips") is not None:
            parts = runs, runs * step["trips"]
        elif step["kind"] == "while":
            found[index] = counts.get(index, runs)
            parts = found[index], found[index] - runs
        elif step["kind"] == "if":
            then, orelse = (_known(blocks[index, number], counts) for number in (0, 1))
            parts = (
                then if then is not None else 0 if orelse is None else runs - orelse,
                orelse if orelse is not None else 0 if then is None else runs - then,
            )
        else:
            continue
        for number in (0, 1):
            _fill(blocks, (index, number), parts[number], counts, found)


def _known(block: Sequence[Step], counts: Mapping[int, int]) -> int | None:
    """How often a block ran, by its first step that tells."""
    return next((counts[s["index"]] for s in block if s["index"] in counts and s["kind"] != "while"), None)
