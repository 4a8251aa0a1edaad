"""Rewrites of the graph that keep what it computes: passes, in the order of PIPELINE.

In: a Module. Out: a Module that computes the same with less.
Decided here: fusion, constant folding, dead code and dead channels, positions of control flow and views;
which rows of sliding windows are kept (sliding/).
"""

from tflmgen.passes.channel_groups import split_channels
from tflmgen.passes.fold import folding_compactly
from tflmgen.passes.loop_limits import LoopLimits, check_names, limits_by_loop, parse_limits
from tflmgen.passes.macs import least_weights, macs_by_operator
from tflmgen.passes.pipeline import narrowed_by_ranges, run_passes, without_ranges
from tflmgen.passes.range_analysis import claims_of_ranges
from tflmgen.passes.range_pass import SharedAnalysis
from tflmgen.passes.sliding import WindowRequest, parse_slides, slide_inputs, slide_stages, slide_trade_offs

__all__ = [
    "LoopLimits",
    "SharedAnalysis",
    "WindowRequest",
    "check_names",
    "claims_of_ranges",
    "folding_compactly",
    "least_weights",
    "limits_by_loop",
    "macs_by_operator",
    "narrowed_by_ranges",
    "parse_limits",
    "parse_slides",
    "run_passes",
    "slide_inputs",
    "slide_stages",
    "slide_trade_offs",
    "split_channels",
    "without_ranges",
]
