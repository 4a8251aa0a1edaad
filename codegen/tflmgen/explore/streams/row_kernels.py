"""The kernels of single rows for one processor, each made once however many streams are tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tflmgen.explore.streams.row_slices import RowOperator, row_operator
from tflmgen.ir import CostedKernel, KernelChoice, Op, Target

Choice = tuple[int, ...]
"""For each operator of a stream which of its kernels: 0 is the fastest."""


class RowKernels:
    """Operators of one module by rows, and their kernels."""

    def __init__(self, constants: Mapping[str, bytes], target: Target) -> None:
        self._constants = constants
        # Tiles are two lines high.
        self._target = target = replace(target, winograd=0)
        self._portable = replace(target, core="generic", features=target.features - {"dsp", "mve"})
        self._operators: dict[int, RowOperator | None] = {}
        self._kernels: dict[tuple[int, bool, int, int, int], KernelChoice | None] = {}

    def operator(self, op: Op) -> RowOperator | None:
        if op.id not in self._operators:
            self._operators[op.id] = row_operator(op, self._constants)
        return self._operators[op.id]

    def kernel(self, operator: RowOperator, tick: int, aligned: bool, choice: int) -> CostedKernel | None:
        """What computes one tick: choice 0 is the fastest, others are slower with less scratch.

        Ticks at a border take the function that those in the middle take, where they can: another one may be faster for
        few rows, but its scratch counts for all. Fast kernels want all rows to begin at words: where they don't (not
        `aligned`), the portable one.
        """
        found, usual = (self._fastest(operator, number, aligned) for number in (tick, operator.ticks // 2))
        if found is None:
            return None
        wanted = _chosen(usual, choice).kernel.function if usual is not None else ""
        kernels = found.chosen, *found.alternatives
        return next((same for same in kernels if same.kernel.function == wanted), _chosen(found, choice))

    def most(self, operator: RowOperator, aligned: bool) -> int:
        """The last choice that makes a difference."""
        found = self._fastest(operator, operator.ticks // 2, aligned)
        return len(found.alternatives) if found is not None else 0

    def _fastest(self, operator: RowOperator, tick: int, aligned: bool) -> KernelChoice | None:
        """Ticks at one distance from the borders share a kernel."""
        first, end = operator.needs[tick]
        key = operator.op.id, aligned, end - first, *operator.borders(tick)
        if key not in self._kernels:
            self._kernels[key] = operator.kernel(tick, self._target if aligned else self._portable)
        return self._kernels[key]


def _chosen(found: KernelChoice, choice: int) -> CostedKernel:
    kernels = found.chosen, *found.alternatives
    return kernels[min(choice, len(kernels) - 1)]
