"""The plan's steps as a tree, and the names by which the report calls them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    def names(self) -> dict[str, str]:
        """Tensor and buffer names as the file has them -> the telling ends by which they can be told apart."""
        full = [b["name"] for b in self.plan["buffers"]]
        full += [t["name"] for b in self.plan["buffers"] for t in b["tensors"]]
        full += [p["name"] for s in self.plan["signatures"] for p in (*s["inputs"], *s["outputs"])]
        return telling_ends(full)

    @cached_property
    def made(self) -> dict[int, list[str]]:
        """Operator's step -> the tensors that it makes, as far as they are in memory."""
        found: dict[int, list[str]] = {}
        for buffer in self.plan["buffers"]:
            for tensor in buffer["tensors"]:
                for first, _ in tensor["ranges"][:1]:
                    if self.by_index[first]["kind"] == "operator":
                        found.setdefault(first, []).append(tensor["name"])
        return found

    def short(self, name: str, most: int = 36) -> str:
        """The telling end of a tensor's name, of at most so many letters."""
        text = self.names.get(name, name)
        return text if len(text) <= most else f"…{text[len(text) - most + 1 :]}"

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


def telling_ends(names: Iterable[str]) -> dict[str, str]:
    """Converters' tensor names -> as many of their last parts as no other of the names ends with.

    model/act_1/Relu;model/conv/BiasAdd is act_1/Relu where there is another Relu, else Relu; as it is where that is not
    enough.
    """
    paths = {name: [p for p in name.split(";")[0].removesuffix(":0").split("/") if p] or [name] for name in names}
    found = {}
    for name, path in paths.items():
        others = [other for full, other in paths.items() if full != name]
        number = 1
        while number < len(path) and any(other[-number:] == path[-number:] for other in others):
            number += 1
        found[name] = name if path in others else "/".join(path[-number:])
    return found


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
