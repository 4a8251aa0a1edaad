"""The plan's steps as a tree, and the names by which the report calls them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Plan = Mapping[str, Any]
Json = Mapping[str, Any]

TIMES = "\N{MULTIPLICATION SIGN}"

BOUNDARIES = frozenset({"entry", "exit", "load", "store", "then", "else", "init", "next", "arguments", "results"})


@dataclass(frozen=True)
class Steps:
    """The steps of a plan by index, and which stand in which."""

    plan: Plan

    @cached_property
    def by_index(self) -> dict[int, Json]:
        return {step["index"]: step for step in self.plan["steps"]}

    @cached_property
    def children(self) -> dict[int, list[int]]:
        """Step -> the steps directly inside it, in order."""
        found: dict[int, list[int]] = {}
        for index in sorted(self.by_index):
            parent = self.by_index[index]["parent"]
            if parent is not None:
                found.setdefault(parent, []).append(index)
        return found

    @cached_property
    def moved(self) -> dict[int, int]:
        """Step -> bytes copied there."""
        found: dict[int, int] = {}
        for copy in self.plan["copies"]:
            found[copy["step"]] = found.get(copy["step"], 0) + copy["bytes"]
        return found

    @cached_property
    def subgraph_names(self) -> dict[int, str]:
        return {graph["index"]: graph["name"] or str(graph["index"]) for graph in self.plan["subgraphs"]}

    @property
    def entries(self) -> list[Json]:
        """The first step of each function; those that signatures enter come first."""
        entered = [signature["function"] for signature in self.plan["signatures"]]
        found = [step for step in self.by_index.values() if step["kind"] == "entry"]
        return sorted(found, key=lambda s: (s["function"] not in entered, s["index"]))

    def parts(self, index: int) -> tuple[list[int], list[int]]:
        """What stands directly in an If (its branches) or a While (its condition, its body), boundaries included."""
        inside = self.children.get(index, [])
        if self.by_index[index]["kind"] == "while":
            return [i for i in inside if i < index], [i for i in inside if i > index]
        turn = next(i for i in inside if self.by_index[i]["kind"] == "then")
        return [i for i in inside if i <= turn], [i for i in inside if i > turn]

    def inside(self, index: int) -> Iterator[int]:
        """Every step inside a step, however deep."""
        for child in self.children.get(index, ()):
            yield child
            yield from self.inside(child)

    def times(self, index: int) -> int:
        """How often a step runs in one call of its function, if every branch does and loops of unknown length once."""
        step, found = self.by_index[index], 1
        while step["parent"] is not None:
            step = self.by_index[step["parent"]]
            trips = step.get("trips")
            found *= 1 if trips is None else trips
        return found

    def title(self, index: int) -> str:
        """What runs at a step, in a few words."""
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


def short(name: str, most: int = 36) -> str:
    """The telling end of a converter's tensor name."""
    last = name.split(";")[0].rstrip("/").split("/")[-1].removesuffix(":0") or name
    return fitting(last, most)


def fitting(text: str, most: int) -> str:
    """At most so many letters; an ellipsis stands for what is left out."""
    return text if len(text) <= most else f"{text[: max(0, most - 1)]}…"


def shapes(types: Sequence[str]) -> str:
    """The types of several outputs; equal ones once, with their number."""
    found = [(shape(text), list(types).count(text)) for text in dict.fromkeys(types)]
    return ", ".join(text if number == 1 else f"{number} of {text}" for text, number in found)


def shape(text: str) -> str:
    """A type with its dimensions as a product: int8[1,25] is int8 1 by 25."""
    dtype, _, dims = text.partition("[")
    return f"{dtype} {dims.rstrip(']').replace(',', TIMES)}".strip()
