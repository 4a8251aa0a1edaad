"""Rewrites of the graph that keep what it computes: one pass a file, in the order of PIPELINE.

In: a Module. Out: a Module that computes the same with less.
Decided here: fusion, constant folding, dead code and dead channels, positions of control flow and views.
"""

from tflmgen.passes.analysed import SharedAnalysis
from tflmgen.passes.loop_limits import LoopLimits, check_names, limits_by_loop, parse_limits
from tflmgen.passes.macs import macs_by_operator, macs_of
from tflmgen.passes.pipeline import narrowed_by_ranges, run_passes, without_ranges
from tflmgen.passes.range_analysis import claims_of_ranges

__all__ = [
    "LoopLimits",
    "SharedAnalysis",
    "check_names",
    "claims_of_ranges",
    "limits_by_loop",
    "macs_by_operator",
    "macs_of",
    "narrowed_by_ranges",
    "parse_limits",
    "run_passes",
    "without_ranges",
]
