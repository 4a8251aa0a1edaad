"""Lower bound of the arena's size, which plans are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tflmgen.ir.graph import Module
from tflmgen.kernels import Selection
from tflmgen.memory.liveness import analyze, runs
from tflmgen.memory.schedule_tree import schedule, walk_items
from tflmgen.memory.storage import scratch_operands


def packing_bound(module: Module, selection: Selection) -> int:
    """Most bytes of tensors and scratch that are live at one step of a module in its own order, each in a place of its
    own; the scratch is that of the `selection`.

    Sizes are rounded up to 4 bytes; variables do not count. A packing that shares only the bytes of dead tensors cannot
    be smaller; plans in other orders, and with outputs over inputs, may be.
    """
    variables = {variable.home for variable in module.state.values()}
    scheduled = schedule(module)
    items = (item for function in scheduled.functions for item, _ in walk_items(function.body))
    scratch = [(-(-operand.bytes // 4) * 4, 1 << step.index) for step, _, operand in scratch_operands(items, selection)]
    return peak(analyze(scheduled, variables).blocks(variables) + scratch, scheduled.steps)[0]


def peak(
    blocks: Iterable[tuple[int, int]], steps: int, savings: Mapping[int, int] | None = None
) -> tuple[int, tuple[int, ...]]:
    """Maximum over all steps of the live bytes, and the steps at which it is reached. No packing can be smaller.

    blocks   (bytes, live steps as a bit set)
    steps    number of steps
    savings  step -> bytes that blocks live there may share
    """
    change = [0] * (steps + 1)
    for size, live_steps in blocks:
        for first, last in runs(live_steps):
            change[first] += size
            change[last + 1] -= size
    best = live_bytes = 0
    peak_steps: list[int] = []
    for step in range(steps):
        live_bytes += change[step]
        total = live_bytes - (savings or {}).get(step, 0)
        if total >= best:
            peak_steps = [*peak_steps, step] if total == best else [step]
            best = total
    return best, tuple(peak_steps)
