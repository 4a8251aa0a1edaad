"""Range analysis and what uses it, as one pass."""

from __future__ import annotations

from collections.abc import Callable

from tflmgen.ir import Module
from tflmgen.passes.apply_ranges import use_known_values
from tflmgen.passes.drop_channels import drop_channels
from tflmgen.passes.range_analysis import analyze_ranges


def range_pass(multiple: int) -> Callable[[Module], Module]:
    """The pass that keeps tensors of which it drops channels at a multiple of so many, where it can; 0: drops none."""

    def use_ranges(module: Module) -> Module:
        """Replaces what is known by constants, then drops the channels that are known or needless."""
        ranges = analyze_ranges(module)
        module = use_known_values(module, ranges)
        return drop_channels(module, ranges, multiple) if multiple else module

    return use_ranges
