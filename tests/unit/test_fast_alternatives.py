"""Slower kernels with less scratch survive the choice of the fastest one."""

from __future__ import annotations

from tflmgen.ir.kernel.call import Kernel, Scratch, Target
from tflmgen.kernels.choice import choose_fastest


def test_a_kernel_keeps_its_own_alternatives() -> None:
    split = Kernel("split", "k.h", (Scratch(64),), variant="dsp")
    whole = Kernel("whole", "k.h", (Scratch(512),), variant="dsp", smaller=(split,))
    portable = Kernel("portable", "k.h", ())
    choice = choose_fastest([whole, portable], Target("cortex-m4", frozenset({"dsp"})))
    assert [costed.kernel.function for costed in (choice.chosen, *choice.alternatives)] == [
        "whole",
        "split",
        "portable",
    ]
