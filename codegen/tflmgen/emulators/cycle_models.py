"""Cycle models of the counting plugin (firmware/count/cost_*.c)."""

from __future__ import annotations

from dataclasses import dataclass

from tflmgen.architectures import core_named
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

CYCLE_MODELS = {
    model.name: model
    for model in (
        CycleModel("cortex-m0", *_MULTIPLIER, uses_low=True),
        CycleModel("cortex-m0plus", *_MULTIPLIER, uses_low=True),
        CycleModel("cortex-m3", "with small operands", "with large operands of multiplications and divisions"),
        CycleModel("cortex-m4"),
        CycleModel("cortex-m7", "with perfect dual issue", "without dual issue"),
        CycleModel("cortex-m55", "with all overlaps of beats", "without overlaps", uses_low=True),
        CycleModel("rv32", "on a core without stalls", "with a stall for each load, product and jump", uses_low=True),
        CycleModel("hazard3", "where no load is waited for", "where each load is waited for", uses_low=True),
        CycleModel("fe310", "with all branches foreseen and no value waited for", "with none foreseen, all waited for"),
    )
}


def cycle_model_of(core: str) -> CycleModel | None:
    """The cycle model of a core, or that of its nearest relative where no timings are published; None without one."""
    return CYCLE_MODELS.get(core_named(core).cycles)
