"""How often each step of a plan ran, from the counts of those steps whose beginning the compiler has kept a mark of.

All steps of one block of the plan's tree run equally often, and a loop's condition runs once more per loop than its
body. Marks can be wrong by what the compiler moved or merged, so a block takes the count that most of its steps have.
"""

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

    counts  step -> executions of its marks; steps without marks are missing
    """
    blocks = _blocks(plan["steps"])
    entries = {s["function"]: s["index"] for s in plan["steps"] if s["kind"] == "entry"}
    found: dict[int, int] = {}
    calls = Counter({function: 1})
    for name in _callers_first(plan["steps"], entries):
        found[entries[name]] = calls[name]
        _fill(blocks, blocks[entries[name], 0], calls[name], counts, found)
        for step in plan["steps"]:
            if step["kind"] == "call" and step["function"] == name:
                calls[step["callee"]] += found[step["index"]]
    return found


def _blocks(steps: Sequence[Step]) -> Blocks:
    """A then-branch ends with its boundary, a condition with the while itself."""
    kinds = {step["index"]: step["kind"] for step in steps}
    then_ends = {step["parent"]: step["index"] for step in reversed(steps) if step["kind"] == "then"}
    blocks: defaultdict[tuple[int, int], list[Step]] = defaultdict(list)
    for step in steps:
        parent = step["parent"]
        if parent is None:
            continue
        end = then_ends.get(parent, parent) if kinds[parent] == "if" else parent
        number = int(kinds[parent] in ("if", "while") and step["index"] > end)
        blocks[parent, number].append(step)
    return blocks


def _callers_first(steps: Sequence[Step], entries: Mapping[str, int]) -> list[str]:
    callers = {name: {s["function"] for s in steps if s["kind"] == "call" and s["callee"] == name} for name in entries}
    ordered: list[str] = []
    while callers:
        ready = [name for name, of in callers.items() if of <= set(ordered)]
        ordered += ready
        for name in ready:
            del callers[name]
    return ordered


def _fill(blocks: Blocks, steps: Sequence[Step], runs: int, counts: Mapping[int, int], found: dict[int, int]) -> None:
    """Set what the steps of a block that ran `runs` times, and those of all blocks in it, ran."""
    for step in steps:
        index = step["index"]
        found[index] = runs
        if step["kind"] not in ("if", "while"):
            continue
        first, second = blocks[index, 0], blocks[index, 1]
        one, two = _votes(first, counts), _votes(second, counts)
        if step["kind"] == "if":
            then = _most_votes({n: one[n] + two[runs - n] for n in {*one, *(runs - n for n in two)} if 0 <= n <= runs})
            parts = then, runs - then
        else:
            one.update([counts[index]] if index in counts else [])
            tests = {*one, *(n + runs for n in two)}
            found[index] = max(runs, _most_votes({n: one[n] + two[n - runs] for n in tests if n >= runs}))
            parts = found[index], found[index] - runs
        _fill(blocks, first, parts[0], counts, found)
        _fill(blocks, second, parts[1], counts, found)


def _votes(steps: Sequence[Step], counts: Mapping[int, int]) -> Counter[int]:
    """How many steps of a block have each count; a while's own is that of its test, which belongs to its condition."""
    return Counter(counts[step["index"]] for step in steps if step["index"] in counts and step["kind"] != "while")


def _most_votes(votes: Mapping[int, int]) -> int:
    """Of equal ones the smallest: what follows a lost mark may belong to an inner loop, not to something rarer."""
    return min(votes, key=lambda n: (-votes[n], n), default=0)
