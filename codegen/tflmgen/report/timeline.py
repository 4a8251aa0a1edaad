"""Time axis of the arena map: one column per step, and lanes for functions, branches and loops below."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tflmgen.report.steps import BOUNDARIES, TIMES, Json, PlanSteps

UNIT = 15
"""Smallest width of an operator's column in pixels."""

LEAST_WIDTH, LANE_HEIGHT, NAMES_HEIGHT = 520, 22, 130
"""Least width of the picture, height of a buffer's lane and of the operators' names, in pixels."""


@dataclass(frozen=True, slots=True)
class StepColumn:
    """Column of one step; position and width in percent of the map's width."""

    step: Json
    title: str
    x: float
    width: float
    bytes: int

    @property
    def centre(self) -> float:
        """Middle of the column, in percent of the map's width."""
        return self.x + self.width / 2

    @property
    def end(self) -> float:
        """Right edge of the column, in percent of the map's width."""
        return self.x + self.width


@dataclass(frozen=True, slots=True)
class Lane:
    """Bar of a function, branch or loop over its columns; `depth` is 0 for the outermost."""

    kind: Literal["function", "then", "else", "condition", "body"]
    title: str
    x: float
    width: float
    depth: int


@dataclass(frozen=True)
class Timeline:
    """Columns of a plan's steps, in the plan's order; `occupied`: live bytes of the arena per step."""

    steps: PlanSteps
    occupied: list[int]

    @cached_property
    def _weights(self) -> list[float]:
        return [self._weight(self.steps.by_index[i]) for i in range(len(self.steps.by_index))]

    @property
    def least_width(self) -> int:
        """Width in pixels below which the map scrolls instead of shrinking."""
        return max(LEAST_WIDTH, round(sum(self._weights) * UNIT))

    @cached_property
    def columns(self) -> list[StepColumn]:
        """A column for each step, as wide as the step's weight."""
        total = sum(self._weights)
        columns, x = [], 0.0
        for index, weight in enumerate(self._weights):
            step, width = self.steps.by_index[index], 100 * weight / total
            columns.append(StepColumn(step, self.steps.title(index), x, width, self.occupied[index]))
            x += width
        return columns

    @cached_property
    def lanes(self) -> list[Lane]:
        """Frames of functions, branches and loops below the map, outer ones before what they hold."""
        lanes: list[Lane] = []
        for entry in self.steps.by_index.values():
            if entry["kind"] == "entry":
                last = max(self.steps.inside(entry["index"]))
                lanes.append(self._lane("function", entry["function"], entry["index"], last, 0))
                lanes += self._inner(entry["index"], 1)
        return lanes

    @property
    def depth(self) -> int:
        """Number of nested lanes."""
        return 1 + max((lane.depth for lane in self.lanes), default=0)

    def span(self, first: int, last: int) -> tuple[float, float]:
        """Position and total width of the columns of steps `first` to `last`, in percent."""
        return self.columns[first].x, self.columns[last].end - self.columns[first].x

    def _inner(self, parent: int, depth: int) -> Iterator[Lane]:
        for index in self.steps.children.get(parent, ()):
            step = self.steps.by_index[index]
            if step["kind"] == "if":
                for kind, part in zip(("then", "else"), self.steps.parts(index), strict=True):
                    first, last = self._reach(part)
                    yield self._lane("then" if kind == "then" else "else", kind, first, last, depth)
                yield from self._inner(index, depth + 1)
            elif step["kind"] == "while":
                condition, body = self.steps.parts(index)
                if condition:
                    yield self._lane("condition", "while", self._reach(condition)[0], index, depth)
                first, last = self._reach(body)
                yield self._lane("body", self._turns(step), first, last, depth)
                yield from self._inner(index, depth + 1)

    def _reach(self, part: list[int]) -> tuple[int, int]:
        all_steps = [i for step in part for i in (step, *self.steps.inside(step))]
        return min(all_steps), max(all_steps)

    def _turns(self, step: Json) -> str:
        return "body" if step["trips"] is None else f"{step['trips']} {TIMES}"

    def _lane(
        self, kind: Literal["function", "then", "else", "condition", "body"], title: str, first: int, last: int, d: int
    ) -> Lane:
        return Lane(kind, title, *self.span(first, last), d)

    def _weight(self, step: Json) -> float:
        if step["kind"] in BOUNDARIES:
            return 0.6 if self.steps.moved.get(step["index"]) else 0.25
        return 0.6 if step.get("variant") == "view" or step["kind"] != "operator" else 1.0
