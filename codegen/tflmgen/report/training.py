"""The backward pass of a training step: values of the forward pass that it keeps, and those that it computes again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tflmgen.gradients import REQUIRE
from tflmgen.report.steps import Plan, PlanSteps, shape

STEP = "train"
"""Key of the signature that is a training step."""


@dataclass(frozen=True, slots=True)
class ForwardValue:
    """A value of the forward pass that the backward pass reads. In loops it is the rows of all iterations.

    first  step that computes it; of one that is computed again, the step that does it
    last   step that reads it last
    """

    name: str
    type: str
    bytes: int
    first: int
    last: int
    title: str


def backward_pass(plan: Plan, steps: PlanSteps) -> dict[str, object]:
    """Variables of the report's template: values that are kept, and that are computed again; none in other models.

    The step in which the loss is known to be good lies between the passes.
    """
    function = next((entry["function"] for entry in plan["signatures"] if entry["key"] == STEP), None)
    own = [step["index"] for step in plan["steps"] if step["function"] == function]
    border = next((k for k in own if steps.by_index[k].get("name") == REQUIRE), None)
    if border is None:
        return {"kept_values": [], "values_again": [], "border": None}
    values = list(_values(plan, steps, set(own)))
    forward = [value for value in values if value.first < border]
    kept = [value for value in forward if value.last > border]
    outer = steps.by_index[border]["parent"]
    again = [value for value in values if value.first > border and _is_again(value, forward, steps, outer)]
    ordered = [sorted(part, key=lambda value: (-value.bytes, value.first)) for part in (kept, again)]
    return {"kept_values": ordered[0], "values_again": ordered[1], "border": border}


def _is_again(value: ForwardValue, forward: Sequence[ForwardValue], steps: PlanSteps, outer: int) -> bool:
    """Whether an operator outside of loops computes it as one of the forward pass did, or a loop in a loop stores it
    for a segment, of which the forward pass stores other rows."""
    step = steps.by_index[value.first]
    if step["parent"] != outer:
        return step["kind"] == "while" and any(known.name == value.name for known in forward)
    same = (value.name, value.type, value.title)
    return step["kind"] == "operator" and any(same == (known.name, known.type, known.title) for known in forward)


def _values(plan: Plan, steps: PlanSteps, own: set[int]) -> Iterator[ForwardValue]:
    """Values in the arena that live in a function alone."""
    for buffer in plan["buffers"]:
        for tensor in buffer["tensors"] if buffer["memory"] == "arena" else ():
            first, last = _reach(tensor)
            if {first, last} <= own:
                kind, title = shape(tensor["type"]), steps.title(first)
                yield ForwardValue(steps.short(tensor["name"], 60), kind, tensor["bytes"], first, last, title)


def _reach(tensor: Mapping[str, Any]) -> tuple[int, int]:
    """First and last step at which a tensor lives."""
    return min(begin for begin, _ in tensor["ranges"]), max(end for _, end in tensor["ranges"])
