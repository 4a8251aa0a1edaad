"""Estimated cycles of a kernel call, for choosing among kernels.

A kernel's declaration says how often each part of it runs in a call: its terms. The table cycles.json says how many
cycles one of each takes on a core; tests/kernel_costs.py fits it to counts of `bench`, see docs/understand/counting.md.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from math import ceil

from tflmgen.architectures import core_named
from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, CostedKernel, Kernel, KernelChoice, Selected
from tflmgen.ir.streams import RowStream
from tflmgen.kernels.costs.term import Numbers
from tflmgen.kernels.declaration import cost_models

STANDS_FOR = {"cortex-m4": "cortex-m3", "cortex-m7": "cortex-m3", "cortex-m55": "cortex-m3"}
"""The core whose figures hold where a core has none of its own: kernels for Armv6-M, rarely chosen elsewhere."""

PER_MAC = 6
"""Cycles of a multiply-accumulate, about, in kernels without a cost model. Estimates alone depend on it: with 1 or 60,
374 plans have the same memory and weights."""

ALONE = "alone"
"""Beside a family's cores: the part of a term's cycles that is left on any core where a call is the only one of its
family in a program."""

Table = dict[str, dict[str, dict[str, float]]]


@cache
def cycles_table() -> Table:
    """Cycles per unit of each term, by family and core (terms of 0 cycles are left out); beside the cores, ALONE."""
    table: Table = json.loads(files("tflmgen.kernels.costs").joinpath("cycles.json").read_text())
    return table


def estimate(kernel: Kernel, core: str, alone: bool = False) -> int | None:
    """The cycles of one call; None for kernels, and for cores, that there is no model of.

    alone: no other call in the program is of this family. The C compiler then specialises loops to the layer.
    """
    return estimated(kernel.cost.family, numbers_of(kernel), core, alone) if kernel.cost.family else None


def estimated(family: str, numbers: Numbers, core: str, alone: bool = False) -> int | None:
    """Estimated cycles of a kernel of this family with the numbers that `numbers_of` gives."""
    by_core = cycles_table().get(family, {})
    measured = core_named(core).costs
    cycles = by_core.get(measured) or by_core.get(STANDS_FOR.get(measured, ""))
    if cycles is None:
        return None
    counts = cost_models()[family].counts(numbers)
    left = by_core.get(ALONE, {}) if alone else {}
    return max(1, round(sum(cycles[term] * counts[term] * left.get(term, 1) for term in cycles)))


def cycles_of(selected: Selected | CostedKernel) -> int:
    """The estimated cycles of an operator; where there is no cost model, about what its products take."""
    costed = selected.chosen if isinstance(selected, KernelChoice) else selected
    if isinstance(costed, CostedKernel):
        return costed.cycles or PER_MAC * costed.kernel.macs
    return PER_MAC * costed.macs if isinstance(costed, RowStream) else 0


def reads_of(kernel: Kernel, array: ConstantArray) -> int:
    """Number of times that a call reads the weights in `array`: one for the pixels that the kernel computes at a time.

    Each weight of an array of floats takes four bytes, in packed words about one.
    """
    bytes_of_weight = 4 if array.dtype is DType.FLOAT32 else 1
    pixels = cost_models()[kernel.cost.family].blocking.pixels if kernel.cost.family else 1
    return ceil(kernel.macs * bytes_of_weight / max(1, len(array.data)) / pixels)


def numbers_of(kernel: Kernel) -> Numbers:
    """Numbers that terms count with: those beside the call's const struct, and the integers in it.

    The former may say otherwise of the same layer (a line for a column, say).
    """
    assert kernel.params is not None
    numbers: dict[str, int] = {}
    for name, value in (*kernel.cost.numbers, *kernel.params.fields):
        if isinstance(value, tuple):
            numbers |= {f"{name}{place}": int(part) for place, part in enumerate(value)}
        elif not isinstance(value, float):
            numbers[name] = int(value)
    return numbers
