"""How often each step of a plan ran, from the traces that the compiler has left of them.

All steps of one block of the plan's tree run equally often; of a branch's two blocks one runs each time; a loop's
condition runs once more per loop than its body. Optimisation moves, merges and copies code, so any single trace may be
missing or wrong: a block takes the count that most of its traces agree on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Plan = Mapping[str, Any]
Step = Mapping[str, Any]
Blocks = Mapping[tuple[int, int], Sequence[Step]]
"""The steps of each block, in order, by the step around it and 0 or 1: then and else, condition and body."""

MARK_WEIGHT, ENTRY_WEIGHT = 2, 1


@dataclass(frozen=True, slots=True)
class Traces:
    """`marks`: executions of the beginning of a step, of those steps whose beginning is known.

    `moves`: how often control passed from one step's instructions to another's. `coded`: steps that have instructions.
    """

    marks: Mapping[int, int]
    moves: Mapping[tuple[int, int], int]
    coded: Collection[int]


def executions(plan: Plan, function: str, traces: Traces) -> dict[int, int]:
    """Step -> how often it ran, for all steps, in one invoke of `function`."""
    entries = {s["function"]: s["index"] for s in plan["steps"] if s["kind"] == "entry"}
    solver = _Solver(plan["steps"], traces)
    calls = Counter({function: 1})
    for name in _callers_first(plan["steps"], entries):
        solver.found[entries[name]] = calls[name]
        solver.fill((entries[name], 0), calls[name])
        for step in plan["steps"]:
            if step["kind"] == "call" and step["function"] == name:
                calls[step["callee"]] += solver.found[step["index"]]
    return solver.found


def _callers_first(steps: Sequence[Step], entries: Mapping[str, int]) -> list[str]:
    callers = {name: {s["function"] for s in steps if s["kind"] == "call" and s["callee"] == name} for name in entries}
    ordered: list[str] = []
    while callers:
        ready = [name for name, of in callers.items() if of <= set(ordered)]
        ordered += ready
        for name in ready:
            del callers[name]
    return ordered


class _Solver:
    def __init__(self, steps: Sequence[Step], traces: Traces) -> None:
        self.found: dict[int, int] = {}
        self._blocks = _blocks(steps)
        self._functions: defaultdict[str, set[int]] = defaultdict(set)
        for step in steps:
            self._functions[step["function"]].add(step["index"])
        self._traces = traces

    def fill(self, block: tuple[int, int], runs: int) -> None:
        """Set what the steps of a block that ran `runs` times, and those of all blocks in it, ran."""
        for step in self._blocks[block]:
            index = step["index"]
            self.found[index] = runs
            if step["kind"] not in ("if", "while"):
                continue
            first, second = (index, 0), (index, 1)
            one, two = self._votes(first), self._votes(second)
            if step["kind"] == "if":
                choices = {n for n in {*one, *(runs - n for n in two)} if 0 <= n <= runs}
                then = _most_votes({n: one[n] + two[runs - n] for n in choices}, default=0)
                parts = then, runs - then
            else:
                if index in self._traces.marks:
                    one[self._traces.marks[index]] += MARK_WEIGHT
                choices = {n for n in {*one, *(n + runs for n in two)} if n >= runs}
                tests = _most_votes({n: one[n] + two[n - runs] for n in choices}, default=runs)
                self.found[index] = tests
                parts = tests, tests - runs
            self.fill(first, parts[0])
            self.fill(second, parts[1])

    def _votes(self, block: tuple[int, int]) -> Counter[int]:
        """How often a block ran, by its steps' marks and by how often control came in from elsewhere."""
        votes: Counter[int] = Counter()
        for step in self._blocks[block]:
            # A while's own mark is that of its test, which belongs to its condition.
            if step["index"] in self._traces.marks and step["kind"] != "while":
                votes[self._traces.marks[step["index"]]] += MARK_WEIGHT
        inside = set(self._inside(block))
        if inside & set(self._traces.coded):
            called = {i for name in self._called(block) for i in self._functions[name]}
            moves = self._traces.moves.items()
            entered = sum(n for (a, b), n in moves if b in inside and a not in inside and a not in called)
            votes[entered] += ENTRY_WEIGHT
        return votes

    def _inside(self, block: tuple[int, int]) -> Iterator[int]:
        for step in self._blocks[block]:
            yield step["index"]
            for number in (0, 1):
                yield from self._inside((step["index"], number))

    def _called(self, block: tuple[int, int]) -> set[str]:
        """The functions called in a block, and by those in turn."""
        inside = set(self._inside(block))
        names: set[str] = set()
        while True:
            steps = (s for of in self._blocks.values() for s in of if s["kind"] == "call")
            more = {s["callee"] for s in steps if s["index"] in inside or s["function"] in names}
            if more <= names:
                return names
            names |= more


def _blocks(steps: Sequence[Step]) -> Blocks:
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


def _most_votes(votes: Mapping[int, int], default: int) -> int:
    """Of equal ones the smallest: what follows a lost mark may belong to an inner loop, not to something rarer."""
    return min(votes, key=lambda n: (-votes[n], n), default=default)
