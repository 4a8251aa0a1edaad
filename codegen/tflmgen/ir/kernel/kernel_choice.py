"""Kernels with their costs, and the one chosen among several: made by kernels/choice.py, read by the search."""

from __future__ import annotations

from dataclasses import dataclass

from tflmgen.ir.kernel.call import Kernel, Pieces, View
from tflmgen.ir.streams.row_stream import RowStream


@dataclass(frozen=True, slots=True)
class CostedKernel:
    """A kernel and the estimated cycles of one call; 0 where there is no estimate."""

    kernel: Kernel
    cycles: int = 0


@dataclass(frozen=True, slots=True)
class KernelChoice:
    """The kernel that computes an operator, chosen among several.

    alternatives: the same computed more slowly, but perhaps in less memory, the fastest first. considered: the kernels
    that were not chosen and have an estimate, the next best one first.
    """

    chosen: CostedKernel
    alternatives: tuple[CostedKernel, ...] = ()
    considered: tuple[CostedKernel, ...] = ()

    @staticmethod
    def of(kernel: Kernel) -> KernelChoice:
        """The choice of the only kernel that there is, without an estimate."""
        return KernelChoice(CostedKernel(kernel))

    @property
    def kernel(self) -> Kernel:
        """The chosen kernel, without its cost."""
        return self.chosen.kernel

    @property
    def slower(self) -> KernelChoice | None:
        """The first of the alternatives, with the others as its own."""
        return KernelChoice(self.alternatives[0], self.alternatives[1:]) if self.alternatives else None


Selected = KernelChoice | RowStream | View | Pieces
"""The kernel, row stream, view or pieces that compute an operator, with the alternatives of a kernel."""
