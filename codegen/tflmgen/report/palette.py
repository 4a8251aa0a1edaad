"""Colours of tensors as CSS classes, by the subgraph of their producer. report.css defines the colours."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tflmgen.report.steps import Json, PlanSteps

COLOURS = 8
"""Colours that the page's style sheet has."""
NEUTRAL = "c-in"
"""Class of inputs, loop variables, and everything outside subgraphs."""


@dataclass(frozen=True)
class Palette:
    """CSS classes by subgraph, in execution order; the COLOURS colours repeat.

    Tensors of one subgraph alternate between two shades, to distinguish neighbours.
    """

    steps: PlanSteps

    @cached_property
    def subgraphs(self) -> list[int]:
        """Executed subgraphs, in order of their first step."""
        steps = (self.steps.by_index[index] for index in sorted(self.steps.by_index))
        return list(dict.fromkeys(s["subgraph"] for s in steps if s.get("subgraph") is not None))

    @cached_property
    def _shade(self) -> dict[int, int]:
        """Step -> number of earlier operators of its subgraph."""
        counts: dict[int, int] = {}
        shades = {}
        for index in sorted(self.steps.by_index):
            step = self.steps.by_index[index]
            if step["kind"] == "operator" and step["variant"] != "view":
                shades[index] = counts.get(step["subgraph"], 0)
                counts[step["subgraph"]] = shades[index] + 1
        return shades

    def of_subgraph(self, index: int | None) -> str:
        """CSS class of a subgraph's tensors; a neutral one for None."""
        return NEUTRAL if index is None else f"c{self.subgraphs.index(index) % COLOURS}"

    def of_step(self, step: Json) -> str:
        """CSS class of the tensors that a step writes."""
        return self.of_subgraph(step.get("subgraph"))

    def of_tensor(self, tensor: Json, first: int) -> str:
        """CSS classes of a tensor whose first step is `first`; tensors that alternate get two shades."""
        if tensor["subgraph"] not in self.subgraphs:
            return NEUTRAL
        odd = self._shade.get(first, 0) % 2
        return self.of_subgraph(tensor["subgraph"]) + (" odd" if odd else "")

    @property
    def legend(self) -> list[tuple[str, str]]:
        """(class, label) of each colour in use."""
        names = self.steps.subgraph_names
        used = [(self.of_subgraph(i), f"{i} {names.get(i, '')}".strip()) for i in self.subgraphs]
        scratch = any(not buffer["tensors"] for buffer in self.steps.plan["buffers"])
        return [*used, (NEUTRAL, "inputs, loop variables"), *([(f"{NEUTRAL} scratch", "scratch")] if scratch else [])]
