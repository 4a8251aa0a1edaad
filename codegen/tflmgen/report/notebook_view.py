"""The plan in a notebook's cell: sizes, the map of the arena, and the operators, without scripts."""

from __future__ import annotations

from tflmgen.backend import render
from tflmgen.hardware import Board
from tflmgen.project import state_bytes
from tflmgen.report.arena_map import arena_map
from tflmgen.report.occupancy import Occupancy
from tflmgen.report.palette import COLOURS, Palette
from tflmgen.report.steps import Plan, PlanSteps
from tflmgen.report.timeline import Timeline

HUES = tuple(f"hsl({360 * number // COLOURS}, 55%, 62%)" for number in range(COLOURS))
"""Fill colours by number of the palette's class: cells have no style sheet of their own."""

NEUTRAL_FILL = "hsl(0, 0%, 70%)"
OPERATORS_SHOWN = 40
"""Rows of the table; the report and to_dataframe() have all."""


def notebook_html(plan: Plan, board: Board) -> str:
    """HTML of a plan (schema/plan.json) for a cell of a notebook."""
    steps, occupancy = PlanSteps(plan), Occupancy(plan)
    blocks = []
    if plan["arena"]["bytes"]:
        drawn = arena_map(steps, occupancy, Timeline(steps, occupancy.bytes), Palette(steps))
        blocks = [(block, _fill(block.style)) for block in drawn.blocks]
    operators = [step for step in plan["steps"] if step["kind"] == "operator"]
    return render(
        "report/notebook.html.j2",
        plan=plan,
        board=board,
        state=state_bytes(plan),
        blocks=blocks,
        operators=operators[:OPERATORS_SHOWN],
        more=len(operators) - OPERATORS_SHOWN,
    )


def _fill(style: str) -> str:
    """Colour of a class of the palette, such as `c3 odd`."""
    number = style.split()[0].removeprefix("c")
    return HUES[int(number)] if number.isdecimal() else NEUTRAL_FILL
