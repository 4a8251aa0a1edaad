"""Choice among the kernels that compute a layer: the one of fewest cycles, and others that may take less memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from tflmgen.ir import CostedKernel, Kernel, KernelChoice, Scratch, Selected, Target
from tflmgen.kernels.costs.estimate import estimate
from tflmgen.kernels.tuning import TUNING


def choose_fastest(kernels: Iterable[Kernel], target: Target) -> KernelChoice:
    """The kernel of fewest estimated cycles, or the first one where those aren't known of all but a portable one.

    Of kernels with similar estimates the first one. Its alternatives, which may take less memory, are its own smaller
    forms, the others for the same instruction set, and the portable one where that has less scratch.
    """
    estimated = [_costed(kernel, target.core) for kernel in kernels]
    chosen, *others = estimated
    known = [costed for costed in estimated if costed.cycles]
    if known and all(costed.cycles or costed.kernel.variant == "portable" for costed in estimated):
        fewest = min(costed.cycles for costed in known)
        chosen = next(costed for costed in known if costed.cycles <= TUNING.similar_cycles * fewest)
        others = sorted((costed for costed in known if costed is not chosen), key=lambda costed: costed.cycles)
        others += [costed for costed in estimated if not costed.cycles]
    smaller = [_costed(kernel, target.core) for kernel in chosen.kernel.smaller]
    alternatives = [*smaller, *(other for other in others if other.kernel.variant == chosen.kernel.variant)]
    if min(scratch_bytes(costed.kernel) for costed in (chosen, *alternatives)) > 0:
        alternatives += [other for other in others if other.kernel.variant == "portable"]
    return KernelChoice(chosen, tuple(alternatives), tuple(other for other in others if other.cycles))


def estimated_together(kernels: Mapping[int, Selected], core: str) -> dict[int, Selected]:
    """The same choices, with estimates that know the other operators: compilers specialise what is called once."""
    choices = [selected for selected in kernels.values() if isinstance(selected, KernelChoice)]
    calls = Counter(choice.kernel.cost.family for choice in choices)
    return {
        number: _costed_beside(selected, calls - Counter([selected.kernel.cost.family]), core)
        if isinstance(selected, KernelChoice)
        else selected
        for number, selected in kernels.items()
    }


def _costed_beside(choice: KernelChoice, others: Counter[str], core: str) -> KernelChoice:
    """others: how many other operators call kernels of each family."""

    def costed(other: CostedKernel) -> CostedKernel:
        alone = other.cycles and not others[other.kernel.cost.family]
        return _costed(other.kernel, core, alone=True) if alone else other

    considered = sorted(map(costed, choice.considered), key=lambda other: other.cycles)
    return KernelChoice(costed(choice.chosen), tuple(map(costed, choice.alternatives)), tuple(considered))


def scratch_bytes(kernel: Kernel) -> int:
    """Bytes of arena that a call takes beside its operands."""
    return sum(operand.bytes for operand in kernel.operands if isinstance(operand, Scratch))


def _costed(kernel: Kernel, core: str, alone: bool = False) -> CostedKernel:
    return CostedKernel(kernel, estimate(kernel, core, alone) or 0)
