"""Value-range analysis and the rewrites that use it, as one pass."""

from __future__ import annotations

from collections.abc import Callable

from tflmgen.ir import Module
from tflmgen.passes.apply_ranges import use_known_values
from tflmgen.passes.drop_channels import drop_channels
from tflmgen.passes.range_analysis import analyze_ranges


def range_pass(multiple: int) -> Callable[[Module], Module]:
    """The pass that drops dead channels in multiples of `multiple` per tensor where possible; 0: drops none."""

    def use_ranges(module: Module) -> Module:
        """Replaces constant values by constants, then drops constant and dead channels."""
        ranges = analyze_ranges(module)
        module = use_known_values(module, ranges)
        return drop_channels(module, ranges, multiple) if multiple else module

    return use_ranges
