"""Cycle models of the counting plugin (firmware/count/cost_*.c), by core."""

from __future__ import annotations

from dataclasses import dataclass

from tflmgen.emulators.invoke_cost import Cycles


@dataclass(frozen=True, slots=True)
class CycleModel:
    """A cycle model; `name` is the plugin's name for it.

    low, high  descriptions of the ends of the model's range; empty if it gives a single figure
    uses_low   whether the low end is the figure to print
    """

    name: str
    low: str = ""
    high: str = ""
    uses_low: bool = False

    def figure(self, cycles: Cycles) -> int:
        """The bound that stands for the range where one number is shown, in cycles."""
        return cycles.low if self.uses_low else cycles.high

    def explain(self, cycles: Cycles) -> str:
        """Description of the range; empty if the model gives a single figure."""
        return f"{cycles.low:,} {self.low} to {cycles.high:,} {self.high}" if self.low else ""


_MULTIPLIER = "with a single-cycle multiplier", "with a 32-cycle multiplier"
_M0 = CycleModel("cortex-m0", *_MULTIPLIER, uses_low=True)
_M0PLUS = CycleModel("cortex-m0plus", *_MULTIPLIER, uses_low=True)
_M3 = CycleModel("cortex-m3", "with small operands", "with large operands of multiplications and divisions")
_M4 = CycleModel("cortex-m4")
_M7 = CycleModel("cortex-m7", "with perfect dual issue", "without dual issue")
_M55 = CycleModel("cortex-m55", "with all overlaps of beats", "without overlaps", uses_low=True)

CYCLE_MODELS = {
    "cortex-m0": _M0,
    "cortex-m1": _M0,
    "cortex-m0plus": _M0PLUS,
    "cortex-m23": _M0PLUS,
    "cortex-m3": _M3,
    "cortex-m4": _M4,
    "cortex-m33": _M4,
    "cortex-m35p": _M4,
    "cortex-m7": _M7,
    "cortex-m52": _M55,
    "cortex-m55": _M55,
    "cortex-m85": _M55,
}
"""GCC's name of a core -> its model; a core without published timings has that of its nearest relative."""
