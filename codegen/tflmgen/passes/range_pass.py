"""Value-range analysis and the rewrites that use it, as one pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tflmgen.ir.graph import Module
from tflmgen.passes.apply_ranges import use_known_values
from tflmgen.passes.dead_channels import ChannelLiveness
from tflmgen.passes.drop_channels import drop_channels
from tflmgen.passes.range_analysis import Ranges, analyze_ranges


@dataclass(frozen=True, slots=True)
class _Analysed:
    """A module, its ranges, the module with constants for known values, and which of its channels are live."""

    module: Module
    ranges: Ranges
    folded: Module
    channels: ChannelLiveness


class SharedAnalysis:
    """The analysis of the module that was asked for first, for passes that drop channels in several multiples."""

    def __init__(self) -> None:
        self._first: _Analysed | None = None

    def of(self, module: Module) -> _Analysed:
        """The analysis of `module`: kept if it is the first one."""
        if self._first is not None and self._first.module is module:
            return self._first
        ranges = analyze_ranges(module)
        folded = use_known_values(module, ranges)
        analysed = _Analysed(module, ranges, folded, ChannelLiveness(folded, ranges))
        self._first = self._first or analysed
        return analysed


def range_pass(multiple: int, shared: SharedAnalysis | None = None) -> Callable[[Module], Module]:
    """The pass that drops dead channels in multiples of `multiple` per tensor where possible; 0: drops none."""

    def use_ranges(module: Module) -> Module:
        """Replaces constant values by constants, then drops constant and dead channels."""
        analysed = (shared or SharedAnalysis()).of(module)
        return (
            drop_channels(analysed.folded, analysed.ranges, analysed.channels, multiple)
            if multiple
            else analysed.folded
        )

    return use_ranges
