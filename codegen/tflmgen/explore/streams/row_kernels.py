"""Kernels of single rows for one processor, cached over all streams that are tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tflmgen.explore.streams.row_slices import RowOperator, row_operator
from tflmgen.ir.graph import Op
from tflmgen.ir.kernel import CostedKernel, KernelChoice, Target

KernelRanks = tuple[int, ...]
"""Rank of the kernel of each operator of a stream: 0 is the fastest."""


class RowKernels:
    """Row operators of one module, and their kernels."""

    def __init__(self, constants: Mapping[str, bytes], target: Target) -> None:
        self._constants = constants
        # Winograd tiles are two rows high.
        self._target = target = replace(target, winograd=0)
        self._portable = replace(target, core="generic", features=target.features - {"dsp", "mve"})
        self._operators: dict[int, RowOperator | None] = {}
        self._kernels: dict[tuple[int, bool, int, int, int], KernelChoice | None] = {}
        self._ranked: dict[tuple[int, int, bool, int], tuple[CostedKernel | None, ...]] = {}

    def operator(self, op: Op) -> RowOperator | None:
        """Row-wise form of an operator; None if it has none. Cached."""
        if op.id not in self._operators:
            self._operators[op.id] = row_operator(op, self._constants)
        return self._operators[op.id]

    def kernels(self, operator: RowOperator, ticks: int, aligned: bool, rank: int) -> tuple[CostedKernel | None, ...]:
        """Kernels of the first `ticks` ticks; rank 0 is the fastest, higher ranks are slower with less scratch.

        Ticks at a border use the same function as those in the middle if possible, since the scratch of another one
        would be needed at all ticks. Fast kernels require word-aligned rows; without them (not `aligned`), the kernel
        is portable.
        """
        key = operator.op.id, ticks, aligned, rank
        if key not in self._ranked:
            usual = self._fastest(operator, operator.ticks // 2, aligned)
            function = _kernel_of_rank(usual, rank).kernel.function if usual is not None else ""
            choices = (self._fastest(operator, tick, aligned) for tick in range(ticks))
            self._ranked[key] = tuple(
                None if choice is None else _kernel_named(choice, function, rank) for choice in choices
            )
        return self._ranked[key]

    def last_rank(self, operator: RowOperator, aligned: bool) -> int:
        """Highest rank with a kernel of its own."""
        choice = self._fastest(operator, operator.ticks // 2, aligned)
        return len(choice.alternatives) if choice is not None else 0

    def _fastest(self, operator: RowOperator, tick: int, aligned: bool) -> KernelChoice | None:
        """Kernels of a tick; ticks at the same distance from the borders share them."""
        first, end = operator.needs[tick]
        key = operator.op.id, aligned, end - first, *operator.borders(tick)
        if key not in self._kernels:
            self._kernels[key] = operator.kernel(tick, self._target if aligned else self._portable)
        return self._kernels[key]


def _kernel_of_rank(candidates: KernelChoice, rank: int) -> CostedKernel:
    kernels = candidates.chosen, *candidates.alternatives
    return kernels[min(rank, len(kernels) - 1)]


def _kernel_named(candidates: KernelChoice, function: str, rank: int) -> CostedKernel:
    """The kernel by that C function, or the one of that rank."""
    kernels = candidates.chosen, *candidates.alternatives
    return next((costed for costed in kernels if costed.kernel.function == function), _kernel_of_rank(candidates, rank))
