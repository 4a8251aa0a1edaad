"""Sliding windows: a model of whole windows becomes one that takes new rows and keeps what windows share.

In: a Module after the passes, and which inputs slide. Out: a Module that takes a hop of rows.
Decided here: which rows of each tensor are reused, which are computed, and what is kept in the state.
"""

from tflmgen.passes.sliding.slid_module import slide_inputs, slide_trade_offs
from tflmgen.passes.sliding.stage_hops import slide_stages
from tflmgen.passes.sliding.window_request import WindowRequest, parse_slides

__all__ = ["WindowRequest", "parse_slides", "slide_inputs", "slide_stages", "slide_trade_offs"]
