"""Memory of every value: coalesced buffers (homes), remaining copies, overlaps, and offsets in the arena.

In: a Schedule, its Liveness and the chosen kernels. Out: Storage and Layout.
Decided here: coalescing and placement.
"""

from tflmgen.memory.homes import Spot
from tflmgen.memory.lower_bounds import packing_bound, peak
from tflmgen.memory.offsets import Layout, lay_out
from tflmgen.memory.overlap import has_multiples, keeps_multiples
from tflmgen.memory.placement import place
from tflmgen.memory.placement_blocks import Block
from tflmgen.memory.storage import JOINS, Storage, assign, copied_in_loops, has_backward, has_pieces

__all__ = [
    "JOINS",
    "Block",
    "Layout",
    "Spot",
    "Storage",
    "assign",
    "copied_in_loops",
    "has_backward",
    "has_multiples",
    "has_pieces",
    "keeps_multiples",
    "lay_out",
    "packing_bound",
    "peak",
    "place",
]
