"""The fixed execution plan: a tree of numbered steps, and the live range of each value.

In: a Module whose nodes are ordered. Out: a Schedule and its Liveness.
Decided here: step numbers; the order itself is explored in tflmgen.explore.
"""

from tflmgen.schedule.liveness import Liveness, analyze, runs
from tflmgen.schedule.tree import (
    Boundary,
    CallStep,
    IfStep,
    Schedule,
    ScheduledFunction,
    ScheduleItem,
    Sequence,
    Step,
    WhileStep,
    boundaries,
    schedule,
    walk_items,
)

__all__ = [
    "Boundary",
    "CallStep",
    "IfStep",
    "Liveness",
    "Schedule",
    "ScheduleItem",
    "ScheduledFunction",
    "Sequence",
    "Step",
    "WhileStep",
    "analyze",
    "boundaries",
    "runs",
    "schedule",
    "walk_items",
]
