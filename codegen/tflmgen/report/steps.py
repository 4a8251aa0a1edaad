"""The plan's steps as a tree, and short names of tensors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Plan = Mapping[str, Any]
Json = Mapping[str, Any]

TIMES = "\N{MULTIPLICATION SIGN}"

BOUNDARIES = frozenset({"entry", "exit", "load", "store", "then", "else", "init", "next", "arguments", "results"})


@dataclass(frozen=True)
class PlanSteps:
    """Steps of a plan by index, and their nesting."""

    plan: Plan

    @cached_property
    def by_index(self) -> dict[int, Json]:
        """Entries of plan.json's steps by their index."""
        return {step["index"]: step for step in self.plan["steps"]}

    @cached_property
    def children(self) -> dict[int, list[int]]:
        """Step -> the steps directly inside it, in order."""
        children: dict[int, list[int]] = {}
        for index in sorted(self.by_index):
            parent = self.by_index[index]["parent"]
            if parent is not None:
                children.setdefault(parent, []).append(index)
        return children

    @cached_property
    def moved(self) -> dict[int, int]:
        """Step -> bytes that it copies."""
        bytes_by_step: dict[int, int] = {}
        for copy in self.plan["copies"]:
            bytes_by_step[copy["step"]] = bytes_by_step.get(copy["step"], 0) + copy["bytes"]
        return bytes_by_step

    @cached_property
    def names(self) -> dict[str, str]:
        """Full name of a tensor or buffer -> its shortest distinguishing ending."""
        full = [b["name"] for b in self.plan["buffers"]]
        full += [t["name"] for b in self.plan["buffers"] for t in b["tensors"]]
        full += [p["name"] for s in self.plan["signatures"] for p in (*s["inputs"], *s["outputs"])]
        return telling_ends(full)

    @cached_property
    def tensors_by_step(self) -> dict[int, list[str]]:
        """Operator's step -> names of its output tensors in memory."""
        tensors: dict[int, list[str]] = {}
        for buffer in self.plan["buffers"]:
            for tensor in buffer["tensors"]:
                for first, _ in tensor["ranges"][:1]:
                    if self.by_index[first]["kind"] == "operator":
                        tensors.setdefault(first, []).append(tensor["name"])
        return tensors

    def short(self, name: str, max_letters: int = 36) -> str:
        """Distinguishing ending of a tensor's name, shortened to `max_letters`."""
        text = self.names.get(name, name)
        return text if len(text) <= max_letters else f"…{text[len(text) - max_letters + 1 :]}"

    @cached_property
    def subgraph_names(self) -> dict[int, str]:
        """Names of subgraphs by index; the index where a subgraph has no name."""
        return {graph["index"]: graph["name"] or str(graph["index"]) for graph in self.plan["subgraphs"]}

    @property
    def entries(self) -> list[Json]:
        """First step of each function, those of signatures first."""
        entered = [signature["function"] for signature in self.plan["signatures"]]
        entries = [step for step in self.by_index.values() if step["kind"] == "entry"]
        return sorted(entries, key=lambda s: (s["function"] not in entered, s["index"]))

    def parts(self, index: int) -> tuple[list[int], list[int]]:
        """Steps directly inside an If (then, else) or a While (condition, body), boundaries included."""
        inside = self.children.get(index, [])
        if self.by_index[index]["kind"] == "while":
            return [i for i in inside if i < index], [i for i in inside if i > index]
        turn = next(i for i in inside if self.by_index[i]["kind"] == "then")
        return [i for i in inside if i <= turn], [i for i in inside if i > turn]

    def inside(self, index: int) -> Iterator[int]:
        """Every step inside a step, at any depth."""
        for child in self.children.get(index, ()):
            yield child
            yield from self.inside(child)

    def times(self, index: int) -> int:
        """Executions of a step per call of its function, if all branches run and loops of unknown length run once."""
        step, times = self.by_index[index], 1
        while step["parent"] is not None:
            step = self.by_index[step["parent"]]
            trips = step.get("trips")
            times *= 1 if trips is None else trips
        return times

    def title(self, index: int) -> str:
        """Short description of a step."""
        step = self.by_index[index]
        kind = step["kind"]
        if kind == "operator":
            return f"{step['name']} of {len(step['stages'])}" if "stages" in step else str(step["name"])
        if kind == "while":
            return "while" if step["trips"] is None else f"while, {step['trips']} times"
        if kind == "call":
            return f"call {step['callee']}"
        return WORDS.get(kind, kind)


WORDS: Mapping[str, str] = {
    "entry": "inputs",
    "exit": "outputs",
    "load": "variables read",
    "store": "variables kept",
    "then": "end of then",
    "else": "end of else",
    "init": "loop variables set",
    "next": "next iteration",
    "arguments": "arguments",
    "results": "results",
}


def telling_ends(names: Iterable[str]) -> dict[str, str]:
    """Converters' tensor names -> their shortest ending, in whole parts, that no other name has.

    model/act_1/Relu;model/conv/BiasAdd becomes act_1/Relu if there is another Relu, else Relu; the full name if no
    ending is unique.
    """
    paths = {name: [p for p in name.split(";")[0].removesuffix(":0").split("/") if p] or [name] for name in names}
    shared = Counter(tuple(path[-number:]) for path in paths.values() for number in range(1, len(path) + 1))
    whole = Counter(map(tuple, paths.values()))
    endings = {}
    for name, path in paths.items():
        number = 1
        while number < len(path) and shared[tuple(path[-number:])] > 1:
            number += 1
        endings[name] = name if whole[tuple(path)] > 1 else "/".join(path[-number:])
    return endings


def fitting(text: str, max_letters: int) -> str:
    """The text shortened to `max_letters` with an ellipsis."""
    return text if len(text) <= max_letters else f"{text[: max(0, max_letters - 1)]}…"


def shapes(types: Sequence[str]) -> str:
    """Types of several outputs; equal ones once, with their count."""
    counts = [(shape(text), list(types).count(text)) for text in dict.fromkeys(types)]
    return ", ".join(text if number == 1 else f"{number} of {text}" for text, number in counts)


def shape(text: str) -> str:
    """A type with its dimensions as a product: int8[1,25] is int8 1 by 25."""
    dtype, _, dims = text.partition("[")
    return f"{dtype} {dims.rstrip(']').replace(',', TIMES)}".strip()
