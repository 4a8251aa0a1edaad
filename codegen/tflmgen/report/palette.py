"""Which colour a tensor has: that of the subgraph whose operator makes it. report.css has the colours themselves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tflmgen.report.steps import Json, Steps

COLOURS = 8
NEUTRAL = "c-in"
"""Inputs, loop variables, and what belongs to no subgraph."""


@dataclass(frozen=True)
class Palette:
    """CSS classes by subgraph, in the order in which the subgraphs run; after the eighth colour the first comes again.

    Tensors of one subgraph alternate between two shades, so that neighbours can be told apart.
    """

    steps: Steps

    @cached_property
    def subgraphs(self) -> list[int]:
        """The subgraphs of which something runs, in order of their first step."""
        steps = (self.steps.by_index[index] for index in sorted(self.steps.by_index))
        return list(dict.fromkeys(s["subgraph"] for s in steps if s.get("subgraph") is not None))

    @cached_property
    def _shade(self) -> dict[int, int]:
        """Step -> how many operators of its subgraph run before it."""
        seen: dict[int, int] = {}
        found = {}
        for index in sorted(self.steps.by_index):
            step = self.steps.by_index[index]
            if step["kind"] == "operator" and step["variant"] != "view":
                found[index] = seen.get(step["subgraph"], 0)
                seen[step["subgraph"]] = found[index] + 1
        return found

    def of_subgraph(self, index: int | None) -> str:
        return NEUTRAL if index is None else f"c{self.subgraphs.index(index) % COLOURS}"

    def of_step(self, step: Json) -> str:
        return self.of_subgraph(step.get("subgraph"))

    def of_tensor(self, tensor: Json, first: int) -> str:
        if tensor["subgraph"] not in self.subgraphs:
            return NEUTRAL
        odd = self._shade.get(first, 0) % 2
        return self.of_subgraph(tensor["subgraph"]) + (" odd" if odd else "")

    @property
    def legend(self) -> list[tuple[str, str]]:
        """(class, words) of each colour in use."""
        names = self.steps.subgraph_names
        shown = [(self.of_subgraph(i), f"{i} {names.get(i, '')}".strip()) for i in self.subgraphs]
        scratch = any(not buffer["tensors"] for buffer in self.steps.plan["buffers"])
        return [*shown, (NEUTRAL, "inputs, loop variables"), *([(f"{NEUTRAL} scratch", "scratch")] if scratch else [])]
