"""Which of the kernels that compute a layer takes fewest cycles, and which others may take less memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tflmgen.ir import Considered, Kernel, Scratch, Target
from tflmgen.kernels.costs.estimate import estimate

NEAR = 1.1
"""Estimated cycles that differ by less than this factor say nothing: the kernel that stands first is taken."""

LITTLE = 16
"""Bytes of scratch that a slower kernel without any is not worth."""


def fastest(kernels: Iterable[Kernel], target: Target) -> Kernel:
    """The kernel of fewest estimated cycles, or the first one where those aren't known of all but a portable one.

    Of kernels that are NEAR that, the first one. Its alternatives, which may take less memory, are its own, the others
    for the same instruction set, and the portable one where that has less scratch.
    """
    estimated = [_estimated(kernel, target.core) for kernel in kernels]
    first, *others = estimated
    known = [kernel for kernel in estimated if kernel.cycles]
    if known and all(kernel.cycles or kernel.variant == "portable" for kernel in estimated):
        fewest = min(kernel.cycles for kernel in known)
        first = next(kernel for kernel in known if kernel.cycles <= NEAR * fewest)
        others = sorted((kernel for kernel in known if kernel is not first), key=lambda kernel: kernel.cycles)
        others += [kernel for kernel in estimated if not kernel.cycles]
    own = [_estimated(kernel, target.core) for kernel in first.alternatives]
    same = [*own, *(kernel for kernel in others if kernel.variant == first.variant)]
    portable = [kernel for kernel in others if kernel.variant == "portable"]
    if min(_scratch(kernel) for kernel in (first, *same)) > LITTLE:
        same += portable
    considered = tuple(Considered(k.function, k.variant, k.cycles) for k in others if k.cycles)
    return replace(first, alternatives=tuple(same), considered=considered)


def _scratch(kernel: Kernel) -> int:
    return sum(operand.bytes for operand in kernel.operands if isinstance(operand, Scratch))


def _estimated(kernel: Kernel, core: str) -> Kernel:
    cycles = estimate(kernel, core)
    return replace(kernel, cycles=cycles) if cycles else kernel
