"""The fixed execution plan and the memory of every value: numbered steps, live ranges, homes, and offsets in the arena.

In: a Module whose nodes are ordered, and the chosen kernels. Out: Schedule, Liveness, Storage and Layout.
Decided here: step numbers, coalescing, remaining copies, and placement; the order itself is explored in explore/.
"""

from tflmgen.memory.first_fit import PlacedBlock
from tflmgen.memory.homes import Spot
from tflmgen.memory.liveness import Liveness, analyze, runs
from tflmgen.memory.lower_bounds import packing_bound, peak
from tflmgen.memory.overlap import has_multiples, keeps_multiples
from tflmgen.memory.placement import Layout, lay_out, place
from tflmgen.memory.schedule_tree import (
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
from tflmgen.memory.storage import JOINS, Storage, assign, copied_in_loops, has_backward, has_pieces

__all__ = [
    "JOINS",
    "Boundary",
    "CallStep",
    "IfStep",
    "Layout",
    "Liveness",
    "PlacedBlock",
    "Schedule",
    "ScheduleItem",
    "ScheduledFunction",
    "Sequence",
    "Spot",
    "Step",
    "Storage",
    "WhileStep",
    "analyze",
    "assign",
    "boundaries",
    "copied_in_loops",
    "has_backward",
    "has_multiples",
    "has_pieces",
    "keeps_multiples",
    "lay_out",
    "packing_bound",
    "peak",
    "place",
    "runs",
    "schedule",
    "walk_items",
]
